//! Generic parameters, and the scope for name resolution.
//!
//! A [`Sig`] is a signature while it is lowered: the names in scope, and the parameters and predicates found
//! so far. The notation has many forms of one predicate; here each bound becomes a predicate of its own, and
//! the implicit `Sized` is written out:
//!
//! ```text
//! fn first<I: ?Sized, T>(of: &I) -> T where I: Index<usize, Output = T>, T: Copy
//! parameters   I, T, '_0            `'_0` is the elided lifetime of `&I`
//! predicates   I: Index<usize>, <I as Index<usize>>::Output == T, T: Copy, T: Sized
//! ```
//!
//! An associated type such as `F::Output` omits the arguments of its trait, and the bound that has them can
//! follow it (`where F::Output: Send, F: FnOnce(u8)`). So the conditions are lowered in order, and if an
//! associated type lacked its bound, once more with the predicates of the first time (`Sig::later`).
//!
//! **Invariant:** all parameters come into scope before the first type that uses one. Their kinds and bounds
//! can refer to any of them.
//!
//! **Invariant:** the parameters of a signature have different symbols. A lifetime of an inner binder gets a
//! new symbol, and [`Lower::leave`] restores the names that [`Lower::enter`] shadows.
//!
//! **Cost:** conditions are lowered at most twice. A new parameter is compared with all others of its
//! signature, so the time is quadratic in their number.

use std::collections::{HashMap, HashSet};

use rustdoc_types::{GenericParamDef, GenericParamDefKind, Generics, Id, WherePredicate};
use typeloom_term::{Arity, Boxed, GenericArg, Name, Region, Symbol, Ty, TyData};

use super::{ItemError, Lower};
use crate::item::{Arg, Param, ParamKind, Role, Type};
use crate::predicate;
use crate::terms::param;
use crate::terms::param_arg;

/// Meaning of an elided lifetime.
#[derive(Clone, Debug)]
pub(crate) enum Elided {
    /// A new parameter: in the parameters of a function, in the header of an impl.
    Fresh,
    /// A variable of the innermost binder: in the parameters of a function pointer or of `Fn(..)`.
    Bound,
    /// A given lifetime: in the result of a function, in a constant.
    Is(Region<Boxed>),
}

/// Meaning of `impl Trait`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ImplTrait {
    /// An inferred parameter.
    Parameter,
    /// A type that the function chooses.
    Result,
}

/// Names that a binder shadows, with their previous meaning.
pub(crate) type Shadowed = Vec<(String, Option<Arg>)>;

/// A signature during lowering: the scope and the results.
#[derive(Clone, Debug)]
pub(crate) struct Sig {
    pub(crate) scope: HashMap<String, Arg>,
    /// The type of `Self`.
    pub(crate) this: Option<Type>,
    /// The enclosing trait with its parameters, `Self` first.
    pub(crate) within: Option<(Id, Vec<Arg>)>,
    pub(crate) params: Vec<Param>,
    pub(crate) predicates: Vec<Type>,
    /// The predicates of all bounds, if an associated type precedes the bound that it refers to.
    pub(crate) later: Vec<Type>,
    pub(crate) promises: Vec<Type>,
    pub(crate) elided: Elided,
    pub(crate) impl_trait: ImplTrait,
    /// The elided lifetimes in the parameters of the innermost function pointer or `Fn(..)`.
    pub(crate) bound: Vec<Symbol>,
    /// The elided lifetimes of the innermost `Fn(..)` bound, for its binder: the lifetime of `&u8` in
    /// `Fn(&dyn Iterator<Item = &u8>)` belongs to the function, because the inner bound has no binder.
    pub(crate) of_bound: Vec<Symbol>,
    /// Default lifetime of trait objects.
    pub(crate) object: Region<Boxed>,
    /// Types with `?Sized`.
    pub(crate) unsized_types: Vec<Type>,
    /// The last suffix used for each name that several parameters share.
    numbers: HashMap<Symbol, usize>,
    /// Whether the function belongs to a trait: its `impl Trait` captures everything in every edition.
    pub(crate) of_trait: bool,
    /// The existential types of the function, with their captures.
    pub(crate) opaque: Vec<Opaque>,
}

/// `impl Trait` in a result.
#[derive(Clone, Debug)]
pub(crate) struct Opaque {
    pub(crate) ty: Type,
    pub(crate) captures: Captures,
}

/// Lifetimes that `impl Trait` in a result captures.
#[derive(Clone, Debug)]
pub(crate) enum Captures {
    /// All lifetimes in scope.
    All,
    /// The lifetimes in `use<..>`.
    Listed(Vec<Region<Boxed>>),
    /// The lifetimes in the bounds, or all in scope, depending on the edition.
    Mentioned(HashSet<Region<Boxed>>),
}

impl Sig {
    pub(crate) fn new() -> Self {
        Self {
            scope: HashMap::new(),
            this: None,
            within: None,
            params: Vec::new(),
            predicates: Vec::new(),
            later: Vec::new(),
            promises: Vec::new(),
            elided: Elided::Is(Region::Static),
            impl_trait: ImplTrait::Parameter,
            bound: Vec::new(),
            of_bound: Vec::new(),
            object: Region::Static,
            unsized_types: Vec::new(),
            numbers: HashMap::new(),
            of_trait: false,
            opaque: Vec::new(),
        }
    }

    /// Adds a parameter.
    pub(crate) fn param(&mut self, symbol: Symbol, kind: ParamKind, role: Role) {
        self.params.push(Param { symbol, kind, role, default: None });
    }

    /// The parameters as arguments.
    pub(crate) fn args(&self, cx: &Boxed) -> Result<Vec<Arg>, ItemError> {
        self.params.iter().map(|param| Ok(param_arg(cx, param.symbol, &param.kind)?)).collect()
    }
}

impl Lower<'_> {
    /// A symbol that no parameter of the signature has.
    pub(super) fn unique(&mut self, sig: &mut Sig, text: &str) -> Symbol {
        let mut symbol = self.symbols.intern(text);
        // Used numbers are not tried again, because a signature can have very many parameters of one name.
        let first = symbol;
        let mut number = sig.numbers.get(&first).copied().unwrap_or(1);
        if number > 1 {
            symbol = self.symbols.intern(&format!("{text}#{number}"));
        }
        while sig.params.iter().any(|param| param.symbol == symbol) {
            number += 1;
            symbol = self.symbols.intern(&format!("{text}#{number}"));
        }
        sig.numbers.insert(first, number);
        symbol
    }

    /// Brings the parameters of an item into scope, then lowers their bounds and the where clauses.
    pub(super) fn generics(
        &mut self,
        generics: &Generics,
        lifetimes: Role,
        others: Role,
        sig: &mut Sig,
    ) -> Result<(), ItemError> {
        self.declare(&generics.params, lifetimes, others, sig)?;
        self.conditions(generics, sig)
    }

    pub(super) fn declare(
        &mut self,
        params: &[GenericParamDef],
        lifetimes: Role,
        others: Role,
        sig: &mut Sig,
    ) -> Result<(), ItemError> {
        // All names come into scope before the first type that uses one.
        let mut consts = Vec::new();
        for GenericParamDef { name, kind } in params {
            let (kind, role) = match kind {
                GenericParamDefKind::Lifetime { .. } => (ParamKind::Region, lifetimes),
                GenericParamDefKind::Type { is_synthetic: true, .. } => continue,
                GenericParamDefKind::Type { .. } => (ParamKind::Type, others),
                GenericParamDefKind::Const { type_, .. } => {
                    consts.push((sig.params.len(), type_));
                    (ParamKind::Const(Ty::apply(&self.cx, Name::Tuple, &[])?), others)
                }
            };
            let symbol = self.unique(sig, name);
            sig.scope.insert(name.clone(), param_arg(&self.cx, symbol, &kind)?);
            sig.param(symbol, kind, role);
        }
        for (index, ty) in consts {
            let ty = self.ty(ty, sig)?;
            if let Some(param) = sig.params.get_mut(index) {
                param.kind = ParamKind::Const(ty);
            }
        }
        Ok(())
    }

    fn conditions(&mut self, generics: &Generics, sig: &mut Sig) -> Result<(), ItemError> {
        let mut first = sig.clone();
        self.has_later_bound = false;
        let (counts, distinct) = (self.counts.clone(), std::mem::take(&mut self.distinct));
        self.conditions_in_order(generics, &mut first)?;
        let own = std::mem::replace(&mut self.distinct, distinct);
        if !self.has_later_bound {
            self.distinct.extend(own);
            *sig = first;
            return Ok(());
        }
        // An associated type takes the arguments of its trait from a bound, which may follow. The types of
        // the second time count.
        self.counts = counts;
        sig.later = first.predicates;
        self.conditions_in_order(generics, sig)
    }

    fn conditions_in_order(&mut self, generics: &Generics, sig: &mut Sig) -> Result<(), ItemError> {
        let before = sig.unsized_types.len();
        let mut sized = Vec::new();
        for GenericParamDef { name, kind } in &generics.params {
            let Some(arg) = sig.scope.get(name).cloned() else { continue };
            match kind {
                GenericParamDefKind::Lifetime { outlives } => {
                    for shorter in outlives {
                        let shorter = self.region(Some(shorter), sig)?;
                        let predicate = predicate::outlives(&self.cx, self.symbols, arg.clone(), shorter)?;
                        sig.predicates.push(predicate);
                    }
                }
                GenericParamDefKind::Type { is_synthetic: true, .. } => {}
                GenericParamDefKind::Type { bounds, default, .. } => {
                    let GenericArg::Ty(ty) = &arg else { continue };
                    let found = self.bounds(ty, bounds, &[], sig)?;
                    sig.predicates.extend(found);
                    sized.push(ty.clone());
                    if let Some(default) = default {
                        let default = self.ty(default, sig)?;
                        Self::set_default(&arg, default.into(), sig);
                    }
                }
                GenericParamDefKind::Const { default, .. } => {
                    if let Some(default) = default {
                        let default = self.constant(default, sig)?;
                        Self::set_default(&arg, default.into(), sig);
                    }
                }
            }
        }
        for predicate in &generics.where_predicates {
            self.where_predicate(predicate, sig)?;
        }
        for ty in sized {
            if !sig.unsized_types[before..].contains(&ty) {
                let predicate = self.sized(&ty)?;
                sig.predicates.push(predicate);
            }
        }
        Ok(())
    }

    fn set_default(arg: &Arg, default: Arg, sig: &mut Sig) {
        let Some(symbol) = param(arg) else { return };
        if let Some(param) = sig.params.iter_mut().find(|param| param.symbol == symbol) {
            param.default = Some(default);
        }
    }

    /// `ty: Sized`
    pub(super) fn sized(&mut self, ty: &Type) -> Result<Type, ItemError> {
        let sized = self.symbols.intern(predicate::SIZED);
        Ok(predicate::implements(&self.cx, Arity::NONE, sized, &[ty.clone().into()])?)
    }

    fn where_predicate(&mut self, predicate: &WherePredicate, sig: &mut Sig) -> Result<(), ItemError> {
        match predicate {
            WherePredicate::BoundPredicate { type_, bounds, generic_params } => {
                let (names, hidden) = self.enter(generic_params, sig);
                let ty = self.ty(type_, sig)?;
                let found = self.bounds(&ty, bounds, &names, sig)?;
                self.leave(hidden, sig);
                sig.predicates.extend(found);
            }
            WherePredicate::LifetimePredicate { lifetime, outlives } => {
                let longer = self.region(Some(lifetime), sig)?;
                for shorter in outlives {
                    let shorter = self.region(Some(shorter), sig)?;
                    let predicate = predicate::outlives(&self.cx, self.symbols, longer.into(), shorter)?;
                    sig.predicates.push(predicate);
                }
            }
            WherePredicate::EqPredicate { lhs, rhs } => {
                let lhs = self.ty(lhs, sig)?;
                let value = self.term(rhs, sig)?;
                if let TyData::Alias(alias) = lhs.data()
                    && let Name::Projection(item) = alias.name
                {
                    let mut args = alias.args.to_vec();
                    args.push(value);
                    sig.predicates.push(predicate::projects(&self.cx, Arity::NONE, item, &args)?);
                }
            }
        }
        Ok(())
    }

    /// Brings the lifetimes of a binder into scope under new names. Returns the names and the shadowed ones.
    pub(super) fn enter(&mut self, params: &[GenericParamDef], sig: &mut Sig) -> (Vec<Symbol>, Shadowed) {
        let mut names = Vec::new();
        let mut hidden = Vec::new();
        for GenericParamDef { name, kind } in params {
            if let GenericParamDefKind::Lifetime { .. } = kind {
                let symbol = self.fresh(name);
                names.push(symbol);
                let region = Region::param(Name::Param(symbol));
                hidden.push((name.clone(), sig.scope.insert(name.clone(), region.into())));
            }
        }
        (names, hidden)
    }

    pub(super) fn leave(&mut self, shadowed: Shadowed, sig: &mut Sig) {
        for (name, before) in shadowed {
            match before {
                Some(arg) => sig.scope.insert(name, arg),
                None => sig.scope.remove(&name),
            };
        }
    }
}

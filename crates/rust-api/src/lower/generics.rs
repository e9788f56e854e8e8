//! Parameters, and the scope that names are looked up in.

use std::collections::{HashMap, HashSet};

use rustdoc_types::{GenericParamDef, GenericParamDefKind, Generics, Id, WherePredicate};
use typeloom_term::{Arity, Boxed, GenericArg, Name, Region, Symbol, Ty, TyData};

use super::{ItemError, Lower};
use crate::item::{Param, ParamKind, Role, Type};
use crate::predicate;
use crate::terms::param;
use crate::terms::param_arg;

/// What a lifetime that is not written stands for.
#[derive(Clone, Debug)]
pub(crate) enum Elided {
    /// A parameter of its own: in the parameters of a function, in the header of an impl.
    Fresh,
    /// A variable of the innermost binder: in the parameters of a function pointer or of `Fn(..)`.
    Bound,
    /// This one: in the result of a function, in a constant.
    Is(Region<Boxed>),
}

/// What `impl Trait` stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ImplTrait {
    /// A parameter that is inferred.
    Parameter,
    /// A type that the function chooses.
    Result,
}

/// Names that a binder hid, and what they meant before.
pub(crate) type Hidden = Vec<(String, Option<GenericArg<Boxed>>)>;

/// A signature that is being lowered: the scope, and what has been found.
#[derive(Clone, Debug)]
pub(crate) struct Sig {
    pub(crate) scope: HashMap<String, GenericArg<Boxed>>,
    /// What `Self` is.
    pub(crate) this: Option<Type>,
    /// The trait that the signature is in, with its parameters, `Self` first.
    pub(crate) within: Option<(Id, Vec<GenericArg<Boxed>>)>,
    pub(crate) params: Vec<Param>,
    pub(crate) predicates: Vec<Type>,
    pub(crate) promises: Vec<Type>,
    pub(crate) elided: Elided,
    pub(crate) impl_trait: ImplTrait,
    /// The lifetimes that were not written, in the parameters of the innermost function pointer or `Fn(..)`.
    pub(crate) bound: Vec<Symbol>,
    /// Those of the `Fn(..)` that the innermost bound is, for its binder. `&u8` in `Fn(&dyn Iterator<Item = &u8>)` is the
    /// function's: the bound that it is written in has none of its own.
    pub(crate) of_bound: Vec<Symbol>,
    /// What a trait object outlives where nothing is written.
    pub(crate) object: Region<Boxed>,
    /// Types whose size need not be known.
    pub(crate) unsized_types: Vec<Type>,
    /// The last number that a name was given, where parameters share it.
    numbers: HashMap<Symbol, usize>,
    /// Whether a trait says what the function is: `impl Trait` captures everything then, in every edition.
    pub(crate) of_trait: bool,
    /// What the function chooses, with the lifetimes that it may borrow from.
    pub(crate) opaque: Vec<Opaque>,
}

/// `impl Trait` in a result.
#[derive(Clone, Debug)]
pub(crate) struct Opaque {
    pub(crate) ty: Type,
    pub(crate) captures: Captures,
}

/// The lifetimes that `impl Trait` in a result may borrow from.
#[derive(Clone, Debug)]
pub(crate) enum Captures {
    /// All in scope.
    All,
    /// Those that `use<..>` lists.
    Listed(Vec<Region<Boxed>>),
    /// Those that the bounds mention; all in scope, where the edition says so.
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
    pub(crate) fn args(&self, cx: &Boxed) -> Result<Vec<GenericArg<Boxed>>, ItemError> {
        self.params.iter().map(|param| Ok(param_arg(cx, param.symbol, &param.kind)?)).collect()
    }
}

impl Lower<'_> {
    /// A symbol that no parameter of the signature has.
    pub(super) fn unique(&mut self, sig: &mut Sig, text: &str) -> Symbol {
        let mut symbol = self.symbols.intern(text);
        // Numbers that were given are not tried again: a signature may have very many parameters of one name.
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

    fn declare(
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

    fn set_default(arg: &GenericArg<Boxed>, default: GenericArg<Boxed>, sig: &mut Sig) {
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

    /// Brings the lifetimes of a binder into scope, under names of their own. Gives the names, and what they hid.
    pub(super) fn enter(&mut self, params: &[GenericParamDef], sig: &mut Sig) -> (Vec<Symbol>, Hidden) {
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

    pub(super) fn leave(&mut self, hidden: Hidden, sig: &mut Sig) {
        for (name, before) in hidden {
            match before {
                Some(arg) => sig.scope.insert(name, arg),
                None => sig.scope.remove(&name),
            };
        }
    }
}

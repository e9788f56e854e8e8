//! Blanket impls that can overlap with impls of other crates.
//!
//! A crate that depends on this one may implement its traits, and traits of the standard library applied to
//! its types, for its own types. An impl whose self type (or the source of a conversion) is a parameter,
//! plain or behind `&`, `&mut`, `Box` or `Pin`, covers those types too. If it is new, the impls of other
//! crates no longer compile.

use std::collections::HashMap;

use typeloom_term::{Arity, GenericArg, Name, Symbol, Symbols, TermError, TyData};

use crate::item::{Arg, Item, Kind, Param, ParamKind, Type};
use crate::predicate::{self, Predicate};
use crate::prove::Prover;
use crate::prove::world::World;
use crate::terms::{param_arg, subterms, type_param};

/// The traits of a crate, and whether other crates can implement them.
pub(crate) struct OpenTraits<'i> {
    is_open: HashMap<&'i str, bool>,
    /// The first segment of the crate's own paths.
    root: &'i str,
}

impl<'i> OpenTraits<'i> {
    pub(crate) fn new(items: &'i [Item]) -> Self {
        let named = items.iter().filter(|item| item.kind != Kind::Impl);
        let root = named.clone().find_map(|item| item.path.split("::").next()).unwrap_or_default();
        let traits = named.filter(|item| item.kind == Kind::Trait);
        Self { is_open: traits.map(|item| (item.path.as_str(), item.implemented_by_others)).collect(), root }
    }

    fn is_open(&self, path: &str) -> bool {
        // A trait of the crate without a public path is closed.
        self.is_open.get(path).copied().unwrap_or_else(|| path.split("::").next() != Some(self.root))
    }

    /// Whether an impl covers types for which other crates may implement its trait.
    pub(crate) fn covers_foreign_types(&self, item: &Item, symbols: &Symbols) -> bool {
        let Some((Name::Trait(name), args)) = item.implemented_trait() else { return false };
        if !self.is_open(symbols.resolve(name)) {
            return false;
        }
        // Other crates apply the traits of this crate to their types, and make their types convertible. Impls
        // of other foreign traits for foreign types are not expected, nor impls for some instances of a
        // generic type.
        let path = symbols.resolve(name);
        let is_plain = |this: &Type| {
            type_param(&this.clone().into()).is_some()
                || subterms([this]).iter().all(|arg| type_param(arg).is_none())
        };
        let any_position = matches!(path, "core::convert::From" | "core::convert::TryFrom")
            || self.is_open.contains_key(path)
                && args.first().and_then(GenericArg::as_ty).is_some_and(is_plain);
        let args = args.iter().take(if any_position { args.len() } else { 1 }).filter_map(GenericArg::as_ty);
        args.filter_map(|ty| uncovered_param(ty, symbols)).any(|param| {
            let is_param = |own: &Param| own.symbol == param && own.kind == ParamKind::Type;
            item.params.iter().any(is_param) && self.accepts_foreign_types(item, param, symbols)
        })
    }

    /// Whether the impls of a version conflict with each impl of another crate that an impl of the next
    /// version covers. The parameters of the impl represent types of the other crate, which implement only
    /// what the impl requires.
    ///
    /// The other crate knows which traits its own types do not implement, so a condition about one of them
    /// can prevent a conflict. Types without a known size do not count: an impl that gains `?Sized` is not
    /// expected to conflict.
    pub(crate) fn were_covered(
        &self,
        item: &Item,
        world: &World,
        symbols: &mut Symbols,
    ) -> Result<bool, TermError> {
        let Some((Name::Trait(of), args)) = item.implemented_trait() else { return Ok(false) };
        let mut known = item.predicates.clone();
        let sized = symbols.intern(predicate::SIZED);
        for param in item.params.iter().filter(|param| param.kind == ParamKind::Type) {
            let arg = param_arg(&world.cx, param.symbol, &param.kind)?;
            known.push(predicate::implements(&world.cx, Arity::NONE, sized, &[arg])?);
        }
        let types: Vec<Type> = item.parts.iter().map(|part| part.ty.clone()).collect();
        let prover = Prover::new(world, symbols, &known, &types)?;
        let symbols = prover.knowledge.symbols;
        let is_own = |arg: &Arg| arg.as_ty().is_some_and(|ty| uncovered_param(ty, symbols).is_some());
        Ok(prover.conflicts(of, &args, |condition| match predicate::view(symbols, condition) {
            Some((_, Predicate::Trait(_, args) | Predicate::Projection(_, args, _))) => {
                args.iter().any(is_own)
            }
            Some((_, Predicate::Outlives(..))) | None => false,
        }))
    }

    /// Whether types of other crates can satisfy the conditions on a parameter.
    fn accepts_foreign_types(&self, item: &Item, param: Symbol, symbols: &Symbols) -> bool {
        item.predicates.iter().all(|condition| match predicate::view(symbols, condition) {
            Some((_, Predicate::Trait(of, [GenericArg::Ty(this), ..])))
                if uncovered_param(this, symbols) == Some(param) =>
            {
                self.is_open(symbols.resolve(of))
            }
            Some(_) | None => true,
        })
    }
}

/// The parameter, if a type is one or a fundamental pointer to one.
fn uncovered_param(ty: &Type, symbols: &Symbols) -> Option<Symbol> {
    let mut ty = ty.clone();
    loop {
        let TyData::Apply(app) = ty.data() else { return type_param(&ty.into()) };
        let inner = match (app.name, app.args) {
            (Name::Ref(_), [_, GenericArg::Ty(inner)]) => inner.clone(),
            (Name::Adt(symbol), [GenericArg::Ty(inner)])
                if matches!(symbols.resolve(symbol), "alloc::boxed::Box" | "core::pin::Pin") =>
            {
                inner.clone()
            }
            _ => return None,
        };
        ty = inner;
    }
}

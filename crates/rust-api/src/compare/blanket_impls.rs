//! Blanket impls that can overlap with impls of other crates.
//!
//! A crate that depends on this one may implement its traits, and traits of the standard library applied to its types,
//! for its own types. An impl whose self type (or the source of a conversion) is a parameter, plain or behind `&`,
//! `&mut`, `Box` or `Pin`, covers those types too. If it is new, the impls of other crates no longer compile.

use std::collections::HashMap;

use typeloom_term::{GenericArg, Name, Symbol, Symbols, TyData};

use crate::item::{Item, Kind, Param, ParamKind, Type};
use crate::predicate::{self, Predicate};
use crate::terms::type_param;

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
        // Other crates make their types convertible with these traits. Impls of other foreign traits for foreign types
        // are not expected.
        let converts = matches!(symbols.resolve(name), "core::convert::From" | "core::convert::TryFrom");
        let args = args.iter().take(if converts { args.len() } else { 1 }).filter_map(GenericArg::as_ty);
        args.filter_map(|ty| uncovered_param(ty, symbols)).any(|param| {
            let is_param = |own: &Param| own.symbol == param && own.kind == ParamKind::Type;
            item.params.iter().any(is_param) && self.accepts_foreign_types(item, param, symbols)
        })
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

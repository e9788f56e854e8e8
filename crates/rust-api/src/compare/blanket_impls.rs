//! Impls for every type, which leave no room for those of others.
//!
//! Whoever depends on a crate may implement its traits, and traits of the standard library applied to its types, for
//! types of their own. An impl whose self type (or what it converts from) is a parameter by itself, or behind `&`, `&mut`,
//! `Box` or `Pin`, covers those types too: where it is new, theirs does not compile any more.

use std::collections::HashMap;

use typeloom_term::ty::PlaceholderId;
use typeloom_term::{GenericArg, Name, Symbol, Symbols, TyData};

use crate::item::{Item, Kind, Label, ParamKind, Type};
use crate::predicate::{self, Predicate};

/// The traits of a crate, and whether others can implement them.
pub(crate) struct Taken<'i> {
    open: HashMap<&'i str, bool>,
    /// The first part of the crate's own paths.
    root: &'i str,
}

impl<'i> Taken<'i> {
    pub(crate) fn new(items: &'i [Item]) -> Self {
        let named = items.iter().filter(|item| item.kind != Kind::Impl);
        let root = named.clone().find_map(|item| item.path.split("::").next()).unwrap_or_default();
        let traits = named.filter(|item| item.kind == Kind::Trait);
        Self { open: traits.map(|item| (item.path.as_str(), item.implemented_by_others)).collect(), root }
    }

    fn is_open(&self, path: &str) -> bool {
        match self.open.get(path) {
            Some(open) => *open,
            // A trait of the crate that nobody can name.
            None => path.split("::").next() != Some(self.root),
        }
    }

    /// Whether an impl covers types that others may have implemented its trait for.
    pub(crate) fn leaves_no_room(&self, item: &Item, symbols: &Symbols) -> bool {
        let (Some(of), Some(this)) = (item.part(&Label::TraitRef), item.part(&Label::SelfType)) else {
            return false;
        };
        let TyData::Apply(applied) = of.ty.data() else { return false };
        let Name::Trait(name) = applied.name else { return false };
        if !self.is_open(symbols.resolve(name)) {
            return false;
        }
        // Whoever makes a type of their own convertible does so by these traits; of others, an impl for a type that is
        // not theirs is nothing that a crate has to expect.
        let converts = matches!(symbols.resolve(name), "core::convert::From" | "core::convert::TryFrom");
        let args = applied.args.iter().filter(|_| converts).filter_map(GenericArg::as_ty);
        std::iter::once(&this.ty).chain(args).filter_map(|ty| uncovered(ty, symbols)).any(|param| {
            let own = |other: &crate::item::Param| other.symbol == param && other.kind == ParamKind::Type;
            item.params.iter().any(own) && self.takes(item, param, symbols)
        })
    }

    /// Whether types of others can meet the conditions on a parameter.
    fn takes(&self, item: &Item, param: Symbol, symbols: &Symbols) -> bool {
        item.predicates.iter().all(|condition| match predicate::view(symbols, condition) {
            Some((_, Predicate::Trait(of, [GenericArg::Ty(this), ..])))
                if uncovered(this, symbols) == Some(param) =>
            {
                self.is_open(symbols.resolve(of))
            }
            Some(_) | None => true,
        })
    }
}

/// The parameter that a type is, by itself or behind the pointers that count as what they point to.
fn uncovered(ty: &Type, symbols: &Symbols) -> Option<Symbol> {
    let mut ty = ty.clone();
    loop {
        let inner = match ty.data() {
            TyData::Placeholder(placeholder) => {
                return match placeholder.id {
                    PlaceholderId::Named(Name::Param(symbol)) => Some(symbol),
                    PlaceholderId::Named(_) | PlaceholderId::Fresh(_) => None,
                };
            }
            TyData::Apply(app) => match (app.name, app.args) {
                (Name::Ref(_), [_, GenericArg::Ty(inner)]) => inner.clone(),
                (Name::Adt(symbol), [GenericArg::Ty(inner)])
                    if matches!(symbols.resolve(symbol), "alloc::boxed::Box" | "core::pin::Pin") =>
                {
                    inner.clone()
                }
                _ => return None,
            },
            _ => return None,
        };
        ty = inner;
    }
}

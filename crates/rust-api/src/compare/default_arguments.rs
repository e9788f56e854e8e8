//! Default arguments of standard library types that only one of two items contains.
//!
//! Terms omit default arguments of the standard library: `HashMap<K, V>`. If the other item has `HashMap<K,
//! V, S>`, both are compared with all arguments, so that an item that has become generic over the hasher is
//! still compatible.

use std::collections::HashMap;

use typeloom_term::parse::{Scope, parse_ty};
use typeloom_term::{ApplicationTy, Boxed, Name, Symbol, Symbols, TermError, Ty, TyData};

use super::map_types::map_types;
use crate::item::{Arg, Item, Type};
use crate::std_facts::std_facts;
use crate::terms::subterms;

/// Default arguments that occur in an item of either version: the number of preceding arguments, lifetimes
/// not counted, and the default.
pub(crate) struct DefaultArguments {
    defaults: HashMap<Symbol, (usize, Type)>,
}

impl DefaultArguments {
    /// Collects the default arguments that occur in the items.
    pub(crate) fn new(items: &[&[Item]], symbols: &mut Symbols) -> Self {
        let cx = Boxed::new();
        let mut defaults = HashMap::new();
        for (path, before, text) in std_facts().first_defaults() {
            let Some(name) = symbols.get(path) else { continue };
            let text = std_facts().with_definitions(text);
            if let Ok(default) = parse_ty(&cx, symbols, &Scope::new(), &text) {
                defaults.insert(name, (before, default));
            }
        }
        let mut all = Self { defaults };
        let written: Vec<Symbol> =
            items.iter().copied().flatten().flat_map(|item| all.written_in(item)).collect();
        all.defaults.retain(|name, _| written.contains(name));
        all
    }

    /// Both items, with all arguments of every type that occurs with all arguments in one of the items;
    /// `None` if no type does.
    pub(crate) fn in_both(&self, old: &Item, new: &Item) -> Result<Option<(Item, Item)>, TermError> {
        if self.defaults.is_empty() {
            return Ok(None);
        }
        let mut names = self.written_in(old);
        names.extend(self.written_in(new));
        if names.is_empty() {
            return Ok(None);
        }
        Ok(Some((self.with_defaults(old, &names)?, self.with_defaults(new, &names)?)))
    }

    /// The types that occur with all arguments in an item.
    fn written_in(&self, item: &Item) -> Vec<Symbol> {
        let mut found = Vec::new();
        for arg in subterms(item.types()) {
            if let Some(TyData::Apply(ApplicationTy { name: Name::Adt(name), args })) =
                arg.as_ty().map(Ty::data)
                && let Some((before, _)) = self.defaults.get(&name)
                && count_without_regions(args) > *before
                && !found.contains(&name)
            {
                found.push(name);
            }
        }
        found
    }

    fn with_defaults(&self, item: &Item, names: &[Symbol]) -> Result<Item, TermError> {
        let mut item = item.clone();
        let cx = Boxed::new();
        map_types(&mut item, &cx, |ty| {
            let TyData::Apply(ApplicationTy { name: name @ Name::Adt(symbol), args }) = ty.data() else {
                return Ok(None);
            };
            match self.defaults.get(&symbol) {
                Some((before, default))
                    if names.contains(&symbol) && count_without_regions(args) == *before =>
                {
                    let mut args = args.to_vec();
                    args.push(default.clone().into());
                    Ty::apply(&cx, name, &args).map(Some)
                }
                Some(_) | None => Ok(None),
            }
        })?;
        Ok(item)
    }
}

fn count_without_regions(args: &[Arg]) -> usize {
    args.iter().filter(|arg| arg.as_region().is_none()).count()
}

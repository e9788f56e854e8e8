//! Arguments of the standard library's types that one of two items writes and the other one leaves out.
//!
//! `HashMap<K, V>` is kept without its default argument. Where the other item has `HashMap<K, V, S>`, both are read with
//! all of their arguments, so that an item that became generic over the hasher is seen to take the old one.

use std::collections::HashMap;

use typeloom_term::parse::{Scope, parse_ty};
use typeloom_term::{ApplicationTy, Boxed, GenericArg, Name, Symbol, Symbols, TermError, Ty, TyData};

use crate::compare::difference::children;
use crate::compare::map_types::rewrite_types;
use crate::item::{Item, Type};
use crate::std_facts::std_facts;

/// The default arguments that some item of two versions does not leave out: how many arguments come before, lifetimes
/// not counted, and the default.
pub(crate) struct Written {
    defaults: HashMap<Symbol, (usize, Type)>,
}

impl Written {
    /// The defaults that matter for items.
    pub(crate) fn new(items: &[&[Item]], symbols: &mut Symbols) -> Self {
        let cx = Boxed::new();
        let mut all = HashMap::new();
        for (path, before, text) in std_facts().first_defaults() {
            if symbols.get(path).is_none() {
                continue;
            }
            let default = parse_ty(&cx, symbols, &Scope::new(), &std_facts().with_definitions(text));
            if let (Some(name), Ok(default)) = (symbols.get(path), default) {
                all.insert(name, (before, default));
            }
        }
        let all = Self { defaults: all };
        let mut found = HashMap::new();
        for item in items.iter().copied().flatten() {
            for name in all.in_full(item) {
                if let Some(default) = all.defaults.get(&name) {
                    found.insert(name, default.clone());
                }
            }
        }
        Self { defaults: found }
    }

    /// Both items with all arguments of the types that one of them writes in full; `None` where there is no such type.
    pub(crate) fn in_both(&self, old: &Item, new: &Item) -> Result<Option<(Item, Item)>, TermError> {
        if self.defaults.is_empty() {
            return Ok(None);
        }
        let (of_old, of_new) = (self.in_full(old), self.in_full(new));
        let names: Vec<Symbol> = of_old.iter().chain(&of_new).copied().collect();
        if names.is_empty() {
            return Ok(None);
        }
        Ok(Some((self.filled(old, &names)?, self.filled(new, &names)?)))
    }

    /// The types of the standard library that an item applies to all of their arguments.
    fn in_full(&self, item: &Item) -> Vec<Symbol> {
        let mut found = Vec::new();
        let mut stack: Vec<GenericArg<Boxed>> = item.types().map(|ty| ty.clone().into()).collect();
        while let Some(arg) = stack.pop() {
            if let Some(TyData::Apply(ApplicationTy { name: Name::Adt(name), args })) =
                arg.as_ty().map(Ty::data)
                && let Some((before, _)) = self.defaults.get(&name)
                && others(args) > *before
                && !found.contains(&name)
            {
                found.push(name);
            }
            stack.extend(children(&arg).into_iter().map(|(_, child)| child));
        }
        found
    }

    fn filled(&self, item: &Item, names: &[Symbol]) -> Result<Item, TermError> {
        let mut item = item.clone();
        let cx = Boxed::new();
        rewrite_types(&mut item, &cx, |ty| {
            let TyData::Apply(ApplicationTy { name: name @ Name::Adt(symbol), args }) = ty.data() else {
                return Ok(None);
            };
            match self.defaults.get(&symbol) {
                Some((before, default)) if names.contains(&symbol) && others(args) == *before => {
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

/// How many arguments are no lifetimes.
fn others(args: &[GenericArg<Boxed>]) -> usize {
    args.iter().filter(|arg| arg.as_region().is_none()).count()
}

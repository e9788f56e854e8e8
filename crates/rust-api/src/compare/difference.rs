//! The first difference between two types.
//!
//! Both types are walked side by side. Parameters are compared by the order in which the signatures first use
//! them, not by their names.

use std::collections::HashMap;

use typeloom_pool::compat::PathStep;
use typeloom_term::{Boxed, GenericArg, Name, Symbol, Symbols, TyData};

use crate::item::{Arg, Item};
use crate::terms::{children, param, subterms};

/// Numbers the parameters of an item by first use.
pub(crate) fn param_numbers(item: &Item) -> HashMap<Symbol, usize> {
    let mut numbers = HashMap::new();
    for symbol in subterms(item.parts.iter().map(|part| &part.ty)).iter().filter_map(param) {
        let next = numbers.len();
        numbers.entry(symbol).or_insert(next);
    }
    numbers
}

/// The numbers of the parameters of two items.
pub(crate) struct ParamNumbers<'s> {
    pub(crate) old: HashMap<Symbol, usize>,
    pub(crate) new: HashMap<Symbol, usize>,
    pub(crate) symbols: &'s Symbols,
}

/// The path to the first difference, and the terms there.
pub(crate) struct TermDifference {
    pub(crate) steps: Vec<PathStep>,
    pub(crate) old: Arg,
    pub(crate) new: Arg,
}

impl ParamNumbers<'_> {
    /// Finds the first difference between two terms.
    pub(crate) fn difference(&self, old: &Arg, new: &Arg) -> TermDifference {
        let mut found = TermDifference { steps: Vec::new(), old: old.clone(), new: new.clone() };
        while let Some(mut pairs) = self.children(&found.old, &found.new)
            && let Some((label, old, new)) = pairs.find(|(_, x, y)| !self.is_same(x, y))
        {
            found.steps.push(PathStep::Label(label));
            found.old = old;
            found.new = new;
        }
        found
    }

    /// The labelled pairs of children of two terms with the same head; `None` if the heads or the numbers of
    /// children differ.
    fn children(&self, old: &Arg, new: &Arg) -> Option<impl Iterator<Item = (String, Arg, Arg)> + use<>> {
        if !self.is_same_head(old, new) {
            return None;
        }
        let (a, b) = (children(old), children(new));
        (a.len() == b.len()).then(|| a.into_iter().zip(b).map(|((label, x), (_, y))| (label, x, y)))
    }

    fn is_same(&self, old: &Arg, new: &Arg) -> bool {
        let mut stack = vec![(old.clone(), new.clone())];
        while let Some((x, y)) = stack.pop() {
            let Some(pairs) = self.children(&x, &y) else { return false };
            stack.extend(pairs.map(|(_, x, y)| (x, y)));
        }
        true
    }

    /// Whether two terms are equal up to their children.
    fn is_same_head(&self, old: &Arg, new: &Arg) -> bool {
        if let (Some(x), Some(y)) = (param(old), param(new)) {
            return match (self.old.get(&x), self.new.get(&y)) {
                (Some(x), Some(y)) => x == y,
                _ => self.symbols.resolve(x) == self.symbols.resolve(y),
            };
        }
        let (GenericArg::Ty(x), GenericArg::Ty(y)) = (old, new) else { return old == new };
        match (x.data(), y.data()) {
            (TyData::Apply(x), TyData::Apply(y)) => x.name == y.name,
            (TyData::Alias(x), TyData::Alias(y)) => x.name == y.name,
            (TyData::Fn(x), TyData::Fn(y)) => x.name == y.name && x.arity == y.arity,
            (TyData::Dyn(x), TyData::Dyn(y)) => {
                let names = |bounds: &[typeloom_term::DynBound<Boxed>]| {
                    let mut names: Vec<Name> = bounds.iter().map(|bound| bound.name).collect();
                    names.sort_unstable();
                    names
                };
                names(x.bounds) == names(y.bounds)
            }
            _ => x == y,
        }
    }
}

//! Where inside two types the first difference is.
//!
//! Both types are walked side by side. Parameters are compared by the order in which the signatures first use them, not
//! by their names.

use std::collections::HashMap;

use typeloom_term::ty::PlaceholderId;
use typeloom_term::{Boxed, ConstData, GenericArg, Name, Region, Symbol, Symbols, TyData};

use crate::item::Item;

/// The numbers of parameters by first use.
pub(crate) fn numbers(item: &Item) -> HashMap<Symbol, usize> {
    let mut numbers = HashMap::new();
    let mut stack: Vec<GenericArg<Boxed>> =
        item.parts.iter().rev().map(|part| part.ty.clone().into()).collect();
    while let Some(arg) = stack.pop() {
        if let Some(symbol) = param(&arg) {
            let next = numbers.len();
            numbers.entry(symbol).or_insert(next);
        }
        stack.extend(children(&arg).into_iter().rev().map(|(_, child)| child));
    }
    numbers
}

/// The parameter that an argument is.
pub(crate) fn param(arg: &GenericArg<Boxed>) -> Option<Symbol> {
    let id = match arg {
        GenericArg::Ty(ty) => match ty.data() {
            TyData::Placeholder(placeholder) => placeholder.id,
            _ => return None,
        },
        GenericArg::Region(Region::Placeholder(placeholder)) => placeholder.id,
        GenericArg::Region(_) => return None,
        GenericArg::Const(constant) => match constant.data() {
            ConstData::Placeholder(placeholder) => placeholder.id,
            _ => return None,
        },
    };
    match id {
        PlaceholderId::Named(Name::Param(symbol)) => Some(symbol),
        PlaceholderId::Named(_) | PlaceholderId::Fresh(_) => None,
    }
}

/// The parts of a term, each with a word for its place.
pub(crate) fn children(arg: &GenericArg<Boxed>) -> Vec<(String, GenericArg<Boxed>)> {
    let GenericArg::Ty(ty) = arg else { return Vec::new() };
    let numbered = |args: &[GenericArg<Boxed>], word: &str| -> Vec<(String, GenericArg<Boxed>)> {
        args.iter().enumerate().map(|(index, arg)| (format!("{word} {index}"), arg.clone())).collect()
    };
    match ty.data() {
        TyData::Apply(app) => match (app.name, app.args) {
            (Name::Ref(_), [region, inner]) => {
                vec![("lifetime".to_owned(), region.clone()), ("referent".to_owned(), inner.clone())]
            }
            (Name::RawPtr(_), [inner]) => vec![("pointee".to_owned(), inner.clone())],
            (Name::Slice, [inner]) => vec![("element".to_owned(), inner.clone())],
            (Name::Array, [inner, len]) => {
                vec![("element".to_owned(), inner.clone()), ("length".to_owned(), len.clone())]
            }
            (Name::Tuple, args) => numbered(args, "element"),
            (_, args) => numbered(args, "argument"),
        },
        TyData::Alias(alias) => numbered(alias.args, "argument"),
        TyData::Fn(function) => {
            let mut list = numbered(function.inputs(), "parameter");
            list.extend(function.output().map(|output| ("result".to_owned(), output.clone().into())));
            list
        }
        TyData::Dyn(dynamic) => {
            let mut list = Vec::new();
            for bound in dynamic.bounds {
                list.extend(numbered(&bound.args, "bound argument"));
            }
            list.push(("lifetime".to_owned(), dynamic.region.into()));
            list
        }
        TyData::GeneratorWitness(witness) => numbered(witness.types, "type"),
        TyData::Placeholder(_) | TyData::InferenceVar(_) | TyData::BoundVariable(_) | TyData::Error(_) => {
            Vec::new()
        }
    }
}

/// The two items whose parameters are compared.
pub(crate) struct Sides<'s> {
    pub(crate) old: &'s HashMap<Symbol, usize>,
    pub(crate) new: &'s HashMap<Symbol, usize>,
    pub(crate) symbols: &'s Symbols,
}

/// A difference: the way to it, and what stands there.
pub(crate) struct Found {
    pub(crate) steps: Vec<String>,
    pub(crate) old: GenericArg<Boxed>,
    pub(crate) new: GenericArg<Boxed>,
}

impl Sides<'_> {
    /// The first difference between two terms.
    pub(crate) fn difference(&self, old: &GenericArg<Boxed>, new: &GenericArg<Boxed>) -> Found {
        let mut found = Found { steps: Vec::new(), old: old.clone(), new: new.clone() };
        loop {
            if !self.same_head(&found.old, &found.new) {
                return found;
            }
            let (a, b) = (children(&found.old), children(&found.new));
            let mut next = None;
            if a.len() == b.len() {
                for ((word, x), (_, y)) in a.into_iter().zip(b) {
                    if !self.same(&x, &y) {
                        next = Some((word, x, y));
                        break;
                    }
                }
            }
            let Some((word, x, y)) = next else { return found };
            found.steps.push(word);
            found.old = x;
            found.new = y;
        }
    }

    fn same(&self, old: &GenericArg<Boxed>, new: &GenericArg<Boxed>) -> bool {
        let mut stack = vec![(old.clone(), new.clone())];
        while let Some((x, y)) = stack.pop() {
            if !self.same_head(&x, &y) {
                return false;
            }
            let (a, b) = (children(&x), children(&y));
            if a.len() != b.len() {
                return false;
            }
            stack.extend(a.into_iter().zip(b).map(|((_, x), (_, y))| (x, y)));
        }
        true
    }

    /// Whether two terms agree at the top.
    fn same_head(&self, old: &GenericArg<Boxed>, new: &GenericArg<Boxed>) -> bool {
        if let (Some(x), Some(y)) = (param(old), param(new)) {
            return match (self.old.get(&x), self.new.get(&y)) {
                (Some(x), Some(y)) => x == y,
                _ => self.symbols.resolve(x) == self.symbols.resolve(y),
            };
        }
        match (old, new) {
            (GenericArg::Ty(x), GenericArg::Ty(y)) => match (x.data(), y.data()) {
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
                (TyData::Placeholder(_), TyData::Placeholder(_)) => x == y,
                _ => x == y,
            },
            (GenericArg::Region(x), GenericArg::Region(y)) => x == y,
            (GenericArg::Const(x), GenericArg::Const(y)) => x == y,
            _ => false,
        }
    }
}

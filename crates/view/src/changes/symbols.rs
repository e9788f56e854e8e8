//! Symbols of the interface that have other names in the new model.

use std::borrow::Cow;

use crate::map::{OrderedMap, Set};
use crate::matching::Matching;
use crate::scene::{Extent, GroupId, Scene, TypeId, ValueId};

/// A symbol with another name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SymbolChange {
    /// The old name.
    pub old: String,
    /// The new name.
    pub new: String,
}

/// The new names of the symbols in the inputs of the old model.
#[derive(Clone, Debug, Default)]
pub(super) struct Renaming {
    names: OrderedMap<String, String>,
    is_identity: bool,
}

/// The number of inputs of each graph whose axes are compared.
const MAX_INPUTS: usize = 1 << 12;

impl Renaming {
    /// The renaming by the matched inputs: the names of an axis that is a symbol in both models. It is
    /// one-to-one: of two new names of a symbol, and of two symbols with the same new name, the first counts.
    pub(super) fn of(old: &Scene, new: &Scene, matching: &Matching) -> Self {
        let mut renaming = Self { names: OrderedMap::default(), is_identity: true };
        let mut taken: Set<&str> = Set::default();
        for interface in &matching.interfaces {
            let list =
                |scene: &'_ Scene, group: GroupId, at: usize| -> ValueId { scene.group(group).inputs[at] };
            for port in interface.inputs.iter().take(MAX_INPUTS) {
                let [Some(first), Some(second)] = *port else { continue };
                let before = extents(old, list(old, interface.graphs[0], first));
                let after = extents(new, list(new, interface.graphs[1], second));
                if before.len() != after.len() {
                    continue;
                }
                for (from, to) in before.into_iter().zip(after) {
                    if let (Extent::Symbol(from), Extent::Symbol(to)) = (from, to)
                        && !renaming.names.contains_key(from)
                        && taken.insert(to)
                    {
                        renaming.is_identity &= from == to;
                        renaming.names.insert(from.clone(), to.clone());
                    }
                }
            }
        }
        renaming
    }

    /// The symbols with other names.
    pub(super) fn changes(&self) -> Vec<SymbolChange> {
        let changed = self.names.iter().filter(|(old, new)| old != new);
        changed.map(|(old, new)| SymbolChange { old: old.clone(), new: new.clone() }).collect()
    }

    /// The text of a type of the old model with the new names.
    pub(super) fn renamed<'s>(&self, old: &'s Scene, ty: TypeId) -> Cow<'s, str> {
        if self.is_identity {
            return Cow::Borrowed(old.text_of(ty));
        }
        Cow::Owned(old.types[ty.index()].text(|extent| self.extent(old.extent(extent))))
    }

    /// An extent of the old model with the new names.
    fn extent<'t>(&'t self, extent: &'t Extent) -> Cow<'t, str> {
        match extent {
            Extent::Symbol(name) => Cow::Borrowed(self.names.get(name).unwrap_or(name)),
            Extent::Expression(text) | Extent::Unknown(text) => Cow::Owned(self.expression(text)),
            Extent::Number(_) | Extent::Rest => extent.text(),
        }
    }

    fn expression(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let word = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            if word > 0 {
                let (name, others) = rest.split_at(word);
                out.push_str(self.names.get(name).map_or(name, String::as_str));
                rest = others;
                continue;
            }
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
        out
    }
}

/// The extents in all shapes of the type of a value.
fn extents(scene: &Scene, value: ValueId) -> Vec<&Extent> {
    scene.type_of(value).shapes.iter().flatten().map(|extent| scene.extent(*extent)).collect()
}

/// Whether a character is part of a name.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_renamed_in_extents() {
        let names = [("N", "batch"), ("size of x", "M")].map(|(old, new)| (old.to_owned(), new.to_owned()));
        let renaming = Renaming { names: names.into_iter().collect(), is_identity: false };
        let text = |extent: Extent| renaming.extent(&extent).into_owned();
        assert_eq!(text(Extent::Symbol("N".to_owned())), "batch");
        assert_eq!(text(Extent::Symbol("size of x".to_owned())), "M");
        assert_eq!(text(Extent::Expression("2*N + NN + é".to_owned())), "2*batch + NN + é");
        assert_eq!(text(Extent::Unknown("? + N".to_owned())), "? + batch");
        assert_eq!(text(Extent::Number(4)), "4");
    }
}

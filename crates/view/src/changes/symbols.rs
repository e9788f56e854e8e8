//! Symbols of the interface that have other names in the new model.

use std::borrow::Cow;

use crate::map::{OrderedMap, Set};
use crate::matching::Matching;
use crate::scene::{GroupId, Scene, ValueId};

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
                let before = old.type_text(list(old, interface.graphs[0], first));
                let after = new.type_text(list(new, interface.graphs[1], second));
                let (before, after): (Vec<&str>, Vec<&str>) = (axes(before).collect(), axes(after).collect());
                if before.len() != after.len() {
                    continue;
                }
                for (from, to) in before.into_iter().zip(after) {
                    if is_symbol(from)
                        && is_symbol(to)
                        && !renaming.names.contains_key(from)
                        && taken.insert(to)
                    {
                        renaming.is_identity &= from == to;
                        renaming.names.insert(from.to_owned(), to.to_owned());
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

    /// A type of the old model with the new names. A symbol without a pair whose name is that of another
    /// symbol now is marked.
    pub(super) fn renamed<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_identity || !text.contains('[') {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let (mut depth, mut rest) = (0_usize, text);
        while let Some(first) = rest.chars().next() {
            let word = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            if word > 0 {
                let (name, others) = rest.split_at(word);
                out.push_str(self.names.get(name).filter(|_| depth > 0).map_or(name, String::as_str));
                rest = others;
                continue;
            }
            match first {
                '[' => depth += 1,
                ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
        Cow::Owned(out)
    }
}

/// Whether a character is part of a name.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.')
}

/// Whether an axis is a symbol.
fn is_symbol(axis: &str) -> bool {
    axis.chars().all(is_word) && axis.chars().next().is_some_and(|c| !c.is_ascii_digit())
}

/// The axes in all brackets of a type.
fn axes(text: &str) -> impl Iterator<Item = &str> {
    let lists = text.split('[').skip(1).map(|rest| rest.split(']').next().unwrap_or(rest));
    lists.flat_map(|list| list.split(',').map(str::trim))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_renamed_inside_brackets_only() {
        let names = [("N", "batch"), ("float", "M")].map(|(old, new)| (old.to_owned(), new.to_owned()));
        let renaming = Renaming { names: names.into_iter().collect(), is_identity: false };
        assert_eq!(renaming.renamed("seq(float[2*N + 1, NN, float])"), "seq(float[2*batch + 1, NN, M])");
        assert_eq!(renaming.renamed("int64"), "int64");
        assert_eq!(renaming.renamed("x[é, N"), "x[é, batch");
    }

    #[test]
    fn axes_are_split_at_commas() {
        let found: Vec<&str> = axes("float[N, 3]").collect();
        assert_eq!(found, ["N", "3"]);
        assert_eq!(found.iter().map(|axis| is_symbol(axis)).collect::<Vec<_>>(), [true, false]);
        assert!(!is_symbol("") && !is_symbol("?") && !is_symbol("2*N"));
    }
}

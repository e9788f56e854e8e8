//! Copies of types with fresh variables, and an encoding of types up to renaming of variables.

use std::sync::Arc;

use super::{Cell, Children, Constructor, ElemCell, ElemRef, Holder, Ty, Types, WatchList};
use crate::map::Map;

/// The variables and composites of a copy, by those of the original.
#[derive(Default)]
pub(crate) struct Copier {
    types: Map<Ty, Ty>,
    elems: Map<ElemRef, ElemRef>,
}

/// Numbers for variables and composites, in order of first appearance.
#[derive(Default)]
pub(crate) struct Numbering {
    types: Map<Ty, i64>,
    composites: Map<Ty, i64>,
    elems: Map<ElemRef, i64>,
}

impl Types {
    /// Copies `ty`. Equal variables become equal fresh ones.
    pub(crate) fn copy(&mut self, ty: Ty, copier: &mut Copier) -> Ty {
        for composite in self.composites_in(ty) {
            if copier.types.contains_key(&composite) {
                continue;
            }
            let Some(Children { list, is_open }) = self.children(composite) else { continue };
            let copies = list.iter().map(|(name, child)| (Arc::clone(name), self.copy_chain(*child, copier)));
            let copies = copies.collect();
            let copy = self.composite(copies, is_open);
            copier.types.insert(composite, copy);
        }
        self.copy_chain(ty, copier)
    }

    /// Copies a type whose composites were copied.
    fn copy_chain(&mut self, ty: Ty, copier: &mut Copier) -> Ty {
        let mut constructors = Vec::new();
        let mut at = self.resolve(ty);
        while let Cell::Container(constructor, inner) = self.cell(at) {
            constructors.push(constructor);
            at = self.resolve(inner);
        }
        let copy = match self.cell(at) {
            Cell::Elems(holder, elem) => self.copy_elem(at, elem, holder, copier),
            Cell::Var { bound, .. } => *copier
                .types
                .entry(at)
                .or_insert_with(|| self.push(Cell::Var { bound, watch: WatchList::EMPTY })),
            Cell::Composite(_) => copier.types.get(&at).copied().unwrap_or(at),
            Cell::Error | Cell::Leaf(_) | Cell::Container(..) | Cell::Link(_) => at,
        };
        constructors.into_iter().rev().fold(copy, |inner, constructor| self.container(constructor, inner))
    }

    fn copy_elem(&mut self, ty: Ty, elem: ElemRef, holder: Holder, copier: &mut Copier) -> Ty {
        let elem = self.resolve_elem(elem);
        let Some(ElemCell::Root { set, .. }) = self.elem_cell(elem) else { return ty };
        let copy = *copier.elems.entry(elem).or_insert_with(|| self.elem_class(set));
        self.push(Cell::Elems(holder, copy))
    }

    /// Appends the encoding of a type. Types that are equal up to renaming of variables have equal encodings.
    pub(crate) fn encode(&mut self, ty: Ty, numbering: &mut Numbering, words: &mut Vec<i64>) {
        for composite in self.composites_in(ty) {
            if numbering.composites.contains_key(&composite) {
                continue;
            }
            let Some(Children { list, is_open }) = self.children(composite) else { continue };
            let number = numbering.composites.len();
            words.extend([26, i64::from(is_open), count(list.len())]);
            for (name, child) in list.iter() {
                words.push(count(name.len()));
                words.extend(name.bytes().map(i64::from));
                self.encode_chain(*child, numbering, words);
            }
            numbering.composites.insert(composite, count(number));
        }
        self.encode_chain(ty, numbering, words);
    }

    /// Appends the encoding of a type whose composites were encoded.
    fn encode_chain(&mut self, ty: Ty, numbering: &mut Numbering, words: &mut Vec<i64>) {
        let mut at = self.resolve(ty);
        loop {
            match self.cell(at) {
                Cell::Container(constructor, inner) => {
                    match constructor {
                        Constructor::Sequence => words.push(10),
                        Constructor::Optional => words.push(11),
                        Constructor::Map(key) => words.extend([12, i64::from(key.number())]),
                    }
                    at = self.resolve(inner);
                }
                Cell::Elems(holder, elem) => {
                    break self.encode_elem(20 + holder as i64, elem, numbering, words);
                }
                Cell::Leaf(node) => break words.extend([23, index(node)]),
                Cell::Composite(_) => {
                    break words.extend([27, numbering.composites.get(&at).copied().unwrap_or(-1)]);
                }
                Cell::Var { bound, .. } => {
                    let next = i64::try_from(numbering.types.len()).unwrap_or(i64::MAX);
                    let number = *numbering.types.entry(at).or_insert(next);
                    break words.extend([24, number, bound.map_or(-1, index)]);
                }
                Cell::Error | Cell::Link(_) => break words.push(25),
            }
        }
    }

    fn encode_elem(&mut self, kind: i64, elem: ElemRef, numbering: &mut Numbering, words: &mut Vec<i64>) {
        let elem = self.resolve_elem(elem);
        match self.elem_cell(elem) {
            Some(ElemCell::Root { set, .. }) => {
                let next = i64::try_from(numbering.elems.len()).unwrap_or(i64::MAX);
                let number = *numbering.elems.entry(elem).or_insert(next);
                let bits = set.bits();
                words.extend([kind, -1, number, bits as i64, (bits >> 64) as i64]);
            }
            Some(ElemCell::Link(_)) | None => words.extend([kind, i64::from(elem.0)]),
        }
    }
}

fn count(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn index(node: typeloom_types::lattice::NodeNo) -> i64 {
    i64::try_from(node.index()).unwrap_or(i64::MAX)
}

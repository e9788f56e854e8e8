//! Copies of types with fresh variables, and an encoding of types up to renaming of variables.

use super::{Cell, ElemCell, ElemRef, Ty, Types, WatchList};
use crate::map::Map;

/// The variables of a copy, by those of the original.
#[derive(Default)]
pub(crate) struct Copier {
    types: Map<Ty, Ty>,
    elems: Map<ElemRef, ElemRef>,
}

/// Numbers for variables, in order of first appearance.
#[derive(Default)]
pub(crate) struct Numbering {
    types: Map<Ty, i64>,
    elems: Map<ElemRef, i64>,
}

impl Types {
    /// Copies `ty`. Equal variables become equal fresh ones.
    pub(crate) fn copy(&mut self, ty: Ty, copier: &mut Copier) -> Ty {
        let mut wraps = Vec::new();
        let mut at = self.resolve(ty);
        while let cell @ (Cell::Sequence(inner) | Cell::Optional(inner) | Cell::Map(_, inner)) =
            self.cells[at.index()]
        {
            wraps.push(cell);
            at = self.resolve(inner);
        }
        let mut copy = match self.cells[at.index()] {
            Cell::Tensor(elem) => self.copy_elem(at, elem, Cell::Tensor, copier),
            Cell::Sparse(elem) => self.copy_elem(at, elem, Cell::Sparse, copier),
            Cell::Scalar(elem) => self.copy_elem(at, elem, Cell::Scalar, copier),
            Cell::Var { bound, .. } => match copier.types.get(&at) {
                Some(copy) => *copy,
                None => {
                    let copy = self.push(Cell::Var { bound, watch: WatchList::EMPTY });
                    copier.types.insert(at, copy);
                    copy
                }
            },
            Cell::Error
            | Cell::Leaf(_)
            | Cell::Sequence(_)
            | Cell::Optional(_)
            | Cell::Map(..)
            | Cell::Link(_) => at,
        };
        for wrap in wraps.into_iter().rev() {
            copy = match wrap {
                Cell::Sequence(_) => self.push(Cell::Sequence(copy)),
                Cell::Optional(_) => self.push(Cell::Optional(copy)),
                Cell::Map(key, _) => self.push(Cell::Map(key, copy)),
                Cell::Error
                | Cell::Tensor(_)
                | Cell::Sparse(_)
                | Cell::Scalar(_)
                | Cell::Leaf(_)
                | Cell::Var { .. }
                | Cell::Link(_) => copy,
            };
        }
        copy
    }

    fn copy_elem(&mut self, ty: Ty, elem: ElemRef, make: fn(ElemRef) -> Cell, copier: &mut Copier) -> Ty {
        let elem = self.resolve_elem(elem);
        let Some(ElemCell::Root { set, .. }) = self.elem_cell(elem) else { return ty };
        let copy = match copier.elems.get(&elem) {
            Some(copy) => *copy,
            None => {
                let copy = self.elem_class(set);
                copier.elems.insert(elem, copy);
                copy
            }
        };
        self.push(make(copy))
    }

    /// Appends the encoding of a type. Types that are equal up to renaming of variables have equal encodings.
    pub(crate) fn encode(&mut self, ty: Ty, numbering: &mut Numbering, words: &mut Vec<i64>) {
        let mut at = self.resolve(ty);
        loop {
            match self.cells[at.index()] {
                Cell::Sequence(inner) => {
                    words.push(10);
                    at = self.resolve(inner);
                }
                Cell::Optional(inner) => {
                    words.push(11);
                    at = self.resolve(inner);
                }
                Cell::Map(key, inner) => {
                    words.extend([12, i64::from(key.number())]);
                    at = self.resolve(inner);
                }
                Cell::Tensor(elem) => break self.encode_elem(20, elem, numbering, words),
                Cell::Sparse(elem) => break self.encode_elem(21, elem, numbering, words),
                Cell::Scalar(elem) => break self.encode_elem(22, elem, numbering, words),
                Cell::Leaf(node) => break words.extend([23, index(node)]),
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

fn index(node: typeloom_types::lattice::NodeNo) -> i64 {
    i64::try_from(node.index()).unwrap_or(i64::MAX)
}

//! Views of dims one level deep, and copies from one arena to another.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::arena::{Dims, Kind};
use crate::bind::PostOrder;
use crate::id::DimId;
use crate::poly::constant_term;

/// The structure of a dim, one level deep. Bound variables are replaced by their values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DimView {
    /// A number.
    Constant(i64),
    /// A named symbol.
    Symbol,
    /// An anonymous variable.
    Variable,
    /// A number plus multiples of dims.
    Sum(i64, Vec<(i64, DimId)>),
    /// A product.
    Product(Vec<DimId>),
    /// A quotient rounded down.
    FloorDiv(DimId, DimId),
    /// A minimum.
    Min(Vec<DimId>),
}

impl Dims {
    /// The structure of a dim. It should be resolved, see [`Dims::resolve`].
    #[must_use]
    pub fn view(&self, dim: DimId) -> DimView {
        let dim = self.chase(dim);
        match self.kind(dim) {
            None => DimView::Constant(dim.inline_value().unwrap_or(0)),
            Some(Kind::Constant(value)) => DimView::Constant(value),
            Some(Kind::Symbol(_)) => DimView::Symbol,
            Some(Kind::Variable(_)) => DimView::Variable,
            Some(Kind::Floor { numerator, denominator }) => DimView::FloorDiv(numerator, denominator),
            Some(Kind::Min(span)) => DimView::Min(self.list(span).to_vec()),
            Some(Kind::Product(span)) => DimView::Product(self.list(span).to_vec()),
            Some(Kind::Sum(span)) => {
                let terms = self.sum_terms(span);
                let others = terms.iter().filter(|term| term.monomial != DimId::ONE);
                let others = others.map(|term| (term.coefficient, term.monomial)).collect();
                DimView::Sum(constant_term(terms), others)
            }
        }
    }

    /// Copies a dim of another arena to this one. `leaf` maps its symbols and variables.
    ///
    /// The result is an unknown if the copy is beyond the limits of this arena.
    pub fn copy_from(
        &mut self,
        other: &Self,
        dim: DimId,
        leaf: &mut dyn FnMut(&mut Self, DimId) -> DimId,
    ) -> DimId {
        let mut done: HashMap<DimId, DimId> = HashMap::new();
        let mut order = PostOrder(vec![dim]);
        while let Some((top, parts)) = order.next(other, |node| done.contains_key(&node)) {
            let copied: SmallVec<[DimId; 8]> =
                parts.iter().filter_map(|part| done.get(part).copied()).collect();
            let made = match other.kind(top) {
                None => top,
                Some(Kind::Constant(value)) => self.constant(value),
                Some(Kind::Symbol(_) | Kind::Variable(_)) => match copied[..] {
                    // A bound variable equals its value.
                    [value] => value,
                    _ => leaf(self, top),
                },
                Some(Kind::Sum(span)) => {
                    let terms = other.sum_terms(span).iter().map(|term| term.coefficient);
                    let terms: Vec<(i64, DimId)> = terms.zip(copied.iter().copied()).collect();
                    self.combination(0, &terms)
                }
                Some(Kind::Product(_)) => self.product(&copied),
                Some(Kind::Floor { .. }) => self.floor_div(copied[0], copied[1]),
                Some(Kind::Min(_)) => {
                    let least = copied.iter().copied().reduce(|a, b| self.min(a, b));
                    least.unwrap_or_else(|| self.fresh_integer())
                }
            };
            done.insert(top, made);
        }
        done.get(&dim).copied().unwrap_or(dim)
    }
}

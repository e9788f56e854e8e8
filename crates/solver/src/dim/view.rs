//! Views of dims one level deep, and copies from one arena to another.

use std::collections::HashMap;

use super::arena::{Dims, Kind};
use super::id::DimId;
use super::poly::constant_term;

/// The structure of a dim, one level deep. Bound variables are followed.
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
    /// The least of several.
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
        let mut stack = vec![other.chase(dim)];
        while let Some(&top) = stack.last() {
            if done.contains_key(&top) {
                stack.pop();
                continue;
            }
            let view = other.view(top);
            let parts: Vec<DimId> = match &view {
                DimView::Constant(_) | DimView::Symbol | DimView::Variable => Vec::new(),
                DimView::Sum(_, terms) => terms.iter().map(|(_, part)| other.chase(*part)).collect(),
                DimView::Product(parts) | DimView::Min(parts) => {
                    parts.iter().map(|part| other.chase(*part)).collect()
                }
                DimView::FloorDiv(a, b) => vec![other.chase(*a), other.chase(*b)],
            };
            let pending: Vec<DimId> = parts.iter().copied().filter(|part| !done.contains_key(part)).collect();
            if !pending.is_empty() {
                stack.extend(pending);
                continue;
            }
            let copied: Vec<DimId> = parts.iter().filter_map(|part| done.get(part).copied()).collect();
            let made = match &view {
                DimView::Constant(value) => self.constant(*value),
                DimView::Symbol | DimView::Variable => leaf(self, top),
                DimView::Sum(constant, terms) => {
                    let mut summands = vec![self.constant(*constant)];
                    for ((coefficient, _), part) in terms.iter().zip(&copied) {
                        let coefficient = self.constant(*coefficient);
                        summands.push(self.mul(coefficient, *part));
                    }
                    self.sum(&summands)
                }
                DimView::Product(_) => self.product(&copied),
                DimView::FloorDiv(..) => self.floor_div(copied[0], copied[1]),
                DimView::Min(_) => {
                    let least = copied.iter().copied().reduce(|a, b| self.min(a, b));
                    least.unwrap_or_else(|| self.fresh_integer())
                }
            };
            done.insert(top, made);
            stack.pop();
        }
        done.get(&other.chase(dim)).copied().unwrap_or(dim)
    }
}

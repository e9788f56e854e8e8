//! Conclusions from the conditions of earlier nodes, which every successful run satisfies.
//!
//! From the [`KnownConditions`] a rule concludes that an extent is positive, that a case of its operator
//! never happens, or that an extent has a simpler form.

use typeloom_dim::shape::DimVec;
use typeloom_dim::{Condition, DimId, Dims, Domain, Relation, Verdict, symbols_of};

use super::RuleCx;
use crate::solution::Equation;
use crate::state::known::KnownConditions;

/// Maximum number of inequalities that [`RuleCx::is_positive_by_conditions`] uses.
const MAX_BOUNDS: usize = 32;

impl RuleCx<'_, '_> {
    /// Evaluates a function of the conditions so far.
    fn in_runs<T>(&mut self, evaluate: impl FnOnce(&mut Dims, &mut KnownConditions) -> T) -> T {
        let uncached = self.uncached();
        let mut known = std::mem::take(&mut uncached.frame.rare.known);
        known.update(&mut uncached.core.dims, uncached.frame);
        let result = evaluate(&mut uncached.core.dims, &mut known);
        uncached.frame.rare.known = known;
        result
    }

    /// Whether a dim is at least 1 in every successful run.
    pub fn is_positive_in_runs(&mut self, dim: DimId) -> bool {
        let positive = Condition::new(Relation::AtMost, DimId::ONE, dim);
        self.dims().examine(positive, &Domain::nonempty()) == Verdict::Always
            || !self.frame().equations.is_empty()
                && self.in_runs(|dims, known| dims.examine(positive, &known.domain) == Verdict::Always)
    }

    /// As [`Self::is_positive_in_runs`], with symbols from 0 on.
    pub fn is_positive_by_conditions(&mut self, dim: DimId) -> bool {
        let positive = Condition::new(Relation::AtMost, DimId::ONE, dim);
        let mut domain = Domain::extents();
        if self.dims().examine(positive, &domain) == Verdict::Always {
            return true;
        }
        let frame = self.frame();
        let bounds = frame.equations.iter().filter(|equation| equation.need == Relation::AtMost);
        let bounds: Vec<Condition> = bounds
            .filter(|equation| frame.runs_with_body(equation.step))
            .map(Equation::condition)
            .take(MAX_BOUNDS)
            .collect();
        if bounds.is_empty() {
            return false;
        }
        let dims = self.dims();
        for condition in bounds {
            if !dims.is_anonymous(condition.left) && !dims.is_anonymous(condition.right) {
                domain.assume(dims, condition);
            }
        }
        dims.examine(positive, &domain) == Verdict::Always
    }

    /// Whether a condition holds in no successful run in which an extent is 0.
    pub fn is_never_if_zero(&mut self, extent: DimId, condition: Condition) -> bool {
        if [extent, condition.left, condition.right].iter().any(|dim| self.dims().is_anonymous(*dim)) {
            return false;
        }
        self.in_runs(|dims, known| {
            let mut symbols = symbols_of(dims, condition);
            symbols.extend(dims.symbols_of(extent));
            let mut domain = known.domain.connected_part(dims, &symbols);
            domain.assume(dims, Condition::new(Relation::AtMost, extent, DimId::ZERO));
            dims.never(condition, &domain)
        })
    }

    /// The extents without minima that the conditions so far decide.
    pub(super) fn simplify_in_runs(&mut self, extents: &[DimId]) -> DimVec {
        let mut simple = DimVec::from_slice(extents);
        for dim in &mut simple {
            let dims = self.dims();
            // Messages and claims name the operands of a broadcast.
            if !dims.has_minimum(*dim)
                || dims.is_anonymous(*dim)
                || self.tables().broadcast_of(*dim).is_some()
                || self.frame().equations.is_empty()
                || self.frame().rare.known.is_full()
            {
                continue;
            }
            *dim = self.in_runs(|dims, known| known.simplify(dims, *dim));
        }
        simple
    }

    /// Records that the division of one extent by another one is exact in every successful run.
    pub fn note_exact(&mut self, quotient: DimId, dividend: DimId, divisor: DimId) {
        if !self.is_conditional() {
            self.frame().rare.known.exact.insert(quotient, (dividend, divisor));
        }
    }

    /// The number of elements of a shape. With an extent that is an exact quotient of a number of elements,
    /// it is that number: `[b*h//(4*m), 4, m]` has `b*h` elements.
    pub fn element_count(&mut self, shape: &[DimId]) -> DimId {
        let is_quotient = |cx: &mut Self, dim: DimId| {
            cx.dims().has_floor(dim) && cx.frame().rare.known.exact.contains_key(&dim)
        };
        if let Some(at) = shape.iter().position(|dim| is_quotient(self, *dim))
            && let Some((dividend, divisor)) = self.frame().rare.known.exact.get(&shape[at]).copied()
        {
            let others: DimVec = [&shape[..at], &shape[at + 1..]].concat().into();
            let others = self.dims().product(&others);
            if let Some(times) = self.dims().div_exact(others, divisor) {
                return self.dims().mul(dividend, times);
            }
        }
        self.dims().product(shape)
    }
}

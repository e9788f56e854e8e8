//! Ring operations. They are total: a result beyond the limits is an unknown.

use crate::arena::{Dims, Operation};
use crate::id::DimId;
use crate::poly::{EMPTY, Term, collect, merge};

impl Dims {
    /// `a + b`.
    pub fn add(&mut self, a: DimId, b: DimId) -> DimId {
        self.total(Operation::Add, a, b, Self::try_add)
    }

    /// `a - b`.
    pub fn sub(&mut self, a: DimId, b: DimId) -> DimId {
        self.total(Operation::Sub, a, b, Self::try_sub)
    }

    /// `a * b`.
    pub fn mul(&mut self, a: DimId, b: DimId) -> DimId {
        self.total(Operation::Mul, a, b, Self::try_mul)
    }

    /// `-a`.
    pub fn neg(&mut self, a: DimId) -> DimId {
        self.sub(DimId::ZERO, a)
    }

    /// `a // b`, rounded down.
    pub fn floor_div(&mut self, a: DimId, b: DimId) -> DimId {
        self.total(Operation::FloorDiv, a, b, Self::try_floor_div)
    }

    /// `a / b`, rounded up.
    pub fn ceil_div(&mut self, a: DimId, b: DimId) -> DimId {
        self.total(Operation::CeilDiv, a, b, Self::try_ceil_div)
    }

    /// `a - b * (a // b)`: the remainder that has the sign of the divisor.
    pub fn modulo(&mut self, a: DimId, b: DimId) -> DimId {
        self.total(Operation::Modulo, a, b, Self::try_modulo)
    }

    /// The smaller one.
    pub fn min(&mut self, a: DimId, b: DimId) -> DimId {
        self.total(Operation::Min, a, b, Self::try_min)
    }

    /// The larger one.
    pub fn max(&mut self, a: DimId, b: DimId) -> DimId {
        self.total(Operation::Max, a, b, Self::try_max)
    }

    /// The product of all; 1 for none.
    pub fn product(&mut self, factors: &[DimId]) -> DimId {
        if factors.iter().any(|&factor| self.resolve(factor) == DimId::ZERO) {
            return DimId::ZERO;
        }
        factors.iter().fold(DimId::ONE, |product, &factor| self.mul(product, factor))
    }

    /// The sum of all; 0 for none.
    pub fn sum(&mut self, terms: &[DimId]) -> DimId {
        terms.iter().fold(DimId::ZERO, |sum, &term| self.add(sum, term))
    }

    /// The sum of multiples, in one step: a normal form that is read term by term stays as it is. A sum of a
    /// part of the terms could be simpler than these terms are in the whole, such as `2*(1//n)*(n//2)`, which
    /// is 0.
    pub fn combination(&mut self, constant: i64, terms: &[(i64, DimId)]) -> DimId {
        let in_steps = |dims: &mut Self| {
            terms.iter().fold(dims.constant(constant), |sum, (coefficient, part)| {
                let coefficient = dims.constant(*coefficient);
                let multiple = dims.mul(coefficient, *part);
                dims.add(sum, multiple)
            })
        };
        let mut all = vec![Term { coefficient: constant, monomial: DimId::ONE }];
        for (coefficient, part) in terms {
            let part = self.resolve(*part);
            for term in self.terms(part) {
                let Some(coefficient) = term.coefficient.checked_mul(*coefficient) else {
                    return in_steps(self);
                };
                all.push(Term { coefficient, ..term });
            }
        }
        match collect(all).and_then(|terms| self.intern_sum(&terms)) {
            Some(sum) => sum,
            None => in_steps(self),
        }
    }

    /// Resolves the arguments and applies an operation; a missing result is an unknown.
    fn total(
        &mut self,
        operation: Operation,
        a: DimId,
        b: DimId,
        compute: impl FnOnce(&mut Self, DimId, DimId) -> Option<DimId>,
    ) -> DimId {
        let (a, b) = (self.resolve(a), self.resolve(b));
        compute(self, a, b).unwrap_or_else(|| self.unknown(operation, a, b))
    }

    pub(crate) fn try_add(&mut self, a: DimId, b: DimId) -> Option<DimId> {
        match (a.inline_value(), b.inline_value()) {
            // Inline constants have 31 bits, so the sum cannot overflow.
            (Some(a), Some(b)) => return Some(self.constant(a + b)),
            (Some(0), _) => return Some(b),
            (_, Some(0)) => return Some(a),
            _ => {}
        }
        let terms = merge(self.terms_of(a, &mut [EMPTY]), self.terms_of(b, &mut [EMPTY]), 1)?;
        self.intern_sum(&terms)
    }

    pub(crate) fn try_sub(&mut self, a: DimId, b: DimId) -> Option<DimId> {
        if a == b {
            return Some(DimId::ZERO);
        }
        match (a.inline_value(), b.inline_value()) {
            (Some(a), Some(b)) => return Some(self.constant(a - b)),
            (_, Some(0)) => return Some(a),
            _ => {}
        }
        let terms = self.difference(a, b)?;
        self.intern_sum(&terms)
    }

    pub(crate) fn try_mul(&mut self, a: DimId, b: DimId) -> Option<DimId> {
        match (a.inline_value(), b.inline_value()) {
            (Some(a), Some(b)) => return Some(self.constant(a * b)),
            (Some(0), _) | (_, Some(0)) => return Some(DimId::ZERO),
            (Some(1), _) => return Some(b),
            (_, Some(1)) => return Some(a),
            _ => {}
        }
        let terms = self.multiply(&self.terms(a), &self.terms(b))?;
        self.intern_sum(&terms)
    }
}

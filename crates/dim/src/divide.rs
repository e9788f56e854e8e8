//! Division: exact, rounded down, rounded up, and the remainder.
//!
//! A floor `num // den` is brought to a lowest form before it becomes an atom:
//!
//! 1. an exact quotient is a polynomial and no atom;
//! 2. the leading sign of `den` is positive: `a // -b = -a // b`;
//! 3. multiples of `den` leave the numerator: `(q*den + r) // den = q + r // den`. Coefficients are reduced
//!    towards zero, the constant (for a constant `den`) into `-den < r <= 0`, so that a strided window reads
//!    `(n - 1)//2 + 1`, as exporters write it;
//! 4. common factors are cancelled; for a positive `den` the constant of the numerator is rounded down;
//! 5. a numerator with a negative leading term is negated: `-a // b = -1 - (a - 1) // b` for `b > 0`, so a
//!    quotient that is rounded up has the same atom as one that is rounded down;
//! 6. a floor plus a constant `r` is not divided again: `(a // b + r) // c = (a + r*b) // (b*c)` for `c > 0`.
//!
//! A remainder is not an atom: `a % b` is `a - b*(a // b)`. So `b*(a // b) + a % b = a` holds by the normal
//! form of sums, and the bounds `0 <= a % b < b` follow from the relaxation of the floor. A separate atom
//! would need that equation as a rewrite between monomials.
//!
//! All rules assume that divisors are not zero; otherwise the expression has no value.

use std::cmp::Ordering;

use crate::arena::Dims;
use crate::id::DimId;
use crate::poly::{
    EMPTY, Term, Terms, constant_term, content, floor_of_quotient, gcd, merge, without_constant,
};

const ONE: [Term; 1] = [Term { coefficient: 1, monomial: DimId::ONE }];

impl Dims {
    /// The quotient, if the division is exact for all values of the symbols.
    ///
    /// Polynomial division: `1001*N / N = 1001`, `(N*C*4) / (2*C) = 2*N`. The result holds if `b` is not
    /// zero. `None` if there is a remainder, or no proof that the division is exact (as for `N*(N + 1) / 2`).
    pub fn div_exact(&mut self, a: DimId, b: DimId) -> Option<DimId> {
        let (a, b) = (self.resolve(a), self.resolve(b));
        if b == DimId::ZERO {
            return None;
        }
        if b == DimId::ONE {
            return Some(a);
        }
        let quotient = self.divide(&self.terms(a), &self.terms(b))?;
        self.intern_sum(&quotient)
    }

    /// Polynomial long division in the lexicographic order of monomials, if it leaves no remainder.
    fn divide(&mut self, a: &[Term], b: &[Term]) -> Option<Terms> {
        if let [divisor] = b {
            return self.divide_terms(a, *divisor);
        }
        let lead = self.leading(b)?;
        let mut remainder = Terms::from_slice(a);
        let mut quotient = Vec::new();
        // The leading monomial decreases in every round; the counter only bounds the work.
        for _ in 0..crate::arena::MAX_TERMS {
            let Some(next) = self.leading(&remainder) else { return crate::poly::collect(quotient) };
            let step = *self.divide_terms(&[next], lead)?.first()?;
            let product = self.multiply(b, &[step])?;
            remainder = merge(&remainder, &product, -1)?;
            quotient.push(step);
        }
        None
    }

    /// Divides every term by one term, exactly.
    fn divide_terms(&mut self, terms: &[Term], divisor: Term) -> Option<Terms> {
        let mut quotient = Vec::with_capacity(terms.len());
        for term in terms {
            if term.coefficient.checked_rem(divisor.coefficient)? != 0 {
                return None;
            }
            let coefficient = term.coefficient.checked_div(divisor.coefficient)?;
            let monomial = self.divide_monomials(term.monomial, divisor.monomial)?;
            quotient.push(Term { coefficient, monomial });
        }
        crate::poly::collect(quotient)
    }

    /// The greatest term in the lexicographic order, in which older atoms count more.
    fn leading(&self, terms: &[Term]) -> Option<Term> {
        terms.iter().copied().max_by(|a, b| self.lexicographic(a.monomial, b.monomial))
    }

    /// Compares exponents from the oldest atom on, which makes the order compatible with products.
    fn lexicographic(&self, a: DimId, b: DimId) -> Ordering {
        let (mut a_scratch, mut b_scratch) = ([DimId::ONE], [DimId::ONE]);
        let (a, b) = (self.factors_of(a, &mut a_scratch), self.factors_of(b, &mut b_scratch));
        match a.iter().zip(b).find(|(a, b)| a != b) {
            // At the first difference, the older atom has the greater exponent on its own side.
            Some((a, b)) => b.cmp(a),
            None => a.len().cmp(&b.len()),
        }
    }

    pub(crate) fn try_ceil_div(&mut self, a: DimId, b: DimId) -> Option<DimId> {
        let negated = self.try_sub(DimId::ZERO, a)?;
        let quotient = self.try_floor_div(negated, b)?;
        self.try_sub(DimId::ZERO, quotient)
    }

    pub(crate) fn try_modulo(&mut self, a: DimId, b: DimId) -> Option<DimId> {
        let quotient = self.try_floor_div(a, b)?;
        let whole = self.try_mul(b, quotient)?;
        self.try_sub(a, whole)
    }

    pub(crate) fn try_floor_div(&mut self, a: DimId, b: DimId) -> Option<DimId> {
        if b == DimId::ZERO {
            return None;
        }
        if let (Some(a), Some(b)) = (self.as_constant(a), self.as_constant(b)) {
            let quotient = floor_of_quotient(a.into(), b.into())?;
            return i64::try_from(quotient).ok().map(|quotient| self.constant(quotient));
        }
        if let Some(quotient) = self.div_exact(a, b) {
            return Some(quotient);
        }
        let (mut numerator, mut denominator) = (self.terms(a), self.terms(b));
        // Cancelling a monomial keeps the leading term, so the sign stays positive.
        if self.leading(&denominator)?.coefficient < 0 {
            numerator = merge(&[], &numerator, -1)?;
            denominator = merge(&[], &denominator, -1)?;
        }
        let quotient = self.reduce(&mut numerator, &denominator)?;
        // Each cancellation makes the denominator smaller, so this ends.
        while self.cancel_number(&mut numerator, &mut denominator)?
            || self.cancel_monomial(&mut numerator, &mut denominator)?
        {}
        let leading = self.leading(without_constant(&numerator));
        let is_negative = leading.is_some_and(|term| term.coefficient < 0);
        let rest = if is_negative && self.low_of_terms(&denominator) >= 0 {
            self.negate_floor(&numerator, &denominator)?
        } else {
            self.lowest_floor(numerator, &denominator)?
        };
        let quotient = self.intern_sum(&quotient)?;
        self.try_add(quotient, rest)
    }

    /// Removes multiples of the denominator from the numerator; returns the sum of their quotients.
    fn reduce(&mut self, numerator: &mut Terms, denominator: &[Term]) -> Option<Terms> {
        let [divisor] = denominator else { return Some(Terms::new()) };
        let mut quotient = Vec::new();
        let mut rest = Terms::new();
        for mut term in std::mem::take(numerator) {
            if let Some(monomial) = self.divide_monomials(term.monomial, divisor.monomial) {
                let coefficient = term.coefficient.checked_div(divisor.coefficient)?;
                term.coefficient = term.coefficient.checked_rem(divisor.coefficient)?;
                if coefficient != 0 {
                    quotient.push(Term { coefficient, monomial });
                }
            }
            if term.coefficient != 0 {
                rest.push(term);
            }
        }
        *numerator = rest;
        crate::poly::collect(quotient)
    }

    /// Cancels the common divisor of all coefficients; returns whether there was one.
    fn cancel_number(&mut self, numerator: &mut Terms, denominator: &mut Terms) -> Option<bool> {
        let positive = self.low_of_terms(denominator) >= 0;
        // The constant may be no multiple: it is rounded down, which needs a positive denominator.
        let numbers = if positive { content(without_constant(numerator)) } else { content(numerator) };
        let common = i64::try_from(gcd(numbers, content(denominator))).ok()?;
        if common <= 1 {
            return Some(false);
        }
        for term in numerator.iter_mut().chain(denominator.iter_mut()) {
            term.coefficient = term.coefficient.div_euclid(common);
        }
        numerator.retain(|term| term.coefficient != 0);
        Some(true)
    }

    /// Cancels the common monomial of numerator and denominator; returns whether there was one.
    fn cancel_monomial(&mut self, numerator: &mut Terms, denominator: &mut Terms) -> Option<bool> {
        let terms: Terms = denominator.iter().chain(numerator.iter()).copied().collect();
        let shared = self.common_factors(&terms);
        if shared.is_empty() {
            return Some(false);
        }
        let divisor = Term { coefficient: 1, monomial: self.intern_product(&shared)? };
        *numerator = self.divide_terms(numerator, divisor)?;
        *denominator = self.divide_terms(denominator, divisor)?;
        Some(true)
    }

    /// Applies rule 5. The result starts with a plus, so the rule does not apply again.
    fn negate_floor(&mut self, numerator: &[Term], denominator: &[Term]) -> Option<DimId> {
        let negated = merge(&[], &merge(numerator, &ONE, 1)?, -1)?;
        let negated = self.intern_sum(&negated)?;
        let denominator = self.intern_sum(denominator)?;
        let floor = self.try_floor_div(negated, denominator)?;
        let minus_one = self.constant(-1);
        self.try_sub(minus_one, floor)
    }

    /// The floor of a quotient to which no rule applies.
    fn lowest_floor(&mut self, mut numerator: Terms, denominator: &[Term]) -> Option<DimId> {
        let mut whole = 0;
        if let [Term { coefficient: divisor, monomial: DimId::ONE }] = *denominator {
            let constant = constant_term(&numerator);
            // The remaining constant is in `-divisor < r <= 0`, so the extracted part is rounded up.
            whole = constant.checked_neg()?.div_euclid(divisor).checked_neg()?;
            numerator = merge(&numerator, &ONE, whole.checked_mul(divisor)?.checked_neg()?)?;
        }
        let floor = self.floor_atom(&numerator, denominator)?;
        let whole = self.constant(whole);
        self.try_add(floor, whole)
    }

    fn floor_atom(&mut self, numerator: &[Term], denominator: &[Term]) -> Option<DimId> {
        if numerator.is_empty() {
            return Some(DimId::ZERO);
        }
        let positive = self.low_of_terms(denominator) >= 0;
        if positive && self.low_of_terms(numerator) >= 0 {
            let gap = merge(denominator, numerator, -1)?;
            if self.low_of_terms(&gap) > 0 {
                return Some(DimId::ZERO);
            }
        }
        // `-1 // n` is -1, because a divisor is at least 1.
        if positive {
            let quotient = self.bounds_of_terms(numerator).floor_div(self.bounds_of_terms(denominator));
            if let Some(quotient) = quotient.single() {
                return Some(self.constant(quotient));
            }
        }
        let divisor = self.intern_sum(denominator)?;
        if let [Term { coefficient: 1, monomial }] = *without_constant(numerator)
            && positive
            && let Some((inner, by)) = self.as_floor(monomial)
        {
            let shift = constant_term(numerator);
            let inner = merge(self.terms_of(inner, &mut [EMPTY]), self.terms_of(by, &mut [EMPTY]), shift)?;
            let inner = self.intern_sum(&inner)?;
            let by = self.try_mul(by, divisor)?;
            return self.try_floor_div(inner, by);
        }
        let numerator = self.intern_sum(numerator)?;
        // Interning may have reduced a part to a constant.
        match (self.as_constant(numerator), self.as_constant(divisor)) {
            (Some(_), Some(_)) | (_, Some(0 | 1)) => self.try_floor_div(numerator, divisor),
            _ => self.intern_floor(numerator, divisor),
        }
    }
}

//! Bounds of dims: intervals, and the linear relaxation of floors and minima.
//!
//! The interval of a sum is the sum of the intervals of its terms. It ignores that one symbol may occur in
//! two terms, which is most imprecise if a floor or a minimum is compared with its own argument: `n - n//2`
//! would be unbounded. So such a term is also replaced by the linear bounds that it satisfies,
//!
//! ```text
//! num - den + 1  <=  den * (num//den)  <=  num        for a constant den > 0
//!                    den * (num//den)  <=  num        for any den >= 0 in a product with its floor
//!                    min(a, b, ..)     <=  a, b, ..
//! ```
//!
//! each multiplied by the non-negative rest of its monomial. The result is the tightest of all bounds. A
//! budget limits the number of replacements for each sum. Bounds are sound and may be imprecise.

use smallvec::SmallVec;

use crate::arena::{Dims, Kind};
use crate::id::DimId;
use crate::poly::{Term, Terms, constant_term, content, merge, without_constant};

/// A closed interval of integers; `i64::MIN` below and `i64::MAX` above mean unbounded.
///
/// Exact ends that exceed 64 bits are moved outward.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Interval {
    pub(crate) low: i64,
    pub(crate) high: i64,
}

/// An end of an interval.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Low,
    High,
}

/// `divisor * atom` is bounded by `argument + shift`; the atom's term has the other factors `rest`.
#[derive(Clone, Copy)]
struct LinearBound {
    argument: DimId,
    shift: i64,
    divisor: i64,
    rest: DimId,
}

/// Maximum number of replacements of an atom by a linear bound for one query.
const RELAXATIONS: u32 = 24;

impl Interval {
    pub(crate) const ALL: Self = Self { low: i64::MIN, high: i64::MAX };
    pub(crate) const EXTENT: Self = Self { low: 0, high: i64::MAX };

    /// Creates an interval of finite or unbounded ends. A low end of `i64::MAX` and a high end of `i64::MIN`
    /// are moved outward by one, because these values never mean unbounded there.
    const fn new(low: i64, high: i64) -> Self {
        Self {
            low: if low == i64::MAX { i64::MAX - 1 } else { low },
            high: if high == i64::MIN { i64::MIN + 1 } else { high },
        }
    }

    pub(crate) const fn point(value: i64) -> Self {
        Self::new(value, value)
    }

    /// The only number in the interval, if it is exact.
    pub(crate) fn single(self) -> Option<i64> {
        (self.low == self.high && self.low != i64::MIN && self.low != i64::MAX).then_some(self.low)
    }

    pub(crate) fn contains(self, value: i64) -> bool {
        self.low <= value && value <= self.high
    }

    pub(crate) fn is_disjoint(self, other: Self) -> bool {
        self.high < other.low || other.high < self.low
    }

    pub(crate) fn add(self, other: Self) -> Self {
        let low = if self.low == i64::MIN || other.low == i64::MIN {
            i64::MIN
        } else {
            self.low.saturating_add(other.low)
        };
        let high = if self.high == i64::MAX || other.high == i64::MAX {
            i64::MAX
        } else {
            self.high.saturating_add(other.high)
        };
        Self::new(low, high)
    }

    pub(crate) fn mul(self, other: Self) -> Self {
        let (a, b) = (self.scaled(other.low), self.scaled(other.high));
        Self { low: a.low.min(b.low), high: a.high.max(b.high) }
    }

    /// The product with a number; `i64::MIN` and `i64::MAX` are infinite.
    fn scaled(self, factor: i64) -> Self {
        match factor {
            1 => self,
            0.. => Self::new(mul_ends(self.low, factor), mul_ends(self.high, factor)),
            _ => Self::new(mul_ends(self.high, factor), mul_ends(self.low, factor)),
        }
    }

    pub(crate) fn min(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.min(other.high) }
    }

    pub(crate) fn intersect(self, other: Self) -> Self {
        Self { low: self.low.max(other.low), high: self.high.min(other.high) }
    }

    /// Moves the ends inward to possible values of the sum: the constant plus multiples of the greatest
    /// common divisor of the other coefficients.
    fn rounded(self, terms: &[Term]) -> Self {
        let step = i128::from(content(without_constant(terms)));
        if step <= 1 {
            return self;
        }
        let constant = i128::from(constant_term(terms));
        let up = |low: i64| i64::try_from(i128::from(low) + (constant - i128::from(low)).rem_euclid(step));
        let down =
            |high: i64| i64::try_from(i128::from(high) - (i128::from(high) - constant).rem_euclid(step));
        let low = if self.low == i64::MIN { self.low } else { up(self.low).unwrap_or(self.low) };
        let high = if self.high == i64::MAX { self.high } else { down(self.high).unwrap_or(self.high) };
        if low > high { self } else { Self::new(low, high) }
    }

    /// The bounds of a floor of a quotient whose divisor is not zero.
    pub(crate) fn floor_div(self, divisor: Self) -> Self {
        if divisor.low < 0 {
            return Self::ALL;
        }
        // The divisor is at least 1 from here on; the quotient moves toward zero as it grows.
        let least = divisor.low.max(1);
        let most = divisor.high.max(least);
        let low = match (self.low, most) {
            (i64::MIN, _) => i64::MIN,
            (low, _) if low < 0 => low.div_euclid(least),
            (_, i64::MAX) => 0,
            (low, most) => low / most,
        };
        let high = match (self.high, most) {
            (i64::MAX, _) => i64::MAX,
            (high, _) if high >= 0 => high / least,
            (_, i64::MAX) => -1,
            (high, most) => high.div_euclid(most),
        };
        Self::new(low, high)
    }
}

/// The product of two ends; an infinite end times zero is zero.
fn mul_ends(a: i64, b: i64) -> i64 {
    let infinite = |end: i64| end == i64::MIN || end == i64::MAX;
    if a == 0 || b == 0 {
        0
    } else if infinite(a) || infinite(b) {
        if (a < 0) == (b < 0) { i64::MAX } else { i64::MIN }
    } else {
        a.saturating_mul(b)
    }
}

impl Dims {
    /// The least and the greatest value, as far as they can be proved.
    ///
    /// Symbols and anonymous extents are integers from 0 on; an anonymous integer has no bounds.
    #[must_use]
    pub fn bounds(&mut self, dim: DimId) -> (Option<i64>, Option<i64>) {
        let dim = self.resolve(dim);
        let Interval { low, high } = self.interval_by_facts(dim);
        ((low != i64::MIN).then_some(low), (high != i64::MAX).then_some(high))
    }

    /// The interval of a product of atoms: an even power is never negative.
    pub(crate) fn bounds_of_factors(&self, factors: &[DimId]) -> Interval {
        let mut product = Interval::point(1);
        for run in factors.chunk_by(|a, b| a == b) {
            let bounds = self.summary(run[0]).bounds;
            let mut power = run.iter().fold(Interval::point(1), |power, _| power.mul(bounds));
            if run.len().is_multiple_of(2) {
                power.low = power.low.max(0);
            }
            product = product.mul(power);
        }
        product
    }

    /// The interval of a sum of terms.
    pub(crate) fn bounds_of_terms(&mut self, terms: &[Term]) -> Interval {
        let bounds = Interval { low: self.low_of_terms(terms), high: self.high_of_terms(terms) };
        // Contradictory assumptions bound each sum in any way.
        if bounds.low > bounds.high { self.plain_bounds(terms) } else { bounds }
    }

    /// The lower end of [`Dims::bounds_of_terms`].
    pub(crate) fn low_of_terms(&mut self, terms: &[Term]) -> i64 {
        self.end_of_terms(terms, End::Low).low
    }

    /// The upper end of [`Dims::bounds_of_terms`].
    pub(crate) fn high_of_terms(&mut self, terms: &[Term]) -> i64 {
        self.end_of_terms(terms, End::High).high
    }

    /// The interval of a sum of terms, of which one end is as tight as can be proved.
    fn end_of_terms(&mut self, terms: &[Term], end: End) -> Interval {
        self.count_work(terms.len());
        let mut bounds = self.plain_bounds(terms);
        match end {
            End::Low if bounds.low < 0 => {
                bounds.low = bounds.low.max(self.shifted_low(terms, 1).unwrap_or(i64::MIN));
            }
            End::High if bounds.high > 0 => {
                let low = self.shifted_low(terms, -1).unwrap_or(i64::MIN);
                bounds.high = bounds.high.min(low.saturating_neg());
            }
            End::Low | End::High => {}
        }
        // The interval of an atom is as tight as its relaxation.
        let is_atom = matches!(without_constant(terms), [term] if !matches!(self.kind(term.monomial), Some(Kind::Product(_))));
        if !self.is_exhausted()
            && bounds.single().is_none()
            && !is_atom
            && terms.iter().any(|term| self.is_relaxable(term.monomial))
        {
            let relaxed = self.relaxed(terms, end, &mut { RELAXATIONS });
            match end {
                End::Low => bounds.low = bounds.low.max(relaxed),
                End::High => bounds.high = bounds.high.min(relaxed),
            }
        }
        bounds.rounded(terms)
    }

    fn plain_bounds(&self, terms: &[Term]) -> Interval {
        terms.iter().fold(Interval::point(0), |sum, term| {
            sum.add(self.summary(term.monomial).bounds.scaled(term.coefficient))
        })
    }

    /// The position, in the factors of a monomial, of the floor by a positive constant, or of the minimum,
    /// whose other factors are never negative.
    fn relaxable_at(&self, factors: &[DimId]) -> Option<usize> {
        let at = factors.iter().position(|&factor| match self.kind(factor) {
            Some(Kind::Floor { denominator, .. }) => {
                self.as_constant(denominator).is_some() || factors.contains(&denominator)
            }
            Some(Kind::Min(_)) => true,
            Some(
                Kind::Constant(_) | Kind::Symbol(_) | Kind::Variable(_) | Kind::Product(_) | Kind::Sum(_),
            )
            | None => false,
        })?;
        (factors.len() == 1 || self.bounds_of_factors(&without(factors, at)).low >= 0).then_some(at)
    }

    fn is_relaxable(&self, monomial: DimId) -> bool {
        self.relaxable_at(self.factors_of(monomial, &mut [DimId::ONE])).is_some()
    }

    /// The atom of a monomial that is replaced by its bounds, with the other factors.
    fn relaxable(&self, monomial: DimId) -> Option<(DimId, SmallVec<[DimId; 4]>)> {
        let mut scratch = [DimId::ONE];
        let factors = self.factors_of(monomial, &mut scratch);
        let at = self.relaxable_at(factors)?;
        Some((factors[at], without(factors, at)))
    }

    /// The tightest provable bound at one end, relaxing each atom in turn.
    fn relaxed(&mut self, terms: &[Term], end: End, budget: &mut u32) -> i64 {
        let plain = self.plain_bounds(terms);
        let mut best = match end {
            End::Low => plain.low,
            End::High => plain.high,
        };
        for (at, term) in terms.iter().enumerate() {
            if *budget == 0 {
                break;
            }
            let Some((atom, rest)) = self.relaxable(term.monomial) else { continue };
            let Some(rest) = self.intern_product(&rest) else { continue };
            // Whether the term has to be bounded from below or from above.
            let from_below = (end == End::Low) == (term.coefficient > 0);
            match self.kind(atom) {
                Some(Kind::Floor { numerator, denominator }) if self.as_constant(denominator).is_none() => {
                    // The product with the divisor is replaced as a whole; divisors are not 0.
                    if from_below || self.summary(denominator).bounds.low < 0 {
                        continue;
                    }
                    let Some(rest) = self.divide_monomials(rest, denominator) else { continue };
                    let bound = LinearBound { argument: numerator, shift: 0, divisor: 1, rest };
                    best = self.try_bound(best, (terms, at), bound, end, budget);
                }
                Some(Kind::Floor { numerator, denominator }) => {
                    let Some(divisor) = self.as_constant(denominator).filter(|&divisor| divisor > 0) else {
                        continue;
                    };
                    let shift = if from_below { 1 - divisor } else { 0 };
                    let bound = LinearBound { argument: numerator, shift, divisor, rest };
                    best = self.try_bound(best, (terms, at), bound, end, budget);
                }
                Some(Kind::Min(span)) if !from_below => {
                    let arguments: SmallVec<[DimId; 8]> = SmallVec::from_slice(self.list(span));
                    for argument in arguments {
                        let bound = LinearBound { argument, shift: 0, divisor: 1, rest };
                        best = self.try_bound(best, (terms, at), bound, end, budget);
                    }
                }
                _ => {}
            }
        }
        best
    }

    /// The better of `best` and the bound of the terms `replaced.0`, in which the atom of the term at
    /// `replaced.1` is replaced by its linear bound.
    fn try_bound(
        &mut self,
        best: i64,
        replaced: (&[Term], usize),
        bound: LinearBound,
        end: End,
        budget: &mut u32,
    ) -> i64 {
        if *budget == 0 {
            return best;
        }
        *budget -= 1;
        self.count_work(replaced.0.len());
        let found = match self.with_leaf(replaced, bound) {
            Some(interval) => match end {
                End::Low => interval.low,
                End::High => interval.high,
            },
            None => {
                let Some(terms) = self.replace(replaced, bound) else { return best };
                self.relaxed(&terms, end, budget)
            }
        };
        match end {
            End::Low if found == i64::MIN => best,
            End::High if found == i64::MAX => best,
            // Rounding inward is exact, because the bounded number is an integer.
            End::Low => best.max(-(-found).div_euclid(bound.divisor)),
            End::High => best.min(found.div_euclid(bound.divisor)),
        }
    }

    /// The interval of the terms after the replacement, if the atom is the only one that can be replaced, and
    /// its argument is a symbol or variable in no other term. This is the common case, and needs no new
    /// terms.
    fn with_leaf(&self, (terms, at): (&[Term], usize), bound: LinearBound) -> Option<Interval> {
        let LinearBound { argument, shift, divisor, rest } = bound;
        if rest != DimId::ONE || !self.is_leaf(argument) {
            return None;
        }
        let coefficient = terms[at].coefficient;
        let constant = Interval::point(coefficient.checked_mul(shift)?);
        let replacement = self.summary(argument).bounds.scaled(coefficient).add(constant);
        terms.iter().enumerate().filter(|(other, _)| *other != at).try_fold(replacement, |sum, (_, term)| {
            if term.monomial == argument || self.is_relaxable(term.monomial) {
                return None;
            }
            let coefficient = term.coefficient.checked_mul(divisor)?;
            Some(sum.add(self.summary(term.monomial).bounds.scaled(coefficient)))
        })
    }

    fn replace(&mut self, (terms, at): (&[Term], usize), bound: LinearBound) -> Option<Terms> {
        let LinearBound { argument, shift, divisor, rest } = bound;
        let argument = merge(&self.terms(argument), &[Term { coefficient: 1, monomial: DimId::ONE }], shift)?;
        let replacement =
            self.multiply(&argument, &[Term { coefficient: terms[at].coefficient, monomial: rest }])?;
        let mut others = Terms::from_slice(terms);
        others.remove(at);
        merge(&replacement, &others, divisor)
    }
}

/// The factors without the one at a position.
fn without(factors: &[DimId], at: usize) -> SmallVec<[DimId; 4]> {
    factors[..at].iter().chain(&factors[at + 1..]).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::{Interval, mul_ends};

    #[test]
    fn the_product_of_two_intervals_spans_the_products_of_their_ends() {
        let ends = [i64::MIN, i64::MIN + 1, -7, -1, 0, 1, 3, i64::MAX - 1, i64::MAX];
        let all = || ends.iter().flat_map(|low| ends.iter().map(move |high| (*low, *high)));
        let intervals: Vec<Interval> = all()
            .filter(|(low, high)| low <= high && *low != i64::MAX && *high != i64::MIN)
            .map(|(low, high)| Interval::new(low, high))
            .collect();
        for a in &intervals {
            for b in &intervals {
                let corners = [(a.low, b.low), (a.low, b.high), (a.high, b.low), (a.high, b.high)];
                let products = corners.map(|(a, b)| mul_ends(a, b));
                let low = products.iter().copied().fold(i64::MAX, i64::min);
                let high = products.iter().copied().fold(i64::MIN, i64::max);
                assert_eq!(a.mul(*b), Interval::new(low, high), "{a:?} * {b:?}");
            }
        }
    }
}

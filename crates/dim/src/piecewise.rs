//! Integer functions of one variable `t >= 0` that are polynomials on intervals.
//!
//! Along a residue class of its variable, a dim in one variable with constant divisors is such a function
//! (see [`solutions`](crate::solutions)). Sums, products, minima and exact quotients are computed piece by
//! piece; a minimum adds pieces where its arguments cross.
//!
//! Crossings are found without real arithmetic. A polynomial is monotone where its forward difference
//! `p(t + 1) - p(t)`, a polynomial of lower degree, keeps its sign; on such an interval bisection finds a
//! change of sign.
//!
//! Functions return `None` if a number exceeds 128 bits, or beyond a limit: degree [`MAX_POWER`],
//! [`MAX_PIECES`] pieces.

use std::cmp::Ordering;

/// Maximum degree.
const MAX_POWER: usize = 12;
/// Maximum number of pieces of one function.
const MAX_PIECES: usize = 64;

/// A polynomial: the coefficient of `t^k` at position `k`, without trailing zeros.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Polynomial(Vec<i128>);

impl Polynomial {
    fn new(mut coefficients: Vec<i128>) -> Option<Self> {
        while coefficients.last() == Some(&0) {
            coefficients.pop();
        }
        (coefficients.len() <= MAX_POWER + 1).then_some(Self(coefficients))
    }

    /// `self + scale * other`.
    fn add_scaled(&self, other: &Self, scale: i128) -> Option<Self> {
        let at = |polynomial: &Self, power: usize| polynomial.0.get(power).copied().unwrap_or(0);
        let sum = (0..self.0.len().max(other.0.len()))
            .map(|power| at(self, power).checked_add(at(other, power).checked_mul(scale)?));
        Self::new(sum.collect::<Option<_>>()?)
    }

    fn multiply(&self, other: &Self) -> Option<Self> {
        if self.0.is_empty() || other.0.is_empty() {
            return Some(Self(Vec::new()));
        }
        if self.0.len() + other.0.len() > MAX_POWER + 2 {
            return None;
        }
        let mut product = vec![0i128; self.0.len() + other.0.len() - 1];
        for (i, a) in self.0.iter().enumerate() {
            for (j, b) in other.0.iter().enumerate() {
                product[i + j] = product[i + j].checked_add(a.checked_mul(*b)?)?;
            }
        }
        Self::new(product)
    }

    /// The quotient rounded down by a positive number that divides all coefficients but the constant one.
    fn floor_div(&self, divisor: i128) -> Option<Self> {
        let mut coefficients = Vec::with_capacity(self.0.len());
        for (power, coefficient) in self.0.iter().enumerate() {
            if power > 0 && coefficient % divisor != 0 {
                return None;
            }
            coefficients.push(coefficient.div_euclid(divisor));
        }
        Self::new(coefficients)
    }

    fn at(&self, t: i64) -> Option<i128> {
        self.0
            .iter()
            .rev()
            .try_fold(0i128, |sum, coefficient| sum.checked_mul(i128::from(t))?.checked_add(*coefficient))
    }

    fn sign_at(&self, t: i64) -> Option<Ordering> {
        self.at(t).map(|value| value.cmp(&0))
    }

    /// `p(t + 1) - p(t)`.
    fn difference(&self) -> Option<Self> {
        let mut coefficients = vec![0i128; self.0.len().saturating_sub(1)];
        for (power, coefficient) in self.0.iter().enumerate() {
            let mut binomial = 1i128;
            for (lower, sum) in coefficients.iter_mut().enumerate().take(power) {
                *sum = sum.checked_add(coefficient.checked_mul(binomial)?)?;
                let (power, lower) = (i128::try_from(power).ok()?, i128::try_from(lower).ok()?);
                binomial = binomial * (power - lower) / (lower + 1);
            }
        }
        Self::new(coefficients)
    }

    /// The intervals of `start..end` on which the sign is constant: the start of each, and the sign.
    fn signs(&self, start: i64, end: Option<i64>) -> Option<Vec<(i64, Ordering)>> {
        if self.0.len() <= 1 {
            return Some(vec![(start, self.sign_at(start)?)]);
        }
        let slopes = self.difference()?.signs(start, end)?;
        let mut signs: Vec<(i64, Ordering)> = Vec::new();
        for (at, &(begin, slope)) in slopes.iter().enumerate() {
            let stop = slopes.get(at + 1).map(|(next, _)| *next).or(end);
            let first = self.sign_at(begin)?;
            push_change(&mut signs, begin, first);
            if slope == Ordering::Equal || first == slope {
                continue;
            }
            // The sign moves towards that of the slope, through zero for at most one integer.
            if let Some(zero) = self.first_reaching(begin, stop, slope, Ordering::Equal)? {
                push_change(&mut signs, zero, self.sign_at(zero)?);
                if self.sign_at(zero)? == Ordering::Equal && stop.is_none_or(|stop| zero + 1 < stop) {
                    push_change(&mut signs, zero + 1, slope);
                }
            }
        }
        Some(signs)
    }

    /// The first integer of `begin..stop` at which the sign has reached `sign` in the direction of `slope`.
    #[expect(clippy::option_option, reason = "the number fits, and there is such an integer")]
    fn first_reaching(
        &self,
        begin: i64,
        stop: Option<i64>,
        slope: Ordering,
        sign: Ordering,
    ) -> Option<Option<i64>> {
        let reached = |t: i64| {
            let found = self.sign_at(t)?;
            Some(found == sign || found == slope)
        };
        let (mut low, mut high, mut step) = (begin, begin, 1i64);
        while !reached(high)? {
            if stop.is_some_and(|stop| high + 1 >= stop) {
                return Some(None);
            }
            low = high;
            high = high.checked_add(step)?;
            step = step.checked_mul(2)?;
            if let Some(stop) = stop {
                high = high.min(stop - 1);
            }
        }
        // Not reached at `low`, unless both ends are `begin`; reached at `high`.
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if reached(middle)? {
                high = middle;
            } else {
                low = middle;
            }
        }
        Some(Some(high))
    }
}

/// Adds an item that holds from `start` on, unless it equals the one before.
fn push_change<T: PartialEq>(items: &mut Vec<(i64, T)>, start: i64, item: T) {
    if items.last().is_none_or(|(_, last)| *last != item) {
        items.push((start, item));
    }
}

/// A function that is a polynomial from each start to the next; the first start is 0.
#[derive(Clone, Debug)]
pub(crate) struct Piecewise(Vec<(i64, Polynomial)>);

impl Piecewise {
    pub(crate) fn constant(value: i128) -> Self {
        Self(vec![(0, Polynomial(if value == 0 { Vec::new() } else { vec![value] }))])
    }

    /// `offset + step * t`, for a step that is not 0.
    pub(crate) fn linear(offset: i64, step: i64) -> Self {
        Self(vec![(0, Polynomial(vec![i128::from(offset), i128::from(step)]))])
    }

    fn combine(
        &self,
        other: &Self,
        compute: impl Fn(&Polynomial, &Polynomial) -> Option<Polynomial>,
    ) -> Option<Self> {
        let mut pieces: Vec<(i64, Polynomial)> = Vec::new();
        for (start, _, a, b) in self.common(other) {
            push_change(&mut pieces, start, compute(a, b)?);
        }
        (pieces.len() <= MAX_PIECES).then_some(Self(pieces))
    }

    /// The common refinement: start and end of each interval, and both polynomials.
    fn common<'a>(&'a self, other: &'a Self) -> Vec<(i64, Option<i64>, &'a Polynomial, &'a Polynomial)> {
        let mut starts: Vec<i64> = self.0.iter().chain(&other.0).map(|(start, _)| *start).collect();
        starts.sort_unstable();
        starts.dedup();
        let piece_at = |pieces: &'a [(i64, Polynomial)], start: i64| {
            &pieces[pieces.partition_point(|(begin, _)| *begin <= start) - 1].1
        };
        let piece = |at: usize, start: i64| {
            let end = starts.get(at + 1).copied();
            (start, end, piece_at(&self.0, start), piece_at(&other.0, start))
        };
        starts.iter().enumerate().map(|(at, &start)| piece(at, start)).collect()
    }

    /// `self + scale * other`.
    pub(crate) fn add_scaled(&self, other: &Self, scale: i64) -> Option<Self> {
        self.combine(other, |a, b| a.add_scaled(b, i128::from(scale)))
    }

    pub(crate) fn multiply(&self, other: &Self) -> Option<Self> {
        self.combine(other, Polynomial::multiply)
    }

    /// The quotient by a positive constant, rounded down; see [`Polynomial::floor_div`].
    pub(crate) fn floor_div(&self, divisor: i64) -> Option<Self> {
        let divisor = i128::from(divisor);
        let pieces = self.0.iter().map(|(start, piece)| Some((*start, piece.floor_div(divisor)?)));
        pieces.collect::<Option<Vec<_>>>().map(Self)
    }

    pub(crate) fn min(&self, other: &Self) -> Option<Self> {
        let mut pieces: Vec<(i64, Polynomial)> = Vec::new();
        for (start, end, a, b) in self.common(other) {
            for (start, sign) in a.add_scaled(b, -1)?.signs(start, end)? {
                let least = if sign == Ordering::Greater { b } else { a };
                push_change(&mut pieces, start, least.clone());
            }
        }
        (pieces.len() <= MAX_PIECES).then_some(Self(pieces))
    }

    /// The intervals on which the function has one of the given signs: first and last `t`; `None` is
    /// unbounded.
    pub(crate) fn where_sign(&self, wanted: &[Ordering]) -> Option<Vec<Range>> {
        let mut ranges: Vec<Range> = Vec::new();
        for (at, (start, piece)) in self.0.iter().enumerate() {
            let end = self.0.get(at + 1).map(|(next, _)| *next);
            let signs = piece.signs(*start, end)?;
            for (at, (start, sign)) in signs.iter().enumerate() {
                let end = signs.get(at + 1).map(|(next, _)| *next).or(end);
                if wanted.contains(sign) {
                    ranges.push((*start, end.map(|end| end - 1)));
                }
            }
        }
        Some(merge_ranges(ranges))
    }
}

/// The first and last integer of a range; `None` is unbounded.
pub(crate) type Range = (i64, Option<i64>);

/// The union of ranges: sorted, disjoint, and not adjacent.
pub(crate) fn merge_ranges(mut ranges: Vec<Range>) -> Vec<Range> {
    ranges.sort_unstable_by_key(|(first, _)| *first);
    let mut merged: Vec<Range> = Vec::new();
    for (first, last) in ranges {
        match merged.last_mut() {
            Some((_, None)) => {}
            Some((_, Some(end))) if first <= end.saturating_add(1) => match last {
                None => merged.last_mut().expect("not empty").1 = None,
                Some(last) => *end = last.max(*end),
            },
            _ => merged.push((first, last)),
        }
    }
    merged
}

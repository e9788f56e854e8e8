//! The exact solutions of goals in one variable.
//!
//! The variable, called the *pivot*, is a symbol or a product of symbols (`batch*seq`) in which all goals can
//! be written. Let `period` be a common multiple of the divisors of all floors. For every residue `r` the
//! substitution `pivot = r + period*t` makes every floor an exact quotient, so each goal becomes a piecewise
//! polynomial in `t` (see [`piecewise`](crate::piecewise)), whose zeros and signs are found exactly. The
//! union over all residue classes is exact.
//!
//! Goals are not covered if a divisor is not a positive constant, if the period exceeds [`MAX_PERIOD`], or on
//! overflow; then the result is `None`. [`MAX_WORK`] bounds the number of nodes visited over all classes.

use std::cmp::Ordering;

use smallvec::SmallVec;

use crate::arena::{Dims, Kind};
use crate::bounds::Interval;
use crate::condition::Goal;
use crate::domain::Domain;
use crate::id::DimId;
use crate::piecewise::{Piecewise, Range, merge_ranges};
use crate::poly::gcd;

/// Maximum common period of floors.
pub(crate) const MAX_PERIOD: i64 = 840;
/// Maximum number of nodes visited over all residue classes.
const MAX_WORK: i64 = 1 << 15;

/// A product of symbols that is treated as a variable.
#[derive(Clone, Debug)]
pub(crate) struct Pivot {
    /// The symbols, sorted, with repetition.
    pub(crate) factors: SmallVec<[DimId; 4]>,
    pub(crate) bounds: Interval,
}

/// The values of a pivot that satisfy at least one goal.
#[derive(Clone, Debug)]
pub(crate) struct Solutions {
    low: i64,
    high: Option<i64>,
    period: i64,
    /// For each residue class, the ranges of `t` in `low + class + period*t`.
    classes: Vec<Vec<Range>>,
}

/// A description of a set of integers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Extent {
    /// All values that the pivot can take.
    All,
    /// No value.
    Empty,
    /// These values, in increasing order.
    Finite(Vec<i64>),
    /// All values between two bounds, inclusive, with this remainder.
    Range { least: Option<i64>, greatest: Option<i64>, modulus: i64, remainder: i64 },
    /// None of the above.
    Other,
}

/// Maximum number of listed values.
pub(crate) const MAX_VALUES: usize = 16;

impl Solutions {
    /// The last `t` for which a class that starts at `first` is at most `high`; -1 if there is none.
    fn last_until(&self, high: i64, first: i64) -> i64 {
        if high < first { -1 } else { (high - first) / self.period }
    }

    fn value(&self, class: usize, t: i64) -> Option<i64> {
        let class = i64::try_from(class).ok()?;
        t.checked_mul(self.period)?.checked_add(class)?.checked_add(self.low)
    }

    fn ranges(&self) -> impl Iterator<Item = (usize, Range)> {
        self.classes
            .iter()
            .enumerate()
            .flat_map(|(class, ranges)| ranges.iter().map(move |range| (class, *range)))
    }

    /// The intersection of two sets with the same pivot and period.
    pub(crate) fn intersect(mut self, other: &Self) -> Self {
        for (own, others) in self.classes.iter_mut().zip(&other.classes) {
            let mut both = Vec::new();
            for &(first, last) in own.iter() {
                for &(other_first, other_last) in others {
                    let first = first.max(other_first);
                    let last = match (last, other_last) {
                        (Some(a), Some(b)) => Some(a.min(b)),
                        (one, None) | (None, one) => one,
                    };
                    if last.is_none_or(|last| first <= last) {
                        both.push((first, last));
                    }
                }
            }
            *own = both;
        }
        self
    }

    /// Whether two sets with the same pivot and period are equal.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.classes == other.classes
    }

    /// The least solution.
    pub(crate) fn least(&self) -> Option<i64> {
        self.ranges().filter_map(|(class, (first, _))| self.value(class, first)).min()
    }

    /// All solutions, if they are at most `limit`.
    pub(crate) fn values(&self, limit: usize) -> Option<Vec<i64>> {
        let mut values = Vec::new();
        for (class, (first, last)) in self.ranges() {
            let last = last?;
            if last - first >= i64::try_from(limit).unwrap_or(i64::MAX) {
                return None;
            }
            for t in first..=last {
                values.push(self.value(class, t)?);
            }
            if values.len() > limit {
                return None;
            }
        }
        values.sort_unstable();
        Some(values)
    }

    /// The greatest solution; `None` if there is no greatest.
    pub(crate) fn greatest(&self) -> Option<i64> {
        let mut greatest = self.low;
        for (class, (_, last)) in self.ranges() {
            greatest = greatest.max(self.value(class, last?)?);
        }
        Some(greatest)
    }

    /// Whether the solutions are all values with one remainder between two bounds, of which the upper one is
    /// optional.
    fn is_range(&self, low: i64, high: Option<i64>, (modulus, remainder): (i64, i64)) -> bool {
        self.classes.iter().enumerate().all(|(class, ranges)| {
            let Some(start) = self.value(class, 0) else { return false };
            if start.rem_euclid(modulus) != remainder {
                return ranges.is_empty();
            }
            let first = if low <= start { 0 } else { (low - start - 1) / self.period + 1 };
            let last = high.map(|high| self.last_until(high, start));
            match ranges[..] {
                [] => last.is_some_and(|last| last < first),
                [range] => range == (first, last),
                _ => false,
            }
        })
    }

    /// The bounds that exclude a value whose distance from them is a multiple of the modulus.
    pub(crate) fn bounds(
        &self,
        least: i64,
        greatest: Option<i64>,
        modulus: i64,
    ) -> (Option<i64>, Option<i64>) {
        let least = (least >= self.low.saturating_add(modulus)).then_some(least);
        let is_below = |greatest: &i64| self.high.is_none_or(|high| greatest.saturating_add(modulus) <= high);
        (least, greatest.filter(is_below))
    }

    /// The simplest description.
    pub(crate) fn extent(&self) -> Extent {
        let Some(least) = self.least() else {
            return if self.ranges().next().is_none() { Extent::Empty } else { Extent::Other };
        };
        let everything = |residue| self.is_range(self.low, self.high, residue);
        if everything((1, 0)) {
            return Extent::All;
        }
        if let Some(values) = self.values(MAX_VALUES) {
            return Extent::Finite(values);
        }
        let greatest = self.greatest();
        let divisors = (1..=self.period).filter(|modulus| self.period % modulus == 0);
        for modulus in divisors {
            let remainder = least.rem_euclid(modulus);
            if !self.is_range(least, greatest, (modulus, remainder)) {
                continue;
            }
            let (least, greatest) = self.bounds(least, greatest, modulus);
            return Extent::Range { least, greatest, modulus, remainder };
        }
        Extent::Other
    }
}

impl Dims {
    /// A common period of the floors of goals; `None` if there is none, or the goals are too large.
    pub(crate) fn common_period(&self, goals: &[Goal]) -> Option<i64> {
        let mut period = 1;
        let mut size = 0;
        for goal in goals {
            period = common_multiple(period, self.period(goal.dim())?)?;
            size += i64::from(self.summary(goal.dim()).size) + 1;
        }
        (size.checked_mul(period)? <= MAX_WORK).then_some(period)
    }

    /// The exact solutions of goals in one variable, of which at least one has to hold.
    pub(crate) fn solutions(&mut self, goals: &[Goal], pivot: &Pivot, period: i64) -> Option<Solutions> {
        let sizes: usize = goals.iter().map(|goal| usize::from(self.summary(goal.dim()).size) + 1).sum();
        self.count_work(sizes.saturating_mul(usize::try_from(period).unwrap_or(1)));
        let Interval { low, high } = pivot.bounds;
        if low == i64::MIN {
            return None;
        }
        let mut solutions =
            Solutions { low, high: (high != i64::MAX).then_some(high), period, classes: Vec::new() };
        for class in 0..usize::try_from(period).ok()? {
            let start = solutions.value(class, 0)?;
            let variable = Piecewise::linear(start, period);
            let mut ranges = Vec::new();
            for goal in goals {
                let value = self.piecewise(goal.dim(), pivot, &variable)?;
                let wanted: &[Ordering] = match goal {
                    Goal::Zero(_) => &[Ordering::Equal],
                    Goal::NotPositive(_) => &[Ordering::Less, Ordering::Equal],
                };
                ranges.extend(value.where_sign(wanted)?);
            }
            let last = solutions.high.map(|high| solutions.last_until(high, start));
            let clipped = merge_ranges(ranges).into_iter().filter_map(|(first, end)| match last {
                None => Some((first, end)),
                Some(last) if first > last => None,
                Some(last) => Some((first, Some(end.map_or(last, |end| end.min(last))))),
            });
            solutions.classes.push(clipped.collect());
        }
        Some(solutions)
    }

    /// A period of the residues of all floors in a resolved dim.
    fn period(&self, dim: DimId) -> Option<i64> {
        match self.kind(dim) {
            None | Some(Kind::Constant(_) | Kind::Symbol(_) | Kind::Variable(_)) => Some(1),
            Some(Kind::Floor { numerator, denominator }) => {
                let divisor = self.as_constant(denominator).filter(|divisor| *divisor > 0)?;
                let period = self.period(numerator)?.checked_mul(divisor)?;
                (period <= MAX_PERIOD).then_some(period)
            }
            Some(Kind::Min(_) | Kind::Product(_) | Kind::Sum(_)) => self
                .parts(dim)
                .iter()
                .try_fold(1, |period, &part| common_multiple(period, self.period(part)?)),
        }
    }

    /// The dim as a function of `t`, where the pivot is `variable`.
    fn piecewise(&self, dim: DimId, pivot: &Pivot, variable: &Piecewise) -> Option<Piecewise> {
        match self.kind(dim) {
            None => Some(Piecewise::constant(i128::from(dim.inline_value()?))),
            Some(Kind::Constant(value)) => Some(Piecewise::constant(i128::from(value))),
            Some(Kind::Symbol(_)) => (pivot.factors[..] == [dim]).then(|| variable.clone()),
            Some(Kind::Variable(_)) => None,
            Some(Kind::Floor { numerator, denominator }) => {
                let divisor = self.as_constant(denominator).filter(|divisor| *divisor > 0)?;
                self.piecewise(numerator, pivot, variable)?.floor_div(divisor)
            }
            Some(Kind::Min(span)) => {
                let mut arguments = self.list(span).iter();
                let first = self.piecewise(*arguments.next()?, pivot, variable)?;
                arguments.try_fold(first, |least, argument| {
                    least.min(&self.piecewise(*argument, pivot, variable)?)
                })
            }
            Some(Kind::Product(span)) => {
                let mut factors: SmallVec<[DimId; 8]> = SmallVec::from_slice(self.list(span));
                let mut product = Piecewise::constant(1);
                while take_all(&mut factors, &pivot.factors) {
                    product = product.multiply(variable)?;
                }
                factors.iter().try_fold(product, |product, factor| {
                    product.multiply(&self.piecewise(*factor, pivot, variable)?)
                })
            }
            Some(Kind::Sum(span)) => {
                self.sum_terms(span).iter().try_fold(Piecewise::constant(0), |sum, term| {
                    sum.add_scaled(&self.piecewise(term.monomial, pivot, variable)?, term.coefficient)
                })
            }
        }
    }

    /// The smallest product of symbols of which all monomials of the goals may be powers.
    pub(crate) fn pivot(&self, goals: &[Goal], domain: &Domain) -> Option<Pivot> {
        let mut smallest: Option<SmallVec<[DimId; 4]>> = None;
        let mut stack: Vec<DimId> = goals.iter().map(|goal| goal.dim()).collect();
        let mut seen = std::collections::HashSet::new();
        while let Some(dim) = stack.pop() {
            if !seen.insert(dim) {
                continue;
            }
            let mut symbols: SmallVec<[DimId; 4]> = SmallVec::new();
            match self.kind(dim) {
                None | Some(Kind::Constant(_)) => {}
                Some(Kind::Variable(_)) => return None,
                Some(Kind::Symbol(_)) => symbols.push(dim),
                Some(Kind::Product(span)) => {
                    for &factor in self.list(span) {
                        if self.is_leaf(factor) { symbols.push(factor) } else { stack.push(factor) }
                    }
                }
                Some(Kind::Floor { .. } | Kind::Min(_) | Kind::Sum(_)) => stack.extend(self.parts(dim)),
            }
            if !symbols.is_empty() && smallest.as_ref().is_none_or(|known| symbols.len() < known.len()) {
                smallest = Some(symbols);
            }
        }
        let mut factors = smallest?;
        if factors.iter().all(|factor| *factor == factors[0]) {
            factors.truncate(1);
        }
        let bounds = factors
            .iter()
            .map(|&symbol| domain.bounds_of(self, symbol))
            .fold(Interval::point(1), Interval::mul);
        Some(Pivot { factors, bounds })
    }
}

/// Removes `parts` from a sorted list that contains them all; returns whether it does.
fn take_all(list: &mut SmallVec<[DimId; 8]>, parts: &[DimId]) -> bool {
    let mut rest = list.clone();
    for part in parts {
        match rest.binary_search(part) {
            Ok(at) => {
                rest.remove(at);
            }
            Err(_) => return false,
        }
    }
    *list = rest;
    true
}

/// The least common multiple of two numbers, up to [`MAX_PERIOD`].
pub(crate) fn common_multiple(a: i64, b: i64) -> Option<i64> {
    let common = i64::try_from(gcd(a.unsigned_abs(), b.unsigned_abs())).ok()?.max(1);
    (a / common).checked_mul(b).filter(|multiple| *multiple <= MAX_PERIOD)
}

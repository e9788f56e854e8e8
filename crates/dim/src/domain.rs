//! Domains: the admissible bindings of the leaves of dims.
//!
//! A domain contains bounds of single leaves, values of symbols in terms of others, and further conditions,
//! called facts.
//!
//! A symbol that is known to be divisible by a number is written as a multiple of a symbol without a name,
//! its quotient: for `h` divisible by 7, `h = 7*k`, so that `h//7` is `k` and `h*w - 49*(h//7)*(w//7)` has no
//! floor left. Results about quotients are translated back, see [`Domain::restore`].
//!
//! **Invariant:** the value of a symbol contains no symbol that has a value itself.
//!
//! A query about a few symbols uses the part of the domain that is connected with them by values and facts
//! (see [`Domain::connected_part`]), so its cost does not grow with the size of the model. The part is
//! limited to [`MAX_CONNECTED`] symbols and [`MAX_FACTS`] facts; further ones are not used.

use std::collections::{BTreeMap, BTreeSet};

use smallvec::SmallVec;

use crate::arena::Dims;
use crate::bounds::Interval;
use crate::condition::{Condition, Relation};
use crate::id::DimId;
use crate::solutions::Extent;

/// Maximum number of symbols connected with a query.
const MAX_CONNECTED: usize = 64;
/// Maximum number of facts connected with a query.
const MAX_FACTS: usize = 48;
/// Maximum divisor of a symbol that is written as a multiple of its quotient.
pub(crate) const MAX_DIVISOR: i64 = 1 << 12;

/// The bindings over which a condition is decided.
///
/// By default every named symbol is at least 1, because callers do not mean empty tensors, and anonymous
/// extents are at least 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    least: i64,
    starts: BTreeMap<DimId, i64>,
    bounds: BTreeMap<DimId, Interval>,
    values: BTreeMap<DimId, DimId>,
    /// The symbols without a name that are quotients of another symbol.
    quotients: BTreeMap<DimId, Quotient>,
    facts: Vec<Fact>,
    /// The positions of the facts about each symbol.
    mentions: BTreeMap<DimId, Vec<usize>>,
    /// Whether a fact is known to hold for no binding.
    contradictory: bool,
}

/// A condition that holds, with its symbols.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fact {
    condition: Condition,
    symbols: SmallVec<[DimId; 4]>,
}

/// `symbol = divisor*quotient + remainder`, with `0 <= remainder < divisor`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Quotient {
    pub(crate) symbol: DimId,
    pub(crate) divisor: i64,
    pub(crate) remainder: i64,
}

/// The symbols of both sides.
pub fn symbols_of(dims: &Dims, condition: Condition) -> SmallVec<[DimId; 4]> {
    let mut symbols = dims.symbols_of(condition.left);
    symbols.extend(dims.symbols_of(condition.right));
    symbols.sort_unstable();
    symbols.dedup();
    symbols
}

impl Default for Domain {
    fn default() -> Self {
        Self::nonempty()
    }
}

impl Domain {
    /// Every named symbol is at least 1.
    #[must_use]
    pub const fn nonempty() -> Self {
        Self::starting_at(1)
    }

    /// Every named symbol is at least 0.
    #[must_use]
    pub const fn extents() -> Self {
        Self::starting_at(0)
    }

    const fn starting_at(least: i64) -> Self {
        Self {
            least,
            starts: BTreeMap::new(),
            bounds: BTreeMap::new(),
            values: BTreeMap::new(),
            quotients: BTreeMap::new(),
            facts: Vec::new(),
            mentions: BTreeMap::new(),
            contradictory: false,
        }
    }

    /// Restricts a symbol or variable to values from `least` on. Weaker bounds than the known ones are
    /// ignored.
    #[must_use]
    pub fn at_least(mut self, leaf: DimId, least: i64) -> Self {
        self.restrict(leaf, Interval { low: least, high: i64::MAX });
        self
    }

    /// Restricts a symbol or variable to values up to `most`.
    #[must_use]
    pub fn at_most(mut self, leaf: DimId, most: i64) -> Self {
        self.restrict(leaf, Interval { low: i64::MIN, high: most });
        self
    }

    /// Replaces the default lower bound of a symbol, for instance by 0 if it may be empty.
    #[must_use]
    pub fn from(mut self, symbol: DimId, least: i64) -> Self {
        self.starts.insert(symbol, least);
        self
    }

    fn restrict(&mut self, leaf: DimId, bounds: Interval) {
        self.bounds.entry(leaf).and_modify(|known| *known = known.intersect(bounds)).or_insert(bounds);
    }

    /// Adds a condition that holds. A condition that bounds or determines one symbol becomes its bound or
    /// value.
    pub fn assume(&mut self, dims: &mut Dims, condition: Condition) {
        let condition = self.substituted(dims, condition);
        let Condition { relation, left, right } = condition;
        let (a, b) = (dims.as_constant(left), dims.as_constant(right));
        let symbols = (dims.as_symbol(left).is_some(), dims.as_symbol(right).is_some());
        match (relation, symbols, a, b) {
            (Relation::AtMost, (true, _), _, Some(most)) => {
                self.restrict(left, Interval { low: i64::MIN, high: most });
            }
            (Relation::AtMost, (_, true), Some(least), _) => {
                self.restrict(right, Interval { low: least, high: i64::MAX });
            }
            (Relation::Equal, (true, _), ..) if !dims.symbols_of(right).contains(&left) => {
                self.set(dims, left, right);
            }
            (Relation::Equal, (_, true), ..) if !dims.symbols_of(left).contains(&right) => {
                self.set(dims, right, left);
            }
            (Relation::Divides, _, Some(divisor), _)
                if let Some(quotient) = dims.divided_symbol(divisor, right) =>
            {
                self.divide(dims, quotient);
            }
            (
                Relation::Equal
                | Relation::AtMost
                | Relation::OneOrEqual
                | Relation::Broadcast
                | Relation::Divides,
                ..,
            ) => {
                self.restrict_to_solutions(dims, condition);
                self.insert(dims, condition);
            }
        }
    }

    /// Whether a bound, a value or a fact about a symbol is known.
    pub fn restricts(&self, symbol: DimId) -> bool {
        self.bounds.contains_key(&symbol)
            || self.values.contains_key(&symbol)
            || self.mentions.contains_key(&symbol)
    }

    /// Adds a fact, unless it is known.
    fn insert(&mut self, dims: &Dims, condition: Condition) {
        let symbols = symbols_of(dims, condition);
        let Some(first) = symbols.first() else {
            self.contradictory |= dims.holds(condition, &[]) == Some(false);
            return;
        };
        let mut known = self.mentions.get(first).into_iter().flatten();
        if known.any(|&at| self.facts[at].condition == condition) {
            return;
        }
        for &symbol in &symbols {
            self.mentions.entry(symbol).or_default().push(self.facts.len());
        }
        self.facts.push(Fact { condition, symbols });
    }

    /// Restricts the symbol of a condition in one symbol to the range of its solutions.
    fn restrict_to_solutions(&mut self, dims: &mut Dims, condition: Condition) {
        let Some(goals) = dims.alternatives(condition) else { return };
        let Some(pivot) = dims.pivot(&goals, self) else { return };
        let [symbol] = pivot.factors[..] else { return };
        let Some(period) = dims.common_period(&goals) else { return };
        let Some(solutions) = dims.solutions(&goals, &pivot, period) else { return };
        match solutions.least() {
            Some(least) => {
                let high = solutions.greatest().unwrap_or(i64::MAX);
                self.restrict(symbol, Interval { low: least, high });
            }
            None => self.contradictory |= solutions.extent() == Extent::Empty,
        }
    }

    /// Writes a symbol as a multiple of a new quotient, plus the remainder.
    fn divide(&mut self, dims: &mut Dims, quotient: Quotient) {
        let Quotient { symbol, divisor, remainder } = quotient;
        let Interval { low, high } = self.bounds_of(dims, symbol);
        // Extents are not negative, so the differences do not overflow.
        let least = (low.max(0) - remainder + divisor - 1).div_euclid(divisor);
        let most = if high == i64::MAX { high } else { (high - remainder).div_euclid(divisor) };
        if most < least {
            self.contradictory = true;
            return;
        }
        let [scale, shift] = [divisor, remainder].map(|number| dims.constant(number));
        let leaf = dims.bounded(Interval { low: least, high: most });
        let multiple = dims.mul(scale, leaf);
        let value = dims.add(multiple, shift);
        self.quotients.insert(leaf, quotient);
        self.set(dims, symbol, value);
    }

    /// The quotient that a symbol without a name is.
    pub(crate) fn quotient(&self, leaf: DimId) -> Option<Quotient> {
        self.quotients.get(&leaf).copied()
    }

    /// Whether the domain writes a symbol as a multiple of a quotient.
    pub(crate) fn is_divided(&self, symbol: DimId) -> bool {
        self.quotients.values().any(|quotient| quotient.symbol == symbol)
    }

    /// Whether the domain writes some symbol as a multiple of a quotient.
    pub(crate) fn has_quotients(&self) -> bool {
        !self.quotients.is_empty()
    }

    /// Sets the value of a symbol, and keeps the symbol's bounds as conditions on the value.
    fn set(&mut self, dims: &mut Dims, symbol: DimId, value: DimId) {
        if let Some(value) = dims.as_constant(value) {
            self.restrict(symbol, Interval::point(value));
            return;
        }
        let Interval { low, high } = self.bounds_of(dims, symbol);
        for other in self.values.values_mut() {
            if dims.symbols_of(*other).contains(&symbol) {
                *other = dims.substitute(*other, &[(symbol, value)]);
            }
        }
        self.values.insert(symbol, value);
        for at in self.mentions.remove(&symbol).unwrap_or_default() {
            let condition = self.facts[at].condition.map(|side| dims.substitute(side, &[(symbol, value)]));
            // The old fact still holds, and stays reachable through its other symbols.
            self.insert(dims, condition);
        }
        let known = dims.summary(value).bounds;
        if low > known.low {
            let low = dims.constant(low);
            self.assume(dims, Condition::new(Relation::AtMost, low, value));
        }
        if high < known.high {
            let high = dims.constant(high);
            self.assume(dims, Condition::new(Relation::AtMost, value, high));
        }
    }

    /// The known values of these symbols.
    fn values_among(&self, dims: &mut Dims, symbols: &[DimId]) -> Vec<(DimId, DimId)> {
        let mut values = Vec::new();
        for &symbol in symbols {
            if let Some(&value) = self.values.get(&symbol) {
                values.push((symbol, value));
            } else if let Some(value) = self.bounds_of(dims, symbol).single() {
                values.push((symbol, dims.constant(value)));
            }
        }
        values
    }

    /// Substitutes the known values of symbols in a dim.
    pub(crate) fn substitute(&self, dims: &mut Dims, dim: DimId) -> DimId {
        let mut dim = dims.resolve(dim);
        // A value may contain symbols that have only one possible value.
        for _ in 0..2 {
            let symbols = dims.symbols_of(dim);
            let values = self.values_among(dims, &symbols);
            if values.is_empty() {
                break;
            }
            dim = dims.substitute(dim, &values);
        }
        dim
    }

    /// Substitutes the known values of symbols in a condition.
    pub(crate) fn substituted(&self, dims: &mut Dims, condition: Condition) -> Condition {
        condition.map(|side| self.substitute(dims, side))
    }

    /// The values of the domain's symbols, each without symbols that have a value.
    pub(crate) fn values(&self, dims: &mut Dims) -> Vec<(DimId, DimId)> {
        let symbols: Vec<DimId> = self.values.keys().chain(self.bounds.keys()).copied().collect();
        let mut values = self.values_among(dims, &symbols);
        values.sort_unstable();
        values.dedup();
        for (_, value) in &mut values {
            *value = self.substitute(dims, *value);
        }
        values
    }

    /// The part of the domain that is connected with a query by values and facts.
    pub fn connected_part(&self, dims: &Dims, symbols: &[DimId]) -> Self {
        let mut part = Self { contradictory: self.contradictory, ..Self::starting_at(self.least) };
        let (mut queue, mut seen) = (symbols.to_vec(), BTreeSet::new());
        let mut facts = BTreeSet::new();
        while let Some(symbol) = queue.pop() {
            if seen.len() >= MAX_CONNECTED || !seen.insert(symbol) {
                continue;
            }
            if let Some(&start) = self.starts.get(&symbol) {
                part.starts.insert(symbol, start);
            }
            if let Some(&bounds) = self.bounds.get(&symbol) {
                part.bounds.insert(symbol, bounds);
            }
            if let Some(&value) = self.values.get(&symbol) {
                part.values.insert(symbol, value);
                queue.extend(dims.symbols_of(value));
            }
            if let Some(&quotient) = self.quotients.get(&symbol) {
                part.quotients.insert(symbol, quotient);
                // A result about a quotient of a quotient is translated back in steps.
                queue.push(quotient.symbol);
            }
            for &at in self.mentions.get(&symbol).into_iter().flatten() {
                if facts.len() < MAX_FACTS && facts.insert(at) {
                    queue.extend_from_slice(&self.facts[at].symbols);
                }
            }
        }
        for at in facts {
            part.insert(dims, self.facts[at].condition);
        }
        part
    }

    /// The facts.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = Condition> {
        self.facts.iter().map(|fact| fact.condition)
    }

    /// The range of a leaf.
    pub(crate) fn bounds_of(&self, dims: &Dims, leaf: DimId) -> Interval {
        let mut bounds = dims.summary(leaf).bounds;
        if dims.is_named(leaf) {
            bounds.low = self.starts.get(&leaf).copied().unwrap_or(self.least).max(0);
        }
        self.bounds.get(&leaf).map_or(bounds, |known| bounds.intersect(*known))
    }

    /// Whether the bounds of single leaves exclude all bindings.
    pub(crate) fn is_empty(&self, dims: &Dims) -> bool {
        self.contradictory
            || self.bounds.keys().any(|leaf| {
                let Interval { low, high } = self.bounds_of(dims, *leaf);
                low > high
            })
    }
}

impl Dims {
    /// The least value of a leaf in a domain.
    pub(crate) fn least_of(&self, leaf: DimId, domain: &Domain) -> i64 {
        domain.bounds_of(self, leaf).low
    }
}

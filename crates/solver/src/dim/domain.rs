//! Admissible bindings: what a condition may take for granted about the leaves of dims.
//!
//! A domain holds bounds of single leaves, values of symbols in terms of others, and further conditions.
//! **Invariant:** the value of a symbol mentions no symbol that has a value itself.

use super::arena::Dims;
use super::bounds::Interval;
use super::condition::{Condition, Relation};
use super::id::DimId;
use smallvec::SmallVec;

/// The bindings over which a condition is decided.
///
/// By default every named symbol is at least 1, because a caller does not mean an empty tensor, and anonymous extents are
/// at least 0.
#[derive(Clone, Debug)]
pub struct Domain {
    least: i64,
    starts: Vec<(DimId, i64)>,
    bounds: Vec<(DimId, Interval)>,
    values: Vec<(DimId, DimId)>,
    facts: Vec<Fact>,
}

/// A condition that holds, and the symbols that occur in it.
#[derive(Clone, Debug)]
struct Fact {
    condition: Condition,
    symbols: SmallVec<[DimId; 4]>,
}

impl Fact {
    fn new(dims: &Dims, condition: Condition) -> Self {
        let mut symbols = dims.symbols_of(condition.left);
        symbols.extend(dims.symbols_of(condition.right));
        Self { condition, symbols }
    }
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
        Self { least, starts: Vec::new(), bounds: Vec::new(), values: Vec::new(), facts: Vec::new() }
    }

    /// Restricts a symbol or variable to values from `least` on. Weaker bounds than the known ones are ignored.
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

    /// Replaces the lower bound that a symbol has by default, for instance by 0 where it may be empty.
    #[must_use]
    pub fn from(mut self, symbol: DimId, least: i64) -> Self {
        self.starts.retain(|(leaf, _)| *leaf != symbol);
        self.starts.push((symbol, least));
        self
    }

    fn restrict(&mut self, leaf: DimId, bounds: Interval) {
        match self.bounds.iter_mut().find(|(other, _)| *other == leaf) {
            Some((_, known)) => *known = known.intersect(bounds),
            None => self.bounds.push((leaf, bounds)),
        }
    }

    /// Adds a condition that holds. Bounds and values of single symbols are recognised.
    pub fn assume(&mut self, dims: &mut Dims, condition: Condition) {
        let Condition { relation, left, right } = condition;
        let (left, right) = (self.substitute(dims, left), self.substitute(dims, right));
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
            (
                Relation::Equal
                | Relation::AtMost
                | Relation::OneOrEqual
                | Relation::Broadcast
                | Relation::Divides,
                ..,
            ) => {
                let condition = Condition::new(relation, left, right);
                if self.facts.iter().all(|fact| fact.condition != condition) {
                    self.facts.push(Fact::new(dims, condition));
                }
            }
        }
    }

    /// Fixes a symbol, and keeps its bounds as conditions on the value.
    fn set(&mut self, dims: &mut Dims, symbol: DimId, value: DimId) {
        let Interval { low, high } = self.bounds_of(dims, symbol);
        for (_, other) in &mut self.values {
            *other = dims.substitute(*other, &[(symbol, value)]);
        }
        for fact in &mut self.facts {
            if fact.symbols.contains(&symbol) {
                let Condition { relation, left, right } = fact.condition;
                let values = [(symbol, value)];
                let (left, right) = (dims.substitute(left, &values), dims.substitute(right, &values));
                *fact = Fact::new(dims, Condition::new(relation, left, right));
            }
        }
        self.values.push((symbol, value));
        for (relation, bound) in [(Relation::AtMost, high), (Relation::Equal, low)] {
            if bound == i64::MIN || bound == i64::MAX || dims.as_constant(value).is_some() {
                continue;
            }
            let bound = dims.constant(bound);
            let (left, right) = if relation == Relation::AtMost { (value, bound) } else { (bound, value) };
            self.assume(dims, Condition::new(Relation::AtMost, left, right));
        }
    }

    /// The dim with the known values of symbols put in.
    pub(super) fn substitute(&self, dims: &mut Dims, dim: DimId) -> DimId {
        let known = self.values(dims);
        if known.is_empty() { dims.resolve(dim) } else { dims.substitute(dim, &known) }
    }

    /// The condition with the known values of symbols put in.
    pub(super) fn substituted(&self, dims: &mut Dims, condition: Condition) -> Condition {
        Condition {
            relation: condition.relation,
            left: self.substitute(dims, condition.left),
            right: self.substitute(dims, condition.right),
        }
    }

    /// The symbols that have a value, with it.
    pub(super) fn values(&self, dims: &mut Dims) -> Vec<(DimId, DimId)> {
        let mut values = self.values.clone();
        for (leaf, _) in &self.bounds {
            if let Some(value) = self.bounds_of(dims, *leaf).single() {
                values.push((*leaf, dims.constant(value)));
            }
        }
        values
    }

    /// The conditions on any of these symbols that are neither bounds nor values of single symbols.
    pub(super) fn conditions_on(&self, symbols: &[DimId]) -> impl Iterator<Item = Condition> {
        let mentioned = |fact: &&Fact| fact.symbols.iter().any(|symbol| symbols.contains(symbol));
        self.facts.iter().filter(mentioned).map(|fact| fact.condition)
    }

    /// What a leaf ranges over.
    pub(super) fn bounds_of(&self, dims: &Dims, leaf: DimId) -> Interval {
        let mut bounds = dims.summary(leaf).bounds;
        if dims.as_symbol(leaf).is_some() {
            let start = self.starts.iter().find(|(symbol, _)| *symbol == leaf);
            bounds.low = start.map_or(self.least, |(_, start)| *start).max(0);
        }
        let known = self.bounds.iter().find(|(other, _)| *other == leaf);
        known.map_or(bounds, |(_, known)| bounds.intersect(*known))
    }

    /// Whether no binding is admissible, as far as the bounds of single leaves tell.
    pub(super) fn is_empty(&self, dims: &Dims) -> bool {
        self.bounds.iter().any(|(leaf, _)| {
            let Interval { low, high } = self.bounds_of(dims, *leaf);
            low > high
        })
    }
}

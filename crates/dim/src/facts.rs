//! Facts: assumptions about dims in one case of a model.
//!
//! A fact states that a dim is not zero, or that it is at least zero. The arena stores the facts, but normal
//! forms do not depend on them: only [`Dims::compare`] and [`Dims::bounds`] use them, for queries that are
//! undecided otherwise. So dims that are built under one set of facts have the same meaning under another.
//!
//! Incomplete: a fact decides a query only if the two dims differ by a constant, up to the sign.

use crate::arena::Dims;
use crate::bounds::Interval;
use crate::decide::Decision;
use crate::id::DimId;

/// Maximum number of facts. Further ones are dropped, which only loses precision.
const MAX_FACTS: usize = 16;

/// Maximum number of times that the lower bound is raised past an excluded value.
const MAX_EXCLUDED: usize = 4;

/// Assumptions about dims.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    nonzero: Vec<DimId>,
    non_negative: Vec<DimId>,
}

impl Facts {
    pub fn is_empty(&self) -> bool {
        self.nonzero.is_empty() && self.non_negative.is_empty()
    }

    /// Assumes that the dim is not zero.
    pub fn add_nonzero(&mut self, dim: DimId) {
        if self.nonzero.len() < MAX_FACTS && !self.nonzero.contains(&dim) {
            self.nonzero.push(dim);
        }
    }

    /// Assumes that the dim is zero or more.
    pub fn add_non_negative(&mut self, dim: DimId) {
        if self.non_negative.len() < MAX_FACTS && !self.non_negative.contains(&dim) {
            self.non_negative.push(dim);
        }
    }

    /// The facts with every dim replaced.
    pub fn map(&self, mut replace: impl FnMut(DimId) -> DimId) -> Self {
        Self {
            nonzero: self.nonzero.iter().map(|dim| replace(*dim)).collect(),
            non_negative: self.non_negative.iter().map(|dim| replace(*dim)).collect(),
        }
    }
}

impl Dims {
    /// Replaces the facts, and returns the earlier ones.
    pub fn set_facts(&mut self, facts: Facts) -> Facts {
        std::mem::replace(&mut self.facts, facts)
    }

    /// Evaluates a function under these facts and restores the current ones.
    pub fn with_facts<T>(&mut self, facts: Facts, evaluate: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.set_facts(facts);
        let result = evaluate(self);
        self.facts = before;
        result
    }

    /// The dims that are zero or more.
    pub fn non_negative_facts(&self) -> &[DimId] {
        &self.facts.non_negative
    }

    /// Whether the facts are proved to contradict each other.
    pub fn facts_contradict(&mut self) -> bool {
        let Facts { nonzero, non_negative } = self.facts.clone();
        let empty = |interval: Interval| interval.low > interval.high;
        nonzero
            .iter()
            .any(|dim| self.as_constant(*dim) == Some(0) || self.interval_by_facts(*dim).single() == Some(0))
            || non_negative.iter().any(|dim| {
                let interval = self.interval_by_facts(*dim);
                empty(interval) || interval.high < 0
            })
    }

    /// The bounds of a resolved dim under the facts.
    pub(crate) fn interval_by_facts(&mut self, dim: DimId) -> Interval {
        let mut interval = self.summary(dim).bounds;
        if self.facts.is_empty() || self.as_constant(dim).is_some() {
            return interval;
        }
        let Facts { nonzero, non_negative } = self.facts.clone();
        for fact in non_negative {
            let difference = self.sub(dim, fact);
            if let Some(low) = self.as_constant(difference) {
                interval.low = interval.low.max(low);
            }
            let sum = self.add(dim, fact);
            if let Some(high) = self.as_constant(sum) {
                interval.high = interval.high.min(high);
            }
        }
        for _ in 0..MAX_EXCLUDED {
            let low = self.constant(interval.low);
            let excluded = interval.low != i64::MIN && self.is_excluded(&nonzero, dim, low);
            if !excluded {
                break;
            }
            interval.low += 1;
        }
        interval
    }

    /// Whether a fact implies that two dims differ.
    fn is_excluded(&mut self, nonzero: &[DimId], a: DimId, b: DimId) -> bool {
        let (one, other) = (self.sub(a, b), self.sub(b, a));
        nonzero.iter().any(|fact| *fact == one || *fact == other)
    }

    /// Decides two resolved dims by the facts.
    pub(crate) fn compare_by_facts(&mut self, a: DimId, b: DimId) -> Decision {
        if self.facts.is_empty() {
            return Decision::Undecided;
        }
        let nonzero = self.facts.nonzero.clone();
        if self.is_excluded(&nonzero, a, b) {
            return Decision::Different;
        }
        let difference = self.sub(a, b);
        let interval = self.interval_by_facts(difference);
        let is_different =
            !interval.contains(0) || self.interval_by_facts(a).is_disjoint(self.interval_by_facts(b));
        match (is_different, interval.single()) {
            (true, _) => Decision::Different,
            (false, Some(0)) => Decision::Equal,
            (false, Some(_) | None) => Decision::Undecided,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_decide_dims_that_differ_from_them_by_a_constant() {
        let mut dims = Dims::new();
        let k = dims.symbol("k");
        let (one, four) = (dims.constant(1), dims.constant(4));
        assert_eq!(dims.compare(k, one), Decision::Undecided);
        let mut facts = Facts::default();
        let not_one = dims.sub(k, one);
        facts.add_nonzero(not_one);
        facts.add_nonzero(k);
        dims.set_facts(facts);
        assert_eq!(dims.compare(k, one), Decision::Different);
        assert_eq!(dims.bounds(k), (Some(2), None));
        assert_eq!(dims.compare(k, four), Decision::Undecided);

        let mut facts = Facts::default();
        let at_most_three = dims.parse("3 - k").unwrap();
        facts.add_non_negative(at_most_three);
        dims.set_facts(facts);
        assert_eq!(dims.compare(k, four), Decision::Different);
        assert_eq!(dims.bounds(k), (Some(0), Some(3)));
        assert!(!dims.facts_contradict());
        let at_least_four = dims.parse("k - 4").unwrap();
        dims.facts.add_non_negative(at_least_four);
        assert!(dims.facts_contradict());
        dims.set_facts(Facts::default());
        assert_eq!(dims.compare(k, four), Decision::Undecided);
    }
}

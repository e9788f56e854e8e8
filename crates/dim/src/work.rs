//! Counted work, which bounds examinations.
//!
//! The arena counts the terms that its operations visit: those that are interned, bounded, merged into
//! minima, solved and evaluated. An examination ends as undecided beyond [`MAX_QUERY`] terms, one proof finds
//! nothing beyond [`MAX_PROOF`], and all examinations of one pass over a model share a total that grows with
//! the model. Beyond a limit on all work of the pass, products and minima are unknown, as for results that
//! are too large. The counts depend on nothing except the model, so the results do not either.

use crate::arena::Dims;

/// Maximum number of visited terms of one proof.
pub(crate) const MAX_PROOF: u64 = 1 << 18;
/// Maximum number of visited terms of one examination.
const MAX_QUERY: u64 = 1 << 18;
/// Maximum number of visited terms of all examinations of a model without nodes.
const MAX_TOTAL: u64 = 1 << 20;
/// Number of terms by which each node of a model raises the total.
const NODE_SHARE: u64 = 1 << 14;
/// Maximum number of all visited terms, as a multiple of those of examinations.
const MAX_SHARE: u64 = 4;

/// The counted work of an arena.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// The number of visited terms.
    visited: u64,
    /// The number of terms that examinations visited.
    examined: u64,
    /// Maximum of `examined`.
    limit: u64,
    /// The number of visited terms beyond which products and minima are unknown.
    end: u64,
    /// Whether an examination was given up.
    gave_up: bool,
}

impl Default for Work {
    fn default() -> Self {
        Self { visited: 0, examined: 0, limit: MAX_TOTAL, end: MAX_SHARE * MAX_TOTAL, gave_up: false }
    }
}

/// A budget of one examination, with those that it needs.
#[derive(Debug)]
pub(crate) struct Effort {
    /// Remaining number of nested examinations.
    examinations: u32,
    /// The number of visited terms at which it ends.
    end: u64,
}

impl Effort {
    /// Spends one examination; `None` if the budget is spent.
    pub(crate) fn spend(&mut self, dims: &mut Dims) -> Option<()> {
        if dims.work.visited > self.end {
            dims.work.gave_up = true;
            return None;
        }
        self.examinations = self.examinations.checked_sub(1)?;
        Some(())
    }
}

impl Dims {
    /// Limits the work of a pass over a model in proportion to its number of nodes.
    pub fn limit_work(&mut self, nodes: usize) {
        let nodes = u64::try_from(nodes).unwrap_or(u64::MAX);
        let limit = NODE_SHARE.saturating_mul(nodes).saturating_add(MAX_TOTAL);
        self.work = Work { limit, end: limit.saturating_mul(MAX_SHARE), ..Work::default() };
    }

    /// Limits the work of an arena for one proof.
    pub(crate) fn limit_to_proof(&mut self) {
        self.work.end = 2 * MAX_PROOF;
    }

    /// Whether products and minima are unknown from here on.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.work.visited > self.work.end
    }

    /// Whether an examination was given up.
    pub fn has_given_up_proofs(&self) -> bool {
        self.work.gave_up
    }

    /// Counts visited terms.
    pub(crate) fn count_work(&mut self, terms: usize) {
        self.work.visited = self.work.visited.saturating_add(u64::try_from(terms).unwrap_or(u64::MAX));
    }

    /// The number of visited terms.
    pub(crate) fn visited(&self) -> u64 {
        self.work.visited
    }

    /// Evaluates a function with the budget of one examination.
    pub(crate) fn with_effort<T>(&mut self, evaluate: impl FnOnce(&mut Self, &mut Effort) -> T) -> T {
        let start = self.work.visited;
        let left = self.work.limit.saturating_sub(self.work.examined).min(MAX_QUERY);
        let mut effort = Effort { examinations: 192, end: start.saturating_add(left) };
        let result = evaluate(self, &mut effort);
        self.work.examined += self.work.visited - start;
        result
    }

    /// Counts the work of another arena as that of this one.
    pub(crate) fn count_work_of(&mut self, other: &Self) {
        self.work.visited = self.work.visited.saturating_add(other.work.visited);
    }
}

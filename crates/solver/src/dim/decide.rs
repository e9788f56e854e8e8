//! What can be said about two dims for all values of their symbols.

use super::arena::{DimId, Dims};

/// Whether two dims are the same number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Decision {
    /// Whatever the symbols are.
    Equal,
    /// For no value of the symbols.
    Different,
    /// It depends on the symbols, or no proof was found.
    Undecided,
}

impl Dims {
    /// Whether two dims are equal always, never, or undecided.
    pub fn compare(&mut self, a: DimId, b: DimId) -> Decision {
        let (a, b) = (self.resolve(a), self.resolve(b));
        if a == b { Decision::Equal } else { Decision::Undecided }
    }

    /// Whether the dim is at least 1, whatever the symbols are.
    pub fn is_positive(&mut self, dim: DimId) -> bool {
        self.bounds(dim).0.is_some_and(|low| low > 0)
    }

    /// Whether the dim is never 0.
    pub fn is_nonzero(&mut self, dim: DimId) -> bool {
        self.compare(dim, DimId::ZERO) == Decision::Different
    }

    /// Whether the dim may be 1.
    pub fn is_one_possible(&mut self, dim: DimId) -> bool {
        self.compare(dim, DimId::ONE) != Decision::Different
    }
}

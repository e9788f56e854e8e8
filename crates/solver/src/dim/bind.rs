//! Anonymous variables: binding, resolving, substituting.

use super::arena::{DimId, Dims};
use smallvec::SmallVec;

/// What came of binding a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bind {
    /// The variable now stands for the value.
    Bound,
    /// Both were the same dim already.
    Same,
    /// The variable occurs in the value, and the two are different: nothing was bound.
    Occurs,
    /// The first dim does not resolve to an unbound anonymous variable: nothing was bound.
    Rigid,
    /// The variable is an extent and the value is always negative: nothing was bound.
    Negative,
}

impl Dims {
    /// Sets an anonymous variable to a dim. Named symbols are never bound.
    pub fn bind(&mut self, _variable: DimId, _value: DimId) -> Bind {
        Bind::Rigid
    }

    /// The dim with all bound variables replaced.
    pub fn resolve(&mut self, dim: DimId) -> DimId {
        self.memo(dim).unwrap_or(dim)
    }

    /// The dim with `values` in the place of symbols or anonymous variables, all at once.
    pub fn substitute(&mut self, dim: DimId, _values: &[(DimId, DimId)]) -> DimId {
        dim
    }

    /// The named symbols that are mentioned, in order of first appearance in the arena.
    #[must_use]
    pub fn symbols_of(&self, _dim: DimId) -> SmallVec<[DimId; 4]> {
        SmallVec::new()
    }

    /// The unbound anonymous variables that are mentioned, in order of creation.
    #[must_use]
    pub fn variables_of(&self, _dim: DimId) -> SmallVec<[DimId; 4]> {
        SmallVec::new()
    }
}

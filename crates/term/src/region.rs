//! Regions: the lifetimes of references and bounds.
//!
//! **Invariant:** regions are small values, never interned.

use crate::binder::{BoundVar, Universe, VarKind};
use crate::family::TypeFamily;
use crate::meta::{Flags, Meta, TermError};
use crate::ty::{ErrorProof, InferVar, Placeholder};

/// A region. `'a` outlives `'b` if `'a` includes `'b`.
#[derive(PartialEq, Eq, Hash, Debug)]
pub enum Region<F: TypeFamily> {
    /// The region that outlives all others.
    Static,
    /// A region erased after checking: equal to every region.
    Erased,
    /// A lifetime parameter, or the replacement of a bound region.
    Placeholder(Placeholder<F::Name>),
    /// A variable.
    Infer(InferVar),
    /// A variable of an enclosing binder.
    Bound(BoundVar),
    /// The error region: relates to every region.
    Error(ErrorProof),
}

impl<F: TypeFamily> Clone for Region<F> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<F: TypeFamily> Copy for Region<F> {}

impl<F: TypeFamily> Region<F> {
    /// Creates the lifetime parameter `name`.
    #[must_use]
    pub fn param(name: F::Name) -> Self {
        Self::Placeholder(Placeholder::named(name))
    }

    /// Returns the metadata of the region as an argument.
    #[inline]
    pub fn meta(self) -> Result<Meta, TermError> {
        match self.leaf() {
            Some(leaf) => leaf.meta(VarKind::Region),
            None => Ok(Meta::leaf(Flags::FREE_REGION)),
        }
    }

    /// Returns the universe of a placeholder, and the root universe for all other regions.
    #[must_use]
    pub fn placeholder_universe(self) -> Universe {
        match self {
            Self::Placeholder(placeholder) => placeholder.universe,
            Self::Static | Self::Erased | Self::Infer(_) | Self::Bound(_) | Self::Error(_) => Universe::ROOT,
        }
    }
}

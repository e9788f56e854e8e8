//! Claims: declared shapes that are compared with derived ones. See [`crate::analysis::claims`].

use crate::dim::DimId;
use crate::program::id::{DeclarationKind, ValueId};

/// A declared extent that differs from the derived one as an expression over the symbols of inputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Claim {
    pub(crate) value: ValueId,
    pub(crate) declared_in: DeclarationKind,
    pub(crate) axis: usize,
    pub(crate) declared: DimId,
    pub(crate) derived: DimId,
    /// The two extents whose broadcast is `derived`, if it is one.
    pub(crate) broadcast: Option<(DimId, DimId)>,
}

/// Whether readers of a value see its declared extents if the derived ones are unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Trust {
    /// They see the derived ones.
    #[default]
    Derived,
    /// They see the declared ones.
    Assumed,
}

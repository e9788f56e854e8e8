//! Declared extents that differ from derived ones.

use crate::dim::DimId;
use crate::program::{DeclarationKind, ValueId};

/// A declared extent that differs from the derived one as an expression over the symbols of inputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Claim {
    pub(crate) value: ValueId,
    pub(crate) declared_in: DeclarationKind,
    pub(crate) axis: usize,
    pub(crate) declared: DimId,
    pub(crate) derived: DimId,
    /// The two extents of which `derived` is the broadcast, where it is one.
    pub(crate) broadcast: Option<(DimId, DimId)>,
}

/// Whether readers of a value see its declared shape where the derived one is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Trust {
    /// They see what is derived.
    #[default]
    Derived,
    /// They see the declared extents where the derived ones are unknown.
    Assumed,
}

//! Claims: declared shapes that are compared with derived ones. See [`crate::analysis::claims`].

use typeloom_dim::DimId;

use crate::program::id::{DeclarationKind, ValueId};
use crate::solve_error::{ClaimWeight, NamedAxis};

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
    /// The axis with the extent `declared`, if the declaration has a name that no input declares.
    pub(crate) named: Option<NamedAxis>,
    pub(crate) weight: ClaimWeight,
}

/// Whether readers of a value see its declared extents if the derived ones are unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Trust {
    /// They see the derived ones.
    #[default]
    Derived,
    /// They see the declared ones.
    Assumed,
    /// They see declared numbers and names, but no texts with operators: the model has false ones.
    AssumedNames,
}

impl Trust {
    /// Whether readers see declared extents.
    pub(crate) fn assumes(self) -> bool {
        match self {
            Self::Derived => false,
            Self::Assumed | Self::AssumedNames => true,
        }
    }
}

//! The state of error recovery. See [`crate::analysis::recovery`].

use typeloom_dim::DimId;

use crate::elem::Elem;
use crate::map::Map;
use crate::program::id::ValueId;

/// The purpose of a run of rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Purpose {
    /// Find errors.
    #[default]
    Check,
    /// Keep the knowledge about a node in error.
    Recover,
}

/// The state of error recovery; empty in a model without errors.
#[derive(Debug, Default)]
pub(crate) struct Recovery {
    pub(crate) purpose: Purpose,
    /// The two candidates of an unknown extent.
    pub(crate) candidates: Map<DimId, (DimId, DimId)>,
    /// For the node under recovery: an extent that an operand needs and has on another axis, and the extent
    /// that it has instead.
    pub(crate) swapped: Option<(DimId, DimId)>,
    /// The element types of the interface and the constants of the main graph.
    pub(crate) census: Option<Census>,
    /// Whether the element type of a value of the main graph comes from an input of the model.
    pub(crate) from_input: Map<ValueId, bool>,
}

/// The number of uses of each element type in a model.
#[derive(Debug, Default)]
pub(crate) struct Census {
    pub(crate) inputs: Map<Elem, usize>,
    pub(crate) outputs: Map<Elem, usize>,
    pub(crate) constants: Map<Elem, usize>,
}

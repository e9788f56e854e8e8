//! The state of error recovery.

use crate::dim::DimId;
use crate::elem::Elem;
use crate::map::Map;
use crate::program::ValueId;

/// Why rules run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Purpose {
    /// To find errors.
    #[default]
    Check,
    /// To keep what is known of a node with a error.
    Recover,
}

/// The state of salvaging; empty in a model without errors.
#[derive(Debug, Default)]
pub(crate) struct Recovery {
    pub(crate) purpose: Purpose,
    /// The two extents that an unknown one was computed from.
    pub(crate) candidates: Map<DimId, (DimId, DimId)>,
    /// In the node that is salvaged, an extent that an operand has on another axis than it needs, and what it has instead.
    pub(crate) swapped: Option<(DimId, DimId)>,
    /// How often the interface and the constants of the main graph have each element type.
    pub(crate) census: Option<Census>,
    /// Whether the element type of a value of the main graph is that of an input of the model, where it was asked.
    pub(crate) given: Map<ValueId, bool>,
}

/// How often a model uses each element type.
#[derive(Debug, Default)]
pub(crate) struct Census {
    pub(crate) inputs: Map<Elem, usize>,
    pub(crate) outputs: Map<Elem, usize>,
    pub(crate) constants: Map<Elem, usize>,
}

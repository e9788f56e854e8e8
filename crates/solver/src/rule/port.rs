//! Ports of a node and extents at them.

use std::fmt;

use typeloom_dim::DimId;
use typeloom_types::relation::PortRef;

use crate::program::id::GraphId;

/// A position of a value at a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Port {
    /// An input of the node.
    In(usize),
    /// An output of the node.
    Out(usize),
    /// An input of a graph nested in the node.
    BodyIn(GraphId, usize),
    /// An output of a graph nested in the node.
    BodyOut(GraphId, usize),
}

impl Port {
    /// Whether it is an input of the node.
    pub(crate) fn is_input(self) -> bool {
        matches!(self, Self::In(_))
    }

    /// The port of a relation; `None` for a variadic rest.
    pub(crate) fn of_ref(port: PortRef) -> Option<Self> {
        match port {
            PortRef::Input(at) => Some(Self::In(at)),
            PortRef::Output(at) => Some(Self::Out(at)),
            PortRef::InputsFrom(_) | PortRef::OutputsFrom(_) => None,
        }
    }

    /// The port as relations name it; `None` for a port of a nested graph.
    pub(crate) fn to_ref(self) -> Option<PortRef> {
        match self {
            Self::In(at) => Some(PortRef::Input(at)),
            Self::Out(at) => Some(PortRef::Output(at)),
            Self::BodyIn(..) | Self::BodyOut(..) => None,
        }
    }
}

/// An extent and its position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// The port.
    pub port: Port,
    /// The axis of the port's shape; `None` if the extent was computed from the port's value or from
    /// attributes.
    pub axis: Option<usize>,
    /// The extent itself.
    pub dim: DimId,
}

impl Extent {
    /// The position with another extent.
    pub(crate) fn with(self, dim: DimId) -> Self {
        Self { dim, ..self }
    }
}

/// A relation that a rule requires between two extents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExtentRelation {
    /// Completes the sentence "these dims ..." (`are contracted`), or "this dim ..." (`is squeezed`) if it
    /// starts with `is`.
    pub text: &'static str,
    /// Whether the shapes of the extents are broadcast, so that their last axes correspond.
    pub is_broadcast: bool,
    /// Whether the first extent must be at most the second, instead of equal to it.
    pub(crate) is_upper_bound: bool,
    /// Whether it comes from the description of an operator, which is none of ONNX.
    pub(crate) is_described: bool,
}

impl ExtentRelation {
    /// The relation of extents that are broadcast.
    pub const BROADCAST: Self = Self::of_broadcast("are broadcast");

    pub(crate) const BROADCAST_NOT_ONE: Self = Self::of_broadcast("are broadcast and neither is 1");

    /// A relation between extents of shapes that are broadcast.
    #[must_use]
    pub const fn of_broadcast(text: &'static str) -> Self {
        Self { text, is_broadcast: true, is_upper_bound: false, is_described: false }
    }

    /// A relation from the description of an operator.
    #[must_use]
    pub const fn described(text: &'static str) -> Self {
        Self { text, is_broadcast: false, is_upper_bound: false, is_described: true }
    }
}

impl From<&'static str> for ExtentRelation {
    fn from(text: &'static str) -> Self {
        Self { text, is_broadcast: false, is_upper_bound: false, is_described: false }
    }
}

impl fmt::Display for ExtentRelation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)
    }
}

impl From<(Port, usize, DimId)> for Extent {
    fn from((port, axis, dim): (Port, usize, DimId)) -> Self {
        Self { port, axis: Some(axis), dim }
    }
}

impl From<(Port, DimId)> for Extent {
    fn from((port, dim): (Port, DimId)) -> Self {
        Self { port, axis: None, dim }
    }
}

//! Ports of a node and extents at them.

use crate::dim::DimId;
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

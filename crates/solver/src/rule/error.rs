//! The error of a rule.

use smallvec::SmallVec;
use typeloom_dim::shape::DimVec;
use typeloom_onnx::DecodeError;
use typeloom_types::relation::RelationError;

use super::port::{Extent, ExtentRelation, Port};
use crate::elem::ElemSet;
use crate::program::id::GraphId;

/// An error that a rule reports.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleError {
    /// Two ports must have the same type or element type, but cannot.
    Types {
        /// The first port.
        left: Port,
        /// The second port.
        right: Port,
    },
    /// A port cannot have an element type that the rule allows.
    Element {
        /// The port in error.
        port: Port,
        /// The allowed element types.
        allowed: ElemSet,
    },
    /// The type at a port has the wrong kind.
    Kind {
        /// The port in error.
        port: Port,
        /// The required kind, with an article (`a sequence`).
        expected: &'static str,
    },
    /// A port has the wrong number of axes.
    Rank {
        /// The port in error.
        port: Port,
        /// The number of axes found.
        found: usize,
        /// The minimum number of axes.
        least: usize,
        /// The maximum number of axes.
        most: Option<usize>,
    },
    /// Two extents differ that must be equal.
    Dims {
        /// The first extent.
        left: Extent,
        /// The second extent; it has no axis if the rule computed it.
        right: Extent,
        /// The violated relation.
        relation: ExtentRelation,
    },
    /// The rule cannot use the value of an attribute.
    Attribute {
        /// The name of the attribute.
        name: &'static str,
        /// The problem, as a clause after the name.
        message: String,
    },
    /// The rule cannot use the constant at an input.
    Value {
        /// The port in error.
        port: Port,
        /// The problem, as a clause after the name of the value.
        message: String,
    },
    /// Incompatible shapes. The problem is not a single pair of dims.
    Shapes {
        /// The ports with these shapes.
        ports: SmallVec<[Port; 4]>,
        /// The problem: a sentence without a full stop.
        message: String,
    },
    /// The known shape at a port contradicts the shape that the rule computes.
    Contradiction {
        /// The port in error.
        port: Port,
        /// The known shape.
        known: DimVec,
        /// The computed shape.
        computed: DimVec,
        /// Describes both: a sentence without a full stop.
        message: String,
    },
    /// A graph of the node has the wrong interface.
    Body {
        /// The graph in error.
        graph: GraphId,
        /// The problem: a sentence without a full stop.
        message: String,
    },
    /// A port is not under the required node of the type tree.
    Relation(Box<RelationError>),
    /// The bytes of the node are malformed.
    Malformed(DecodeError),
}

impl From<DecodeError> for RuleError {
    fn from(error: DecodeError) -> Self {
        Self::Malformed(error)
    }
}

impl RuleError {
    /// The ports that contradict the rule, without repetition.
    pub(crate) fn ports(&self) -> SmallVec<[Port; 4]> {
        match self {
            Self::Types { left, right } => SmallVec::from_slice(&[*left, *right]),
            Self::Dims { left, right, .. } if left.port == right.port => SmallVec::from_slice(&[left.port]),
            Self::Dims { left, right, .. } => SmallVec::from_slice(&[left.port, right.port]),
            Self::Element { port, .. }
            | Self::Kind { port, .. }
            | Self::Rank { port, .. }
            | Self::Value { port, .. }
            | Self::Contradiction { port, .. } => SmallVec::from_slice(&[*port]),
            Self::Shapes { ports, .. } => ports.clone(),
            Self::Relation(error) => error.ports.iter().filter_map(|port| Port::of_ref(*port)).collect(),
            Self::Attribute { .. } | Self::Body { .. } | Self::Malformed(_) => SmallVec::new(),
        }
    }

    /// The error of an attribute with an unusable value.
    pub fn attribute(name: &'static str, message: impl Into<String>) -> Self {
        Self::Attribute { name, message: message.into() }
    }

    /// The error of an input with an unusable constant.
    pub fn value(port: Port, message: impl Into<String>) -> Self {
        Self::Value { port, message: message.into() }
    }

    /// The error of a scalar at a port that needs axes.
    #[must_use]
    pub fn scalar(port: Port) -> Self {
        Self::Rank { port, found: 0, least: 1, most: None }
    }

    /// The error of incompatible shapes.
    pub fn shapes(ports: &[Port], message: impl Into<String>) -> Self {
        Self::Shapes { ports: ports.into(), message: message.into() }
    }
}

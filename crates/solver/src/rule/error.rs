//! The error of a rule.

use smallvec::SmallVec;
use typeloom_onnx::DecodeError;
use typeloom_types::relation::RelationError;

use super::port::{Extent, Port};
use crate::dim::shape::DimVec;
use crate::elem::ElemSet;
use crate::program::GraphId;

/// Why a rule says no.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleError {
    /// Two ports must have one type, or one element type, and cannot.
    Types {
        /// One.
        left: Port,
        /// The other.
        right: Port,
    },
    /// A port cannot have the element type that the rule needs.
    Element {
        /// The port.
        port: Port,
        /// What it may have.
        allowed: ElemSet,
    },
    /// A port is not the kind of type that the rule needs.
    Kind {
        /// The port.
        port: Port,
        /// What it must be, in words (`a sequence`).
        expected: &'static str,
    },
    /// A port has the wrong number of axes.
    Rank {
        /// The port.
        port: Port,
        /// Axes it has.
        found: usize,
        /// Axes it must have at least.
        least: usize,
        /// Axes it may have at most.
        most: Option<usize>,
    },
    /// Two extents differ that the rule needs equal.
    Dims {
        /// One: where it stands and what it is.
        left: Extent,
        /// The other; a place where the rule computes it has no axis.
        right: Extent,
        /// What relates them, in words that complete "these dims ..." (`are contracted`).
        relation: &'static str,
    },
    /// An attribute whose value the rule cannot use.
    Attribute {
        /// Its name.
        name: &'static str,
        /// What is wrong, in words that follow the name.
        message: String,
    },
    /// An input whose (constant) value the rule cannot use.
    Value {
        /// The port.
        port: Port,
        /// What is wrong, in words that follow the value's name.
        message: String,
    },
    /// Ports whose shapes do not fit together in another way than one pair of dims.
    Shapes {
        /// The ports.
        ports: SmallVec<[Port; 4]>,
        /// What is wrong: a sentence without full stop.
        message: String,
    },
    /// The shape at a port is known to be another than the rule computes.
    Contradiction {
        /// The port.
        port: Port,
        /// What is known.
        known: DimVec,
        /// What the rule computes.
        computed: DimVec,
        /// Both in words: a sentence without full stop.
        message: String,
    },
    /// The graphs of a node do not fit it.
    Body {
        /// The graph.
        graph: GraphId,
        /// What is wrong: a sentence without full stop.
        message: String,
    },
    /// A port does not lie under the node of the type tree that the rule needs.
    Relation(Box<RelationError>),
    /// The node's bytes are malformed.
    Malformed(DecodeError),
}

impl From<DecodeError> for RuleError {
    fn from(error: DecodeError) -> Self {
        Self::Malformed(error)
    }
}

impl RuleError {
    /// An attribute whose value cannot be used.
    pub fn attribute(name: &'static str, message: impl Into<String>) -> Self {
        Self::Attribute { name, message: message.into() }
    }

    /// An input whose value cannot be used.
    pub fn value(port: Port, message: impl Into<String>) -> Self {
        Self::Value { port, message: message.into() }
    }

    /// Shapes that do not fit together.
    pub fn shapes(ports: &[Port], message: impl Into<String>) -> Self {
        Self::Shapes { ports: ports.into(), message: message.into() }
    }
}

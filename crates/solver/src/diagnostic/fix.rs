//! Repairs as data that a tool can apply.

use serde::Serialize;

use super::Location;
use crate::signature::AttributeKind;

/// Whether a repair can be made without a decision of the user.
///
/// `Safe < Unsafe`, so a repair is applied if its safety is at most the permitted one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Safety {
    /// Every value whose type was right has the same result as before, bit for bit. The repair defines only
    /// the results of nodes in error.
    #[default]
    Safe,
    /// The repair changes results, makes different values equal, or is one of several with different results.
    Unsafe,
}

impl Safety {
    pub(super) fn is_safe(&self) -> bool {
        *self == Self::Safe
    }
}

/// An attribute that an input replaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttributeAsInput {
    /// The name of the attribute.
    pub attribute: String,
    /// The position of the input.
    pub input: usize,
    /// The element type of the input, by ONNX's name.
    pub to: String,
    /// Whether the input has one axis, rather than being a scalar.
    pub is_list: bool,
}

/// An input that an attribute replaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InputAsAttribute {
    /// The position of the input.
    pub input: usize,
    /// The name of the attribute.
    pub attribute: String,
    /// The kind of the attribute.
    #[serde(skip)]
    pub kind: AttributeKind,
}

/// An input of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reader {
    /// The location of the node.
    #[serde(rename = "place")]
    pub location: Location,
    /// The input's position.
    pub input: usize,
}

/// An edit of the node at the diagnostic's location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Fix {
    /// Convert the value of an input with a Cast node before the node.
    InsertCast {
        /// The input's position.
        input: usize,
        /// The value it reads now.
        value: String,
        /// The element type to convert to, by ONNX's name.
        to: String,
        /// The other inputs of the same value that read the conversion.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        readers: Vec<Reader>,
    },
    /// Read another value at an input.
    RenameInput {
        /// The input's position.
        input: usize,
        /// The value to read.
        to: String,
    },
    /// Replace the operator by another one of its domain.
    RenameOperator { to: String },
    /// Rename an attribute.
    RenameAttribute { from: String, to: String },
    /// Remove an attribute.
    RemoveAttribute { name: String },
    /// Set an attribute to an integer.
    SetAttribute { name: String, value: i64 },
    /// Pass attributes as constant inputs.
    PassAsInputs { ports: Vec<AttributeAsInput> },
    /// Pass constant inputs as attributes.
    PassAsAttributes { ports: Vec<InputAsAttribute> },
    /// Give a scalar input one axis, with an Unsqueeze node before the node.
    UnsqueezeInput {
        /// The input's position.
        input: usize,
        /// The value it reads now.
        value: String,
    },
    /// Put the nodes of the body in topological order, moving as few as possible.
    SortNodes,
    /// Import an operator set in this version, or a newer one.
    ImportOpset {
        /// Its domain; empty for ONNX's own.
        domain: String,
        version: i64,
    },
    /// Use another value as output of the graph.
    RenameOutput {
        from: String,
        /// The value to give.
        to: String,
    },
    /// Replace declared types that the graph contradicts by the derived ones.
    CorrectDeclarations,
    /// Drop repetitions of an input or initializer.
    DropRepetitions,
    /// Drop the declared shapes of values that are declared as scalars and have axes.
    DropShapes,
    /// Leave negative declared extents unknown.
    DropDims,
    /// Give every input axis with a placeholder a distinct name, and leave the others unknown.
    RenameDims,
}

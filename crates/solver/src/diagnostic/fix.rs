//! Repairs as data that a tool can apply.

use serde::Serialize;

use super::Location;

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
    /// Drop the declared shapes of values that are declared as scalars and have axes.
    DropShapes,
    /// Leave negative declared extents unknown.
    DropDims,
    /// Give every input axis with a placeholder a distinct name, and leave the others unknown.
    RenameDims,
}

//! Repairs as data, so that a tool can make them.

use super::Location;

/// An input of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reader {
    /// Where the node is.
    pub location: Location,
    /// The input's position.
    pub input: usize,
}

/// An edit of the node at the diagnostic's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fix {
    /// Convert what an input reads, with a Cast node in front of the node.
    InsertCast {
        /// The input's position.
        input: usize,
        /// The value it reads now.
        value: String,
        /// The element type to convert to, by ONNX's name.
        to: String,
        /// The other inputs of the same value that read the conversion.
        readers: Vec<Reader>,
    },
    /// Read another value at an input.
    RenameInput {
        /// The input's position.
        input: usize,
        /// The value to read.
        to: String,
    },
    /// Use another operator of the same domain.
    RenameOperator {
        /// Its name.
        to: String,
    },
    /// Give an attribute another name.
    RenameAttribute {
        /// The name it has.
        from: String,
        /// The name it should have.
        to: String,
    },
    /// Take an attribute away.
    RemoveAttribute {
        /// Its name.
        name: String,
    },
    /// Put the nodes of the body in topological order, moving as few as possible.
    SortNodes,
    /// Import an operator set in this version, or a newer one.
    ImportOpset {
        /// Its domain; empty for ONNX's own.
        domain: String,
        /// Its version.
        version: i64,
    },
    /// Promise another value as output of the graph.
    RenameOutput {
        /// The name it has.
        from: String,
        /// The value to give.
        to: String,
    },
    /// Drop the declared shapes of values that are declared as scalars and have axes.
    DropShapes,
    /// Leave negative declared extents unknown.
    DropDims,
    /// Give every input axis with a placeholder a name of its own, and leave the others unknown.
    RenameDims,
}

//! Scenes as bytes: compact before and after compression, and the same for the same scene.
//!
//! # Format
//!
//! The magic bytes, the version, and columns: for each of them its length and its bytes, in the order of
//! `wire/columns.rs`. A column has one field of all nodes, values or groups, so that a compressor finds
//! similar bytes next to each other.
//!
//! | content | encoding |
//! |---|---|
//! | numbers | LEB128; signed ones in zigzag order |
//! | names | the number of bytes shared with the previous name, or with the name of the node that makes the value, and the rest |
//! | values of ports | the distance from the last output, or for stored values from the last stored value that was read |
//! | groups | the tree of each graph in pre-order: numbers of nodes, beginnings and ends of groups |
//! | attributes, source lines, texts of types | a table of short ones, and the position in it; long ones as they are |
//! | extents, types, small tensors | a table of each; a type and a small tensor have the positions of their extents |
//! | changes between two models | the changed nodes and values only, each with its distance from the last one |
//! | targets | the nodes with a place only, each with its distance from the last one; a scene without targets has no such column, and version 3 |
//! | causes | one byte if the cause is an input of the node that makes the value |
//!
//! Fields that follow from others are not stored, see `scene::derive`.
//!
//! # Decoding
//!
//! Any bytes can be decoded: the result is a scene that keeps the invariants of [`scene`](crate::scene), or
//! an [`Error`]. Counts are limited by the lengths of columns and shared parts of texts by `MAX_SHARED`, so
//! memory is bounded by a multiple of the input. Graphs are at most [`MAX_GRAPHS`] deep, groups of one graph
//! at most [`MAX_GROUPS`].
//!
//! Encoding requires the invariants of the scene, including the order of nodes and groups.

mod bytes;
mod changes;
mod columns;
mod decode;
mod encode;
mod messages;
mod targets;

#[cfg(test)]
mod tests;

pub use decode::decode;
pub use encode::encode;

/// The first bytes.
const MAGIC: &[u8; 4] = b"TLSC";

/// The version of the format of a scene with targets.
pub const VERSION: u64 = 4;

/// The version of the format of a scene without targets, which has no column for them.
const WITHOUT_TARGETS: u64 = 3;

/// Maximum depth of nested graphs.
pub const MAX_GRAPHS: usize = 128;

/// Maximum depth of groups in one graph.
pub const MAX_GROUPS: usize = 64;

/// Maximum size of a text or list that several items share, in bytes.
const MAX_SHARED: usize = 1 << 10;

/// Maximum size of the shared beginning of a name, in bytes.
const MAX_PREFIX: usize = 255;

/// Bytes that are no scene.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// The first bytes are others.
    #[error("the bytes are not a scene")]
    Magic,
    /// The version is another one.
    #[error("the scene has version {found} of the format, not {VERSION}")]
    Version {
        /// The version.
        found: u64,
    },
    /// A column ends too early.
    #[error("the column `{column}` of the scene ends too early")]
    Truncated {
        /// The column.
        column: &'static str,
    },
    /// A column has bytes after its last item.
    #[error("the column `{column}` of the scene is too long")]
    Surplus {
        /// The column.
        column: &'static str,
    },
    /// A field has a value that is not allowed.
    #[error("the column `{column}` of the scene has a wrong value: {reason}")]
    Invalid {
        /// The column.
        column: &'static str,
        /// The reason.
        reason: &'static str,
    },
}

//! Types of values: the type tree, element types, Rust storage, and relations between the ports of operators.
//!
//! | module | content |
//! |---|---|
//! | [`tree`] | [`tree::TypeNode`], a node of the type tree as a static, and its registration |
//! | [`tree::builtin`], [`tree::onnx`] | the documented tree, and leaves for the remaining ONNX element types |
//! | [`lattice`] | a validated set of nodes with `is_subtype`, `join` and `meet` in O(1); element types of leaves |
//! | [`dtype`] | the table of element types: numbers, names, sizes, classes, leaves |
//! | [`element`], [`storage`] | Rust element types, and the mapping from Rust types to type nodes |
//! | [`shape`] | axes and broadcasting of known extents |
//! | [`relation`] | constraints between the ports of one operator, and the context of custom ones |
//! | [`suggest`] | names similar to a misspelt one |
//! | [`plural`] | numbers with their nouns, for messages |
//! | [`op`] | operators declared as constants, and the thirty tensor primitives |
//!
//! **Invariant:** this crate does not infer types. It defines types and their relations; the solver applies
//! them to a graph.
//!
//! **Invariant:** an unknown type is [`tree::builtin::TYPE_ANY`], the root of the tree, and never a concrete
//! leaf such as `bytes`.

pub mod dtype;
pub mod element;
pub mod lattice;
pub mod op;
pub mod plural;
pub mod relation;
pub mod shape;
pub mod storage;
pub mod suggest;
pub mod tree;

/// Implementation detail of this crate's macros.
#[doc(hidden)]
pub mod private {
    pub use inventory;
}

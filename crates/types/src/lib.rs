//! The open tree of types, the Rust types that store them, tensors tagged at run time, and the
//! vocabulary in which operators relate the types of their ports.
//!
//! | module | what it holds |
//! |---|---|
//! | [`tree`] | one type as a static ([`tree::TypeNode`]), and how a crate registers its own |
//! | [`tree::builtin`], [`tree::onnx`] | the documented tree, and ONNX's further element types |
//! | [`lattice`] | a checked set of nodes with `is_subtype`, `join` and `meet` in O(1) |
//! | [`dtype`] | ONNX's element types as an enumeration, with sizes, names and numbers |
//! | [`element`], [`storage`] | Rust element types, and the link from Rust types to the tree |
//! | [`any_tensor`] | a tensor whose element type is known only at run time |
//! | [`relation`] | constraints between the ports of one operator, and the context of custom ones |
//! | [`op`] | operators declared as constants, and the thirty tensor primitives |
//!
//! **Invariant:** nothing here infers anything. This crate says what types are and how they relate;
//! the solver decides what a graph makes of it.
//!
//! **Invariant:** unknown is [`tree::builtin::TYPE_ANY`], the top of the tree. It is never a concrete
//! leaf such as `bytes`.

pub mod tree;

pub mod lattice;

pub mod dtype;

pub mod element;

pub mod storage;

pub mod any_tensor;

pub mod relation;

pub mod op;

/// What the macros of this crate expand to; not an interface.
#[doc(hidden)]
pub mod private {
    pub use inventory;
}

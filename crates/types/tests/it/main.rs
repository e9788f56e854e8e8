//! Laws and published facts of type nodes, tensors and relations, tested through the public interface.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod dtype;
mod elements;
mod lattice_errors;
mod lattice_laws;
mod ops;
mod published_tree;
mod relations;
mod storage;
mod support;

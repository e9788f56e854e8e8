//! The solver: infers and proves the type of every value of a tensor program, or reports the exact causes of
//! errors.
//!
//! A model passes through these stages:
//!
//! ```text
//! bytes -> onnx views -> program::Body (dense ids) -> engine (frames, slots, worklist)
//!       -> solution::Type of every value, solve_error::SolveError -> diagnostic::Diagnostic
//! ```
//!
//! The modules are layers, from the bottom up: a module uses those in rows above it, and those of its own
//! row. A test checks this (`crates/typeloom/tests/layers.rs`).
//!
//! | module | contents |
//! |---|---|
//! | `map`, [`elem`], [`universe`], [`mode`] | maps; element types as bits, and their leaves in the type tree; the mode of a check |
//! | `program::id`, `rule::port` | ids of the parts of a program; ports of nodes and extents at them |
//! | [`signature`] | declarations of operators |
//! | [`diagnostic::text`] | fragments of messages |
//! | [`ty`] | types during a solve: terms and unification; extents are those of [`typeloom_dim`] |
//! | [`solution`] | solved types, as data, and their conversion to the types of [`typeloom_tensor::value_type`] |
//! | `rule::error`, [`solve_error`] | errors, as data |
//! | [`program`] | a model with dense ids and flattened nested graphs |
//! | `state` | the tables of one solve, its frames, the memo and the trace |
//! | [`rule`] | the interface of rules, the check against a schema, relations |
//! | [`catalogue`] | operators with their rules, and the trait that looks them up |
//! | [`operators`] | the operators that a model uses |
//! | `analysis` | declared shapes, conditions on symbols, branches, recovery from errors |
//! | `engine` | the worklist and calls of functions |
//! | [`model`] | the entry point: checks a whole model |
//! | [`diagnostic`] | errors as messages |
//! | [`validate`] | structural rules of the format |
//! | [`type_solver`] | the entry point for graphs of plainly declared operators |
//!
//! **Invariant:** this crate knows no operator by name except `Constant` and `If`. Operators come from a [`catalogue::Catalogue`].
//!
//! **Invariant:** no recursion over the depth of a graph. Of tensor data, only the small constants that
//! decide shapes are read.

pub mod catalogue;
pub mod diagnostic;
pub mod elem;
pub mod mode;
pub mod model;
pub mod operators;
pub mod program;
pub mod rule;
pub mod signature;
pub mod solution;
pub mod solve_error;
pub mod ty;
pub mod type_solver;
pub mod universe;
pub mod validate;

mod analysis;
mod engine;
mod map;
mod state;

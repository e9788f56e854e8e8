//! The solver: proves the type of every value of a tensor program, or says exactly why it cannot.
//!
//! The way of a model through this crate:
//!
//! ```text
//! bytes -> onnx views -> program::Body (dense ids) -> engine (frames, slots, worklist)
//!       -> solution::Type for every value, solve_error::SolveError for everything wrong -> diagnostic::Diagnostic
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`elem`], [`universe`] | element types as bits, and where they stand in the type tree |
//! | [`ty`] | types of values while they are solved: terms, unification |
//! | [`dim`], [`shape`] | extents as polynomials over symbols, shapes of them |
//! | [`signature`], [`catalogue`] | what operators declare, and where they come from |
//! | [`rule`] | the interface of rules: what a declaration cannot say |
//! | [`program`] | a model in dense numbers, nested graphs flattened |
//! | [`model`] | the entry: check a whole model |
//! | [`preconditions`] | the conditions that a model places on the symbols of its inputs, for a runtime |
//! | [`functions`] | what holds inside functions at every call |
//! | [`ports`] | a model taken apart: what each node asks of its ports by itself |
//! | [`type_solver`] | the entry for graphs of plainly declared operators |
//! | [`trace`] | why a value has its type |
//! | [`solve_error`], [`solution`], [`message`] | what comes out, as data; solved types as ONNX messages |
//! | [`diagnostic`] | what is wrong, in words |
//!
//! **Invariant:** this crate knows no operator by name. Operators come from a [`catalogue::Catalogue`].
//!
//! **Invariant:** no recursion over the depth of a graph; nothing is read of weight payloads but the
//! small constants that decide shapes.

pub mod elem;
pub mod universe;

pub mod ty;

pub mod dim;
pub mod shape;

pub mod signature;

pub mod catalogue;
pub mod suggest;

pub mod rule;

pub mod program;

pub mod model;

pub mod functions;

pub mod preconditions;

pub mod ports;

pub mod type_solver;

pub mod trace;

pub mod solution;

pub mod message;

pub mod solve_error;

pub mod diagnostic;

mod assume;
mod call;
mod case;
mod check;
mod claims;
mod conditions;
mod constants;
mod core;
mod declare;
mod engine;
mod false_shapes;
mod frame;
mod limits;
mod load;
mod map;
mod memo;
mod relation;
mod salvage;
mod seeds;

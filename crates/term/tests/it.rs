//! The tests of this folder in one binary.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

#[path = "support/ast.rs"]
mod ast;
mod laws;
mod limits;
mod messages;
mod obligations;
mod rust_kinds;
mod rustc_conformance;
#[path = "support/shape.rs"]
mod shape;
#[path = "support/solving.rs"]
mod solving;
mod syntax;
#[path = "support/variables.rs"]
mod variables;
#[path = "support/verdicts.rs"]
mod verdicts;
mod witness;

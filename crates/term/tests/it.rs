//! The tests of this folder in one binary.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

#[path = "support/ast.rs"]
mod ast;
#[path = "support/compiler.rs"]
mod compiler;
mod goals;
mod laws;
mod limits;
mod messages;
mod obligations;
mod rust_kinds;
mod rustc_agreement;
mod rustc_conformance;
mod rustc_negation;
mod rustc_unification;
#[path = "support/seeds.rs"]
mod seeds;
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

//! Tests of the public API in one binary.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod bundle;
mod compat;
mod compat_pairs;
mod describe;
mod golden;
mod hostile;
mod json;
mod laws;
mod recursion;
mod schemes;
#[path = "../../term/tests/support/shape.rs"]
mod shape;
mod support;
mod term;

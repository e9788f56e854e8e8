//! The tests of this folder in one binary.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails with the test")]

mod relations;
mod type_solver;

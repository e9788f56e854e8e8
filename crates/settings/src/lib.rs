//! Settings of checks: which diagnostics count, and how models are read and solved.
//!
//! | module | contents |
//! |---|---|
//! | [`levels`] | severities by code, group and glob |
//!
//! **Invariant:** the crate performs no input or output; texts of files and paths are arguments.

pub mod levels;

//! Settings of checks: which diagnostics count, and how models are read and solved.
//!
//! | module | contents |
//! |---|---|
//! | [`levels`] | severities by code, group and glob |
//! | [`effective`] | the settings of one model, each with its source |
//! | [`file`](mod@file) | `typeloom.toml`, and the table `tool.typeloom` of `pyproject.toml` |
//! | [`glob`] | globs of paths and of names |
//! | [`paths`] | globs of files |
//! | [`exceptions`] | exceptions that a model contains |
//! | [`fingerprint`] | digests of problems that do not depend on positions |
//! | [`baseline`] | known problems |
//!
//! **Invariant:** the crate performs no input or output; texts of files and paths are arguments.
//!
//! **Invariant:** each setting has a [`Source`](effective::Source), and each error of a settings file a
//! position.

pub mod baseline;
pub mod effective;
pub mod exceptions;
pub mod file;
pub mod fingerprint;
pub mod glob;
pub mod levels;
pub mod paths;

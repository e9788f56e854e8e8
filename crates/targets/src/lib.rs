//! Runtimes as targets: facts extracted from their packages, and verdicts about checked models.
//!
//! A [`Target`] is one version of a runtime with one provider. [`Target::check`] decides for a checked model
//! whether the loader of the runtime accepts it, and returns every reason for a rejection. [`facts`]
//! documents the data; `tools/facts/runtime_kernels.py` writes it from the pinned package, and
//! `tools/compare_targets.py` compares verdicts with the loader itself.
//!
//! **Invariant:** the crate performs no I/O. The facts are embedded and parsed on first use.
//!
//! **Invariant:** a verdict is a rejection only if a fact shows it. A node whose types are not solved, or
//! that the facts do not decide, makes the verdict undecided.
//!
//! Limits: a verdict is about loading with default options. Errors that depend on the data of a run are not
//! predicted.

pub mod facts;

mod body;
mod calls;
mod fold;
mod node;
mod quirks;
mod rules;
mod side;
mod tables;
mod target;
mod verdict;

pub use target::Target;
pub use verdict::{Outcome, Verdict};

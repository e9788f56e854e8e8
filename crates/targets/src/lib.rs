//! Runtimes as targets: facts extracted from their packages, and verdicts about checked models.
//!
//! A [`Target`] is one version of a runtime with one provider, or a device. [`Target::check`] decides for a
//! checked model whether the target runs it, and returns every reason against. There are two kinds of facts:
//!
//! | facts | module | written by |
//! |---|---|---|
//! | signatures and kernels of a runtime, with rules | [`facts`] | `tools/facts/runtime_kernels.py` |
//! | measurements of single nodes | [`measured`] | `tools/facts/measured.py` from rows of several sources |
//!
//! `tools/compare_targets.py` compares verdicts with the runtime itself.
//!
//! **Invariant:** the crate performs no I/O. The facts are embedded, and read when a target is first used.
//!
//! **Invariant:** a verdict is a rejection only if a fact shows it. A node whose types are not solved, or
//! that the facts do not decide, makes the verdict undecided.
//!
//! Limits: a verdict is about loading with default options. Errors that depend on the data of a run are not
//! predicted.

pub mod facts;
pub mod measured;

mod body;
mod calls;
mod fold;
mod node;
mod packed;
mod quantized;
mod quirks;
mod rules;
mod side;
mod tables;
mod target;
mod verdict;

pub use measured::placement::{PlacedNode, Placement};
pub use measured::table::Assignment;
pub use target::{Known, Target, TargetError};
pub use verdict::{Outcome, Verdict};

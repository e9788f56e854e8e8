//! From programs to typed programs: modules and ONNX models pass through one pipeline and become artifacts in
//! which every value is stamped with its type.
//!
//! | module | contents |
//! |---|---|
//! | [`compiler`] | bindings, policies and the pipeline |
//! | [`mod@unit`], [`stage`] | the IR, and its stages with the known facts of each |
//! | [`passes`], [`pass`] | the standard passes, and passes that users add |
//! | [`artifact`] | compiled programs, in memory and in files |
//! | [`error`], [`report`] | errors and reports of compilations |
//!
//! The recording of modules is the crate [`typeloom_module`].
//!
//! **Invariant:** the type of every stamp is proved by the solver.

pub mod artifact;
pub mod compiler;
pub mod error;
pub mod pass;
pub mod passes;
pub mod report;
pub mod stage;
pub mod unit;

mod assign_backend;
mod effects;
mod planned_casts;
mod program_operators;
mod recursion;
mod representation;
mod solve_program;
mod unresolved_help;

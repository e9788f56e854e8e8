//! From programs to typed programs: authored modules and ONNX models go through one pipeline of passes and come
//! out as artifacts in which every value is stamped with its type.
//!
//! | module | what it does |
//! |---|---|
//! | [`module`], [`graph`] | modules as their authors write them, and the graphs that they record |
//! | [`authoring`], [`place`] | mistakes in a recording, with their lines in the author's program |
//! | [`bindings`] | which Rust component stands behind which slot |
//! | [`compiler`] | bindings, policies and the pipeline |
//! | [`mod@unit`], [`stage`], [`passes`], [`pass`] | the IR, its stages, the passes between them, passes that users add |
//! | [`operators`] | the operators of contracts, of the wire, of types |
//! | [`artifact`] | compiled programs, in memory and in files |
//! | [`error`], [`report`] | why a program does not compile; what a compilation did |
//! | [`names`] | names in the IR: domains of operators, keys of stamps |
//!
//! **Invariant:** nothing that is not proved is written into a model.

pub mod artifact;
pub mod compiler;
pub mod error;
pub mod pass;
pub mod passes;
pub mod report;
pub mod stage;
pub mod unit;

mod assign_backend;
mod planned_casts;
mod program_operators;
mod recursion;
mod solve_program;
mod unresolved_help;

//! Execution of typed models and compiled modules.
//!
//! A [`Session`](session::Session) runs a checked model on the embedded backend. An
//! [`Executor`](executor::Executor) runs a compiled module with its [`Components`](components::Components). A
//! [`Part`](executor::part::Part) runs one side of a module that sends values to peers. All three are created
//! once and run many times, on several threads at a time.
//!
//! `prepare` converts graphs to plans: names become slots, attributes and initializers become
//! values, and the lifetime of each value is computed. `execute` calls one operator after the other. It
//! solves nothing and looks up no names.
//!
//! Inputs are checked against their solved types before a run. With
//! [`Verify::EveryValue`](options::Verify::EveryValue), the results of every node are checked as well.
//!
//! **Invariant:** imports between the modules are acyclic: `session`, `executor`, `backend` and `engine`
//! import `execute`, then `prepare`, `plan`, `components`, `primitive`, `convert`, `operator` and `error`.
//!
//! **Invariant:** an operator that fails or panics is a [`RunError`](error::RunError) with the name of the
//! node, and the session stays usable.
//!
//! **Invariant:** recursion is over nested graphs, functions and linked programs only, and bounded by the
//! preparation.

pub mod backend;
pub mod components;
pub mod convert;
pub mod engine;
pub mod error;
pub mod executor;
pub mod literal;
pub mod named;
pub mod options;
pub mod session;

mod execute;
mod operator;
mod plan;
mod prepare;
mod primitive;
mod representation;

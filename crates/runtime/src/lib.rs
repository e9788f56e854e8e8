//! Running typed models.
//!
//! A [`Session`](session::Session) is made of a checked model once and run many times, from several threads at
//! once. Making it turns names into slots, nested graphs and functions into plans of their own, attributes and
//! initializers into values, and says after which node each value dies. Running it calls one operator after
//! the other; it solves nothing and looks nothing up by name.
//!
//! The types that the solver proved are the stamps of a session: inputs are held to them before anything runs,
//! and with [`Verify::EveryValue`](session::Verify) so is every value that a node makes.
//!
//! **Invariant:** an operator that fails or panics is a [`RunError`](error::RunError) with the node's name, and the
//! session stays usable.
//!
//! Values and their exchange between processes are in [`typeloom_wire`].
//!
//! **Invariant:** recursion is over nested graphs and functions only, and bounded when the session is made.

pub mod error;

pub mod carry;

mod flow;

mod plan;

mod places;

mod prepare;

mod fuse;

mod functions;

mod execute;

mod control;

mod scan;

mod flex;

pub mod session;

mod primitive;

pub mod backend;

pub mod components;

pub mod executor;

pub mod engine;

//! Fuzz targets as plain functions of bytes.
//!
//! `fuzz/` calls them under libFuzzer. `tests/` calls them on models mutated by a generator with fixed seeds,
//! so that `cargo test` finds shallow bugs first.
//!
//! **Invariant:** a target returns for every input. It drops the `Err` of an invalid input. A panic is a bug
//! in the crate that panicked, or a violated law that the target asserts.

mod bundle;
mod check;
mod compile;
mod components;
mod contract;
mod described;
mod link;
mod messages;
mod operators;
mod programs;
mod rustdoc;
mod scene;
mod text;
mod transform;
mod view;
mod wire;

pub use bundle::bundle;
pub use check::check;
pub use compile::compile;
pub use components::{codecs, network, samples};
pub use contract::contract;
pub use described::described;
pub use link::link_models;
pub use messages::messages;
pub use operators::{operator_count, operators};
pub use programs::programs;
pub use rustdoc::rustdoc;
pub use scene::scene;
pub use text::text;
pub use transform::transform;
pub use view::view;
pub use wire::{wire, wire_message};

//! What the fuzzers run, as plain functions of bytes.
//!
//! `fuzz/` calls these under libFuzzer, and `tests/` calls the same functions on models that are mutilated by a
//! generator with fixed seeds, so that what the fuzzers would find first is found by `cargo test`.
//!
//! **Invariant:** a target returns for every input: whatever is wrong with the bytes is an `Err` that is dropped here. A
//! panic is a bug in the crate that panicked, or a law that does not hold, which a target asserts.

mod bundle;
mod check;
mod compile;
mod components;
mod described;
mod messages;
mod programs;
mod rustdoc;
mod text;
mod transform;
mod view;
mod wire;

pub use bundle::bundle;
pub use check::check;
pub use compile::compile;
pub use components::{codecs, network, samples};
pub use described::described;
pub use messages::messages;
pub use programs::programs;
pub use rustdoc::rustdoc;
pub use text::text;
pub use transform::transform;
pub use view::view;
pub use wire::{wire, wire_message};

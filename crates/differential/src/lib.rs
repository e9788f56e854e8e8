//! A differential test: random ONNX programs are executed, and the types that typeloom reports are compared with the
//! values of the executions.
//!
//! A [generator](generate) makes a [program] from a stream of [choices], together with *worlds*: bindings of its symbols with
//! inputs of the bound extents. Every node is [executed](interpret) in all worlds when it is added, so the generator knows which programs run
//! everywhere and which run only at the binding they were built for. The [laws] compare that with what typeloom reports.
//!
//! `cargo run -p typeloom-differential -- --count 5000 --seed 1` runs many programs and prints those that break a law,
//! [reduced](shrink) to few nodes.
//!
//! A short run with a fresh seed is part of the tests of this crate. It prints the seed; `TYPELOOM_SEED` repeats it.
//!
//! Not for: numerical results. The kernels have tests of their own.

pub mod build;
pub mod choices;
pub mod expression;
mod families;
pub mod generate;
pub mod interpret;
pub mod laws;
pub mod program;
pub mod shrink;
pub mod world;

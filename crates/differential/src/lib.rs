//! Differential test of type inference: executes random ONNX programs and compares their values with the
//! types that typeloom reports.
//!
//! A [generator](generate) builds a [program] from a stream of [choices], together with *worlds*: bindings of
//! its symbols with inputs of the bound extents. Every node is [executed](interpret) in all worlds when it is
//! added, so the generator knows which programs run in every world and which only at the binding that they
//! were built for. The [laws] compare the executions with the reports.
//!
//! `cargo run -p typeloom-differential -- --count 5000 --seed 1` runs many programs and prints those that
//! break a law, [reduced](shrink) to few nodes.
//!
//! The tests of this crate include a short run with a fresh seed. It prints the seed; `TYPELOOM_SEED` repeats
//! it.
//!
//! Limits: numerical results are not checked; the kernels have separate tests.

pub mod broken;
pub mod build;
pub mod choices;
pub mod expression;
mod families;
pub mod generate;
pub mod interpret;
pub mod laws;
pub mod program;
pub mod repairs;
pub mod shrink;
pub mod world;

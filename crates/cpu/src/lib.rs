//! ONNX operators on the CPU: the embedded backend.
//!
//! | to | use |
//! |---|---|
//! | run one operator | [`ops::find`], then [`ops::Operator::run`] on a [`call::Call`] |
//! | represent inputs and results of operators | [`Datum`](typeloom_tensor::datum::Datum) |
//! | fuse a convolution with the nodes that follow it | [`fast::fused::Fused`] |
//! | compute concatenated convolutions as one kernel | [`fast::fused::Fused::join`] |
//! | reuse the memory of dead tensors | [`memory`] |
//! | limit the work of operators | [`work`] |
//! | know which kernels exist for speed only | [`fast`] |
//! | read attributes and stored tensors | [`attributes::Attributes`], [`decode`] |
//!
//! Operators work on [`AnyTensor`](typeloom_tensor::any_tensor::AnyTensor)s of every element type that ONNX
//! allows, with ONNX semantics, including broadcasting, negative axes, empty tensors and tensors of rank 0.
//! Operators that only move elements work on bytes and accept every type. Operators that compute support
//! `f32`, `f64` and the integers; 16-bit floats are widened to `f32` before the kernel and rounded once after
//! it.
//!
//! **Invariant:** an unsupported call returns a [`KernelError`](error::KernelError) that names the operator
//! and, if relevant, the element type. It never produces a wrong result.
//!
//! **Limit:** control flow is not implemented here. The runtime executes operators with graph attributes.

pub mod attributes;
pub mod call;
pub mod decode;
mod element;
pub mod error;
pub mod fast;
mod math;
pub mod memory;
mod minifloat;
mod movement;
pub mod ops;
mod shape;
pub mod work;

//! ONNX operators on the processor: the embedded backend.
//!
//! | to | use |
//! |---|---|
//! | run one operator | [`ops::find`], then [`ops::Operator::run`] on a [`call::Call`] |
//! | hold what operators take and give | [`value::Value`] |
//! | run convolutions and what follows them as one kernel | [`fused::Fused`] |
//! | reuse the memory of dead tensors | [`memory`] |
//! | read attributes and stored tensors | [`attributes::Attributes`], [`decode`] |
//!
//! Operators work on [`AnyTensor`](typeloom_types::any_tensor::AnyTensor)s of every element type that ONNX
//! allows them, with ONNX's meaning: broadcasting, negative axes, empty tensors and tensors of rank 0
//! included. Operators that only move elements work on bytes and take every type. Operators that compute
//! know `f32`, `f64` and the whole numbers; 16-bit floats are widened to `f32` around them and rounded
//! once, at the end.
//!
//! **Invariant:** what is not supported is a [`KernelError`](error::KernelError) that names the operator
//! and, where it is the reason, the element type; never another result.
//!
//! **Invariant:** control flow is not here: an operator that holds a graph is run by the runtime, which
//! knows names and scopes.

pub mod error;

pub mod value;

pub mod attributes;

pub mod decode;

pub mod call;

mod shape;

mod element;

pub mod memory;

pub mod threads;

mod product;

mod minifloat;

mod movement;

pub mod ops;

pub mod fused;

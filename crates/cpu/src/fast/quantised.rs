//! Quantised tensors: conversions between floats and 8-bit integers, products and convolutions of 8-bit
//! integers, and their results in 8 bits.
//!
//! The plain forms in [`ops::quantize`](crate::ops::quantize) take every type. Results are equal in every
//! bit, see its tests and `tests/quantized.rs`.

pub(crate) mod convolution;
pub(crate) mod linear;
pub(crate) mod product;
pub(crate) mod requantize;

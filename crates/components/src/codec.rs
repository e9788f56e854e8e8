//! Codecs: compact encodings of tensors.
//!
//! [`Int8`](int8::Int8) reduces 32-bit floats to a quarter of their size, with an error of up to half a
//! quantization step. [`Deflated`](deflated::Deflated) is lossless and accepts any tensor. Messages of both
//! contain the element type and the shape, so they are self-contained. Decoders validate the message and its
//! sizes before they allocate memory for the tensor.

pub mod deflated;
pub mod int8;
pub mod message;

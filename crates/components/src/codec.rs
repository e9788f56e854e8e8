//! Codecs: tensors as fewer bytes.
//!
//! [`Int8`](int8::Int8) keeps a quarter of 32-bit floats, and each value up to half a step. [`Deflated`](deflated::Deflated)
//! keeps every bit of any tensor. Both write the element type and the shape into the message, so that whoever decodes
//! needs nothing but the message; and both put together what they read from bytes only after it was checked and counted.

pub mod deflated;

pub mod int8;

pub mod message;

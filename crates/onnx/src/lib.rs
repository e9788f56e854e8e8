//! ONNX files: owned messages, borrowed views, the textual syntax and the splice writer.
//!
//! | to | use |
//! |---|---|
//! | check a file | [`view`]: borrowed, lazy, never reads weights |
//! | build or edit a model | [`messages`]: owned, complete, unknown fields kept |
//! | walk or rename nested graphs, inline calls of functions | [`nested`], [`inline`] |
//! | write a few changes into a large file | [`splice`]: every untouched byte copied verbatim |
//! | show a model to people, or take one from them | [`text`]: ONNX's textual syntax |
//! | read protobuf itself | [`wire`]: records with offsets |
//!
//! **Invariant:** no input makes this crate panic, overflow the stack or allocate beyond a multiple of the input's size;
//! malformed bytes are a [`DecodeError`] with the offset of the fault.

pub mod error;
pub mod inline;
pub mod lfs;
pub mod messages;
pub mod nested;
pub mod splice;
pub mod text;
mod typed_field;
pub mod view;
pub mod wire;

#[cfg(test)]
mod testing;

pub use error::{DecodeError, ErrorKind};
/// The protobuf library behind [`messages`]: its `Message` trait encodes and decodes them.
pub use prost;

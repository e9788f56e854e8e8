//! ONNX files: owned messages, borrowed views, the textual syntax and the splice writer.
//!
//! | task | module |
//! |---|---|
//! | check a file | [`view`]: borrowed and lazy, does not read weights |
//! | build or edit a model | [`messages`]: owned and complete, with unknown fields |
//! | traverse or rename nested graphs, inline function calls | [`nested`], [`inline`] |
//! | compare the names of operator domains | [`domain`] |
//! | find the files with tensors | [`external`] |
//! | change a few fields of a large file | [`splice`]: copies all other bytes verbatim |
//! | print or parse a model | [`text`]: ONNX's textual syntax |
//! | decode protobuf | [`wire`]: records with offsets |
//!
//! **Invariant:** for any input, this crate does not panic, overflow the stack or allocate more than a
//! multiple of the input's size. Malformed bytes are a [`DecodeError`] with an offset.

pub mod domain;
pub mod error;
pub mod external;
pub mod header;
pub mod inline;
pub mod lfs;
pub mod messages;
pub mod nested;
pub mod other_format;
pub mod splice;
pub mod text;
mod typed_field;
pub mod view;
pub mod wire;

#[cfg(test)]
mod testing;

pub use error::{DecodeError, ErrorKind};
/// The protobuf library of [`messages`]; its `Message` trait encodes and decodes them.
pub use prost;

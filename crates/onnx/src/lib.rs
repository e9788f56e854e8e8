//! ONNX files: owned messages, borrowed views, the textual syntax and the splice writer.

pub mod error;
pub mod messages;
pub mod splice;
pub mod text;
pub mod view;
pub mod wire;

#[cfg(test)]
mod testing;

pub use error::{DecodeError, ErrorKind};

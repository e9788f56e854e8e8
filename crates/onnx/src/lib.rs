//! ONNX files: owned messages, borrowed views, the textual syntax and the splice writer.

pub mod error;
pub mod messages;
pub mod text;
pub mod view;
pub mod wire;

pub use error::{DecodeError, ErrorKind};

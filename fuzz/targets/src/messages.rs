//! Owned messages.

use typeloom_onnx::messages::ModelProto;
use typeloom_onnx::prost::Message as _;
use typeloom_onnx::text::{PrintOptions, print_model};

/// Decodes, encodes and decodes again.
///
/// # Panics
/// If a decoded message changes when it is encoded and decoded again.
pub fn messages(bytes: &[u8]) {
    let Ok(model) = ModelProto::decode(bytes) else { return };
    let written = model.encode_to_vec();
    let read = ModelProto::decode(written.as_slice()).expect("an encoded model can be decoded");
    // Compares bytes because a NaN differs from itself.
    assert_eq!(read.encode_to_vec(), written, "writing is stable");
    let _ = print_model(&read, &PrintOptions::display());
}

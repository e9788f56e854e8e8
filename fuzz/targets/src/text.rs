//! The textual syntax.

use typeloom_onnx::prost::Message as _;
use typeloom_onnx::text::{PrintOptions, parse_model, parse_node, parse_type, print_model};

/// Parses the bytes as a model, a node and a type; prints the model and parses it again.
///
/// # Panics
/// If the printed model does not parse, or parses to a different model.
pub fn text(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = parse_node(&text);
    let _ = parse_type(&text);
    let Ok(model) = parse_model(&text) else { return };
    let printed = print_model(&model, &PrintOptions::round_trip());
    let again = parse_model(&printed.text).expect("a printed model can be parsed");
    if printed.losses.is_empty() {
        let reprinted = print_model(&again, &PrintOptions::round_trip());
        assert_eq!(reprinted.text, printed.text, "printing is stable");
    }
    crate::check(&model.encode_to_vec());
}

//! Models for tests.

use typeloom_onnx::prost::Message as _;
use typeloom_solver::model::Options;

use crate::scene::Scene;

/// The scene of a model, with its diagnostics.
pub(crate) fn scene_of(bytes: &[u8]) -> Scene {
    let options = Options { functions: true, ..Options::default() };
    let mut checked = typeloom_ops::check::check(bytes, &options).expect("the model can be checked");
    let diagnostics = checked.diagnostics();
    crate::scene::scene(&mut checked, &diagnostics)
}

/// The scene of a model in ONNX's textual syntax, without its header.
pub(crate) fn scene_of_text(text: &str) -> Scene {
    let header = if text.starts_with('<') { "" } else { "<ir_version: 10, opset_import: [\"\" : 21]>\n" };
    let bytes = typeloom_onnx::text::model_bytes(&format!("{header}{text}")).expect("the text is a model");
    scene_of(&bytes)
}

/// The bytes of a model.
pub(crate) fn bytes_of(model: &typeloom_onnx::messages::ModelProto) -> Vec<u8> {
    model.encode_to_vec()
}

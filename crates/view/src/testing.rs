//! Models and checks for tests.

mod invariants;
mod syntax;

use std::fs;
use std::path::{Path, PathBuf};

use typeloom_onnx::messages::{
    GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorShapeProto, TypeProto, ValueInfoProto,
    type_proto,
};
use typeloom_onnx::prost::Message as _;
use typeloom_solver::model::Options;

use crate::scene::Scene;

pub(crate) use invariants::{drawing_problems, scene_problems};
pub(crate) use syntax::{dot_problem, mermaid_problem, svg_problem};

/// The scene of a model, with its diagnostics; `None` if it cannot be checked.
pub(crate) fn scene_of_bytes(bytes: &[u8]) -> Option<Scene> {
    let options = Options { functions: true, ..Options::default() };
    let mut checked = typeloom_ops::check::check(bytes, &options).ok()?;
    let diagnostics = checked.diagnostics();
    Some(crate::scene::scene(&mut checked, &diagnostics))
}

/// The scene of a model in ONNX's textual syntax, without its header.
pub(crate) fn scene_of_text(text: &str) -> Scene {
    let header = if text.starts_with('<') { "" } else { "<ir_version: 10, opset_import: [\"\" : 21]>\n" };
    let bytes = typeloom_onnx::text::model_bytes(&format!("{header}{text}")).expect("the text is a model");
    scene_of_bytes(&bytes).expect("the model can be checked")
}

/// The scene of a graph.
pub(crate) fn scene_of_graph(graph: GraphProto) -> Scene {
    let import = OperatorSetIdProto { version: Some(21), ..OperatorSetIdProto::default() };
    let model = ModelProto {
        ir_version: Some(10),
        opset_import: vec![import],
        graph: Some(graph),
        ..ModelProto::default()
    };
    scene_of_bytes(&model.encode_to_vec()).expect("the model can be checked")
}

/// A node.
pub(crate) fn node(operator: &str, name: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    NodeProto {
        op_type: operator.into(),
        name: name.into(),
        input: own(inputs),
        output: own(outputs),
        ..NodeProto::default()
    }
}

/// A scalar of floats.
pub(crate) fn float(name: &str) -> ValueInfoProto {
    let tensor = type_proto::Tensor {
        elem_type: Some(1),
        shape: Some(TensorShapeProto::default()),
        ..type_proto::Tensor::default()
    };
    let ty = TypeProto { value: Some(type_proto::Value::TensorType(tensor)), ..TypeProto::default() };
    ValueInfoProto { name: name.into(), r#type: Some(ty), ..ValueInfoProto::default() }
}

/// The recorded models and those of the repository, in order. If the recorded ones are missing, prints a note.
pub(crate) fn models() -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let recorded = std::env::var_os("TYPELOOM_CONFORMANCE")
        .map_or_else(|| here.join("../../../shared/conformance"), PathBuf::from);
    if !recorded.is_dir() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "no recorded cases in {}", recorded.display());
        println!("skipped: no recorded cases in {}", recorded.display());
    }
    let mut found = Vec::new();
    let mut folders = vec![recorded, here.join("../../models"), here.join("../../spec/models")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "onnx") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The answer of an engine.
pub(crate) fn ask(engine: &mut crate::engine::Engine, request: serde_json::Value) -> serde_json::Value {
    serde_json::from_str(&engine.answer(&request.to_string())).expect("the answer is JSON")
}

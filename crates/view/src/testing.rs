//! Models and checks for tests.

mod invariants;
mod syntax;

use std::fs;
use std::path::{Path, PathBuf};

use typeloom_onnx::messages::attribute_proto::AttributeType;
use typeloom_onnx::messages::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TensorShapeProto,
    TypeProto, ValueInfoProto, type_proto,
};
use typeloom_onnx::prost::Message as _;
use typeloom_solver::model::Options;
use typeloom_testing::number;

use crate::scene::{Assignment, MarkId, Scene, Target, Verdict};

pub(crate) use invariants::{drawing_problems, scene_problems};
pub(crate) use syntax::{dot_problem, mermaid_problem, svg_problem};

/// The scene of a model, with its diagnostics; `None` if it cannot be checked.
pub(crate) fn scene_of_bytes(bytes: &[u8]) -> Option<Scene> {
    let options = Options { functions: true, trace: true, ..Options::default() };
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

/// Adds a target with the places of the first nodes of the main graph. Each node of the device is a partition.
pub(crate) fn add_target(scene: &mut Scene, name: &str, places: &[Assignment]) {
    let target = Target {
        name: name.to_owned(),
        verdict: Verdict::RunsWithFallback,
        is_measured: true,
        places: Vec::new(),
        crossing: Some("4*N".to_owned()),
        conditions: vec!["N = 1".to_owned()],
        fixed: vec!["M".to_owned()],
        marks: (0..scene.marks.len()).map(MarkId::new).collect(),
    };
    let mut partitions = 0..;
    let placed = places.iter().enumerate().map(|(at, place)| {
        let partition = (*place == Assignment::Device).then(|| partitions.next()).flatten();
        (at, *place, partition)
    });
    scene.add_target(target, placed);
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

/// The recorded models and those of the repository, in order; every twelfth recorded one without
/// `TYPELOOM_TESTS=all`. If the recorded ones are missing, prints a note.
pub(crate) fn models() -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let recorded = std::env::var_os("TYPELOOM_CONFORMANCE")
        .map_or_else(|| here.join("../../../shared/conformance"), PathBuf::from);
    if !recorded.is_dir() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "no recorded cases in {}", recorded.display());
        println!("skipped: no recorded cases in {}", recorded.display());
    }
    let recorded = files(vec![recorded]).into_iter().step_by(number(12, 1));
    let mut all: Vec<PathBuf> = recorded.chain(own_models()).collect();
    all.sort();
    all
}

/// The models of the repository, in order.
pub(crate) fn own_models() -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    files(vec![here.join("../../models"), here.join("../../spec/models")])
}

/// The models in some folders.
fn files(mut folders: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut found = Vec::new();
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

/// A decoder of blocks with long scope names, as an exporter writes them, of about `nodes` nodes.
pub(crate) fn exporter_like(nodes: usize) -> Scene {
    scene_of_graph(exporter_graph(nodes))
}

/// The graph of [`exporter_like`].
pub(crate) fn exporter_graph(nodes: usize) -> GraphProto {
    const BLOCK: [(&str, &str, usize); 10] = [
        ("input_layernorm", "LayerNormalization", 2),
        ("self_attn/q_proj", "MatMul", 1),
        ("self_attn/k_proj", "MatMul", 1),
        ("self_attn/v_proj", "MatMul", 1),
        ("self_attn", "Mul", 0),
        ("self_attn", "Softmax", 0),
        ("self_attn/o_proj", "MatMul", 1),
        ("mlp/gate_proj", "MatMul", 1),
        ("mlp/act_fn", "Sigmoid", 0),
        ("mlp", "Add", 0),
    ];
    let mut graph = GraphProto { input: vec![matrix("input_ids", None)], ..GraphProto::default() };
    let mut previous = "input_ids".to_owned();
    let mut earlier = previous.clone();
    for layer in 0..nodes.div_ceil(BLOCK.len()) {
        for (at, (scope, operator, weights)) in BLOCK.iter().enumerate() {
            let name = format!("/model/layers.{layer}/{scope}/{operator}_{at}");
            let output = format!("{name}_output_0");
            let mut inputs = vec![previous.clone()];
            if ["Mul", "Add"].contains(operator) {
                inputs.push(earlier.clone());
            }
            for weight in 0..*weights {
                let kind = ["weight", "bias"][weight];
                let name = format!("model.layers.{layer}.{}.{kind}", scope.replace('/', "."));
                let square = *operator == "MatMul";
                graph.initializer.push(stored(&name, square));
                inputs.push(name);
            }
            let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
            let mut made = node(operator, &name, &inputs, &[&output]);
            if *operator == "Softmax" || *operator == "LayerNormalization" {
                made.attribute.push(axis());
            }
            graph.node.push(made);
            if at == 0 {
                earlier = std::mem::replace(&mut previous, output);
            } else {
                previous = output;
            }
        }
    }
    graph.output = vec![matrix(&previous, None)];
    graph
}

/// The attribute `axis = -1`.
fn axis() -> AttributeProto {
    AttributeProto {
        name: "axis".into(),
        r#type: Some(AttributeType::Int as i32),
        i: Some(-1),
        ..AttributeProto::default()
    }
}

/// A matrix of floats with a symbol, `batch` by default.
fn matrix(name: &str, symbol: Option<&str>) -> ValueInfoProto {
    use typeloom_onnx::messages::tensor_shape_proto::{Dimension, dimension};
    let mut value = float(name);
    if let Some(TypeProto { value: Some(type_proto::Value::TensorType(tensor)), .. }) = &mut value.r#type {
        let dim = |value| Dimension { value: Some(value), ..Dimension::default() };
        let symbol = dimension::Value::DimParam(symbol.unwrap_or("batch").into());
        tensor.shape = Some(TensorShapeProto {
            dim: vec![dim(symbol), dim(dimension::Value::DimValue(2))],
            ..TensorShapeProto::default()
        });
    }
    value
}

/// An initializer of two rows or one.
fn stored(name: &str, is_square: bool) -> TensorProto {
    TensorProto {
        name: name.into(),
        data_type: Some(1),
        dims: if is_square { vec![2, 2] } else { vec![2] },
        float_data: vec![0.5; if is_square { 4 } else { 2 }],
        ..TensorProto::default()
    }
}

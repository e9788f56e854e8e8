//! The measured models.
//!
//! The nine light networks of the recorded cases have the architecture of real ones, and compute their
//! weights from constants at run time. `resnet50` and `squeezenet` are two of them with full-size weights in
//! the file. No package registry has pretrained weights, so they are random, with a variance that keeps
//! values in range. Speed does not depend on them.

use std::collections::HashMap;
use std::env;
use std::path::{Path, PathBuf};

use crate::contender::Threads;
use anyhow::{Context, Result};
use typeloom::{GraphProto, ModelProto};
use typeloom_onnx::messages::TensorProto;
use typeloom_onnx::messages::tensor_shape_proto::dimension;
use typeloom_onnx::messages::{read, type_proto};
use typeloom_onnx::prost::Message as _;
use typeloom_onnx::prost::bytes::Bytes;
use typeloom_types::dtype::Dtype;

/// Purpose of a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A network that computes its weights at run time.
    Light,
    /// A network with full-size weights.
    Full,
    /// A chain of this number of operators on a tensor of few elements, to measure dispatch.
    Chain(u64),
}

impl Kind {
    /// Thread counts for a model. Only the networks with weights are run with several threads; for the others
    /// one row is enough.
    pub fn threads(self) -> &'static [Threads] {
        match self {
            Self::Full => &[Threads::One, Threads::All],
            Self::Light | Self::Chain(_) => &[Threads::One],
        }
    }
}

pub struct Case {
    pub name: &'static str,
    /// Purpose in the benchmark.
    pub kind: Kind,
    /// Produces the model file.
    pub make: Box<dyn Fn() -> Result<Vec<u8>>>,
}

/// The light networks: names in the report, and file names.
const LIGHT: &[(&str, &str)] = &[
    ("light alexnet", "light_bvlc_alexnet"),
    ("light densenet121", "light_densenet121"),
    ("light inception v1", "light_inception_v1"),
    ("light inception v2", "light_inception_v2"),
    ("light resnet50", "light_resnet50"),
    ("light shufflenet", "light_shufflenet"),
    ("light squeezenet", "light_squeezenet"),
    ("light vgg19", "light_vgg19"),
    ("light zfnet512", "light_zfnet512"),
];

/// Names of the light networks in a quick run.
const QUICK: &[&str] = &["light shufflenet", "light squeezenet"];

/// The networks with weights, and the light networks that they are made from.
const FULL: &[(&str, &str)] = &[("resnet50", "light_resnet50"), ("squeezenet", "light_squeezenet")];

/// Number of operators of the chain.
const CHAIN: u64 = 1000;

/// All models, or the subset of a quick run.
pub fn all(quick: bool) -> Vec<Case> {
    let mut cases = vec![Case {
        name: "chain",
        kind: Kind::Chain(CHAIN),
        make: Box::new(|| Ok(typeloom_onnx::text::model_bytes(&chain(CHAIN))?)),
    }];
    for &(name, file) in FULL {
        let make = Box::new(move || Ok(with_weights(read(Bytes::from(stored(file)?))?).encode_to_vec()));
        cases.push(Case { name, kind: Kind::Full, make });
    }
    for &(name, file) in LIGHT.iter().filter(|(name, _)| !quick || QUICK.contains(name)) {
        cases.push(Case { name, kind: Kind::Light, make: Box::new(move || stored(file)) });
    }
    cases
}

fn stored(file: &str) -> Result<Vec<u8>> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance");
    let root = env::var_os("TYPELOOM_CONFORMANCE").map_or(beside, PathBuf::from);
    let path = root.join("backend/light").join(format!("{file}.onnx"));
    std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
}

/// Consecutive additions, each of the previous value and the input, so that an optimizer can remove none.
fn chain(nodes: u64) -> String {
    let mut text = "<ir_version: 8, opset_import: [\"\" : 14]> g (float[4] x) => (float[4] y) {\n".to_owned();
    let name = |at: u64| match at {
        0 => "x".to_owned(),
        at if at == nodes => "y".to_owned(),
        at => format!("h{at}"),
    };
    for at in 1..=nodes {
        text += &format!("{} = Add({}, x)\n", name(at), name(at - 1));
    }
    text + "}\n"
}

/// The required inputs in order, with their extents; all are of floats.
pub fn inputs(model: &[u8]) -> Result<Vec<(String, Vec<usize>)>> {
    let model: ModelProto = read(Bytes::copy_from_slice(model))?;
    let graph = model.graph.context("the model has no graph")?;
    let is_given = |name: &str| !graph.initializer.iter().any(|tensor| tensor.name() == name);
    let mut inputs = Vec::new();
    for info in graph.input.iter().filter(|info| is_given(info.name())) {
        let ty = info.r#type.as_ref().and_then(|ty| ty.value.as_ref());
        let Some(type_proto::Value::TensorType(tensor)) = ty else { continue };
        let dims = tensor.shape.iter().flat_map(|shape| &shape.dim);
        let extents = dims.map(|dim| match dim.value {
            Some(dimension::Value::DimValue(extent)) => usize::try_from(extent).context("a negative extent"),
            Some(dimension::Value::DimParam(_)) | None => Ok(1),
        });
        inputs.push((info.name().to_owned(), extents.collect::<Result<_>>()?));
    }
    Ok(inputs)
}

/// Replaces the results of the `ConstantOfShape` nodes by random initializers.
fn with_weights(mut model: ModelProto) -> ModelProto {
    let Some(graph) = &mut model.graph else { return model };
    let shapes: HashMap<String, Vec<i64>> =
        graph.initializer.iter().filter_map(|it| Some((it.name().to_owned(), integers(it)?))).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut weights = Vec::new();
    let mut replaced = Vec::new();
    for node in graph.node.iter().filter(|node| node.op_type() == "ConstantOfShape") {
        let (Some(input), Some(output)) = (node.input.first(), node.output.first()) else { continue };
        let Some(shape) = shapes.get(input) else { continue };
        weights.push(random(graph, output, shape, &mut state));
        replaced.push((input.clone(), output.clone()));
    }
    graph.node.retain(|node| !node.output.iter().any(|it| replaced.iter().any(|(_, output)| output == it)));
    graph.initializer.retain(|tensor| !replaced.iter().any(|(input, _)| input == tensor.name()));
    graph.initializer.extend(weights);
    graph.input.retain(|info| !shapes.contains_key(info.name()));
    // Since version 4 initializers need not be inputs.
    model.ir_version = Some(8);
    model
}

fn integers(tensor: &TensorProto) -> Option<Vec<i64>> {
    if tensor.data_type != Some(Dtype::I64.onnx_number()) {
        return None;
    }
    if !tensor.int64_data.is_empty() {
        return Some(tensor.int64_data.clone());
    }
    let raw = tensor.raw_data.as_ref()?;
    Some(raw.chunks_exact(8).filter_map(|it| Some(i64::from_le_bytes(it.try_into().ok()?))).collect())
}

/// A random weight. Its use and shape determine the magnitude of its elements.
fn random(graph: &GraphProto, name: &str, shape: &[i64], state: &mut u64) -> TensorProto {
    let count: i64 = shape.iter().product();
    let normalised = graph.node.iter().find_map(|node| {
        let place = node.input.iter().position(|input| input == name)?;
        (node.op_type() == "BatchNormalization").then_some(place)
    });
    // Scale and variance are around one, biases and means around zero; weights are divided by the number of
    // summands.
    let (centre, width) = match (normalised, shape) {
        (Some(1 | 4), _) => (1.0, 0.1),
        (Some(_), _) | (None, [] | [_]) => (0.0, 0.1),
        (None, [_, rest @ ..]) => (0.0, (6.0 / rest.iter().product::<i64>().max(1) as f64).sqrt()),
    };
    let mut bytes = Vec::with_capacity(usize::try_from(count).unwrap_or(0) * 4);
    for _ in 0..count {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        let unit = (*state >> 11) as f64 / (1_u64 << 53) as f64;
        bytes.extend(((centre + width * (2.0 * unit - 1.0)) as f32).to_le_bytes());
    }
    TensorProto {
        name: name.into(),
        dims: shape.to_vec(),
        data_type: Some(Dtype::F32.onnx_number()),
        raw_data: Some(Bytes::from(bytes)),
        ..TensorProto::default()
    }
}

//! The models.
//!
//! The nine light networks of the recorded cases have the architecture of real ones, and make their weights of constants when
//! they run. `resnet50` and `squeezenet` are two of them with weights of full size in the file: pretrained ones are in no
//! package registry, so they are random, of a variance that keeps values in range. Speed does not depend on them.

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

/// What a model is there for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A network whose weights are made when it runs.
    Light,
    /// A network with weights of full size.
    Full,
    /// A chain of so many operators on a tensor of few elements: what dispatch costs.
    Chain(u64),
}

impl Kind {
    /// How many threads a model is run on. The networks with weights show what threads are good for; one row each is enough of the
    /// others.
    pub fn threads(self) -> &'static [Threads] {
        match self {
            Self::Full => &[Threads::One, Threads::All],
            Self::Light | Self::Chain(_) => &[Threads::One],
        }
    }
}

/// A model to run.
pub struct Case {
    /// What it is called.
    pub name: &'static str,
    /// What it is there for.
    pub kind: Kind,
    /// Makes the file.
    pub make: Box<dyn Fn() -> Result<Vec<u8>>>,
}

/// The light networks: what they are called here, and their files.
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

/// Those that a quick run has.
const QUICK: &[&str] = &["light shufflenet", "light squeezenet"];

/// The networks with weights, and those they are made from.
const FULL: &[(&str, &str)] = &[("resnet50", "light_resnet50"), ("squeezenet", "light_squeezenet")];

/// How many operators the chain has.
const CHAIN: u64 = 1000;

/// All models, or the few of a quick run.
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

/// Additions one after the other, each of the value before and the input, so that none can be left out.
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

/// The inputs that have to be given, in order, with their extents; all are of floats.
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

/// The model with what its `ConstantOfShape` nodes make as random initializers.
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

/// A weight whose size and use say how large its elements may be.
fn random(graph: &GraphProto, name: &str, shape: &[i64], state: &mut u64) -> TensorProto {
    let count: i64 = shape.iter().product();
    let normalised = graph.node.iter().find_map(|node| {
        let place = node.input.iter().position(|input| input == name)?;
        (node.op_type() == "BatchNormalization").then_some(place)
    });
    // Scale and variance lie around one; biases and means around zero; weights are divided by what they sum over.
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
        name: Some(name.to_owned()),
        dims: shape.to_vec(),
        data_type: Some(Dtype::F32.onnx_number()),
        raw_data: Some(Bytes::from(bytes)),
        ..TensorProto::default()
    }
}

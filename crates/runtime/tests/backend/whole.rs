//! Whole models: those of the repository and the light networks of the recorded cases, with random weights
//! and inputs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use typeloom_cpu::ops::generate::Random;
use typeloom_onnx::messages::tensor_shape_proto::{Dimension, dimension};
use typeloom_onnx::messages::{
    GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, read, type_proto,
};
use typeloom_runtime::session::Port;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::value_check::SymbolBindings;
use typeloom_tensor::value_type::{Dim, ValueType};
use typeloom_types::dtype::{Dtype, DtypeClass};

use crate::compare;

/// A model and its name.
pub(crate) struct Whole {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// Whether the weights are generated.
    pub(crate) is_light: bool,
}

/// The models of the repository, and the light networks if the recorded cases are present.
pub(crate) fn list() -> Vec<Whole> {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let light = crate::cases::folder().map(|folder| folder.join("light"));
    let folders = [(Some(ours), false), (light, true)];
    let found = folders.into_iter().filter_map(|(folder, is_light)| Some((folder?, is_light)));
    found.flat_map(|(folder, is_light)| models(&folder, is_light)).collect()
}

fn models(folder: &Path, is_light: bool) -> Vec<Whole> {
    let files = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut paths: Vec<PathBuf> = files.map(|file| file.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "onnx"));
    paths.sort();
    let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    paths.into_iter().map(|path| Whole { name: name(&path), path, is_light }).collect()
}

impl Whole {
    /// The model. Each weight of a light network repeats a single number, which would hide most errors, so it
    /// is replaced. The final likelihoods are close to 0 or 1, so the input of the last softmax becomes an
    /// output as well.
    pub(crate) fn model(&self) -> ModelProto {
        let bytes =
            std::fs::read(&self.path).unwrap_or_else(|error| panic!("{}: {error}", self.path.display()));
        let mut model: ModelProto = read(bytes.into()).expect("the file is a model");
        if let Some(graph) = model.graph.as_mut().filter(|_| self.is_light) {
            fill(graph);
            show(graph);
        }
        model
    }

    /// A light network on a 32 by 32 image, if the network is small and accepts any image size, that is, if
    /// it averages all remaining positions at the end.
    #[allow(dead_code, reason = "not every test that includes this file uses it")]
    pub(crate) fn small(&self) -> Option<ModelProto> {
        let mut model = self.model();
        let graph = model.graph.as_mut()?;
        let has = |op: &str| graph.node.iter().any(|node| node.op_type() == op);
        if !has("GlobalAveragePool") || has("Reshape") || graph.node.len() > 100 {
            return None;
        }
        for dim in dims(graph.input.iter_mut().chain(&mut graph.output)) {
            if dim.value == Some(dimension::Value::DimValue(224)) {
                dim.value = Some(dimension::Value::DimValue(32));
            }
        }
        Some(model)
    }

    /// The model with numbers for the symbols of its inputs.
    #[allow(dead_code, reason = "not every test that includes this file uses it")]
    pub(crate) fn fixed(&self) -> ModelProto {
        let mut model = self.model();
        let Some(graph) = &mut model.graph else { return model };
        let mut numbers: HashMap<String, i64> = HashMap::new();
        for dim in dims(graph.input.iter_mut()) {
            if let Some(dimension::Value::DimParam(symbol)) = &dim.value {
                let next = 2 + numbers.len() as i64;
                dim.value = Some(dimension::Value::DimValue(*numbers.entry(symbol.clone()).or_insert(next)));
            }
        }
        // The outputs declare dims with the same symbols; they are solved instead.
        for info in &mut graph.output {
            info.r#type = None;
        }
        graph.value_info.clear();
        model
    }
}

/// The dims that values declare.
fn dims<'g>(infos: impl Iterator<Item = &'g mut ValueInfoProto>) -> impl Iterator<Item = &'g mut Dimension> {
    let shapes = infos.filter_map(|info| match info.r#type.as_mut()?.value.as_mut()? {
        type_proto::Value::TensorType(tensor) => tensor.shape.as_mut(),
        _ => None,
    });
    shapes.flat_map(|shape| &mut shape.dim)
}

/// Replaces weights that repeat a single number with random ones.
fn fill(graph: &mut GraphProto) {
    let mut random = Random::new(Some(7.0));
    let shapes: HashMap<String, Vec<i64>> =
        graph.initializer.iter().map(|it| (it.name().to_owned(), integers(it))).collect();
    let (made, kept): (Vec<NodeProto>, Vec<NodeProto>) =
        std::mem::take(&mut graph.node).into_iter().partition(|node| node.op_type() == "ConstantOfShape");
    graph.node = kept;
    for node in made {
        let dims = shapes.get(&node.input[0]).expect("the shape of a weight is written down").clone();
        let shape: Vec<usize> = dims.iter().map(|dim| usize::try_from(*dim).expect("an extent")).collect();
        let count = shape.iter().product::<usize>();
        // Keeps the variance of a layer's result close to that of its input; scales and variances are about
        // 1.
        let (low, high) = match shape.get(1..) {
            Some(rest @ [_, ..]) => {
                let bound = (6.0 / rest.iter().product::<usize>() as f64).sqrt();
                (-bound, bound)
            }
            Some([]) | None => (0.5, 1.5),
        };
        let bytes: Vec<u8> =
            (0..count).flat_map(|_| ((low + (high - low) * random.uniform()) as f32).to_le_bytes()).collect();
        graph.initializer.push(TensorProto {
            dims,
            data_type: Some(Dtype::F32.onnx_number()),
            name: node.output[0].clone().into(),
            raw_data: Some(bytes.into()),
            ..TensorProto::default()
        });
    }
}

fn integers(tensor: &TensorProto) -> Vec<i64> {
    let tensor = typeloom_cpu::decode::tensor(tensor).expect("an initializer");
    tensor.to_vec().unwrap_or_default()
}

/// Makes the input of the last softmax an output.
fn show(graph: &mut GraphProto) {
    let Some(last) = graph.node.last().filter(|node| node.op_type() == "Softmax") else { return };
    let before = last.input[0].clone();
    // Its type is solved.
    graph.output.push(ValueInfoProto { name: before.into(), ..ValueInfoProto::default() });
}

/// Random values for the inputs of a model.
pub(crate) fn inputs(ports: &[Port]) -> HashMap<String, Datum> {
    let mut random = Random::new(Some(3.0));
    let mut symbols = SymbolBindings::default();
    let given = ports.iter().filter(|port| !port.has_default);
    given.map(|port| (port.name.clone(), value(&port.ty, &mut symbols, &mut random))).collect()
}

fn value(ty: &ValueType, symbols: &mut SymbolBindings, random: &mut Random) -> Datum {
    let (Some(dtype), Some(shape)) = (ty.dtype(), ty.shape.as_deref()) else {
        panic!("an input of type {ty} cannot be generated");
    };
    let mut extent = |dim: &Dim| {
        if *dim == Dim::Unknown {
            return 2;
        }
        let unbound: Vec<String> = symbols.unbound(dim).map(str::to_owned).collect();
        for symbol in unbound {
            let size = 2 + symbols.iter().count();
            symbols.bind(&symbol, size);
        }
        symbols.evaluate(dim).expect("sums and products of symbols have values")
    };
    let shape: Vec<usize> = shape.iter().map(&mut extent).collect();
    let number = |_| match dtype.class() {
        DtypeClass::Float => random.uniform() as f32,
        // Integers often are counts or indices; 0 and 1 are valid in most ranges.
        _ => (random.bits() % 2) as f32,
    };
    let numbers: Vec<f32> = (0..shape.iter().product::<usize>()).map(number).collect();
    let made = AnyTensor::from_vec(&shape, numbers).expect("as many elements as the shape requires");
    Datum::Tensor(compare::cast(&made, dtype).expect("numbers are cast"))
}

/// Description of outputs that differ by more than 1 in 1,000. Differences below 1 in 100,000 of the maximum
/// of a tensor are ignored.
pub(crate) fn difference(found: &[(String, Datum)], expected: &[(String, Datum)]) -> Option<String> {
    if found.len() != expected.len() {
        return Some(format!("{} outputs instead of {}", found.len(), expected.len()));
    }
    found.iter().zip(expected).find_map(|((name, found), (_, expected))| {
        let greatest = greatest(expected);
        if !greatest.is_finite() {
            return Some(format!("`{name}` is not finite, so it cannot be compared"));
        }
        let difference = compare::values(found, expected, (1e-3, 1e-5 * greatest))?;
        Some(format!("`{name}`: {difference}"))
    })
}

fn greatest(value: &Datum) -> f64 {
    let numbers = value.as_tensor().and_then(|tensor| compare::cast(tensor, Dtype::F64));
    let numbers: Vec<f64> = numbers.and_then(|tensor| tensor.to_vec().ok()).unwrap_or_default();
    let larger = |a: f64, b: f64| if b.is_finite() { a.max(b.abs()) } else { f64::INFINITY };
    numbers.into_iter().fold(0.0, larger)
}

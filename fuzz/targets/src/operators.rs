//! Models of one operator with hostile shapes and numbers, checked and run.
//!
//! The bytes choose the operator and its version, then the types, shapes and elements of its inputs, and its
//! attributes: extents of 0 next to huge ones, high ranks, and the extremes of integers.

use std::collections::HashMap;
use std::sync::LazyLock;

use typeloom_onnx::messages::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, ValueInfoProto,
};
use typeloom_onnx::prost::Message as _;
use typeloom_ops::table::Table;
use typeloom_runtime::error::{NodeError, RunError};
use typeloom_runtime::options::{RunLimits, Verify};
use typeloom_runtime::session::Session;
use typeloom_solver::elem::Elem;
use typeloom_solver::model::Options;
use typeloom_solver::signature::{Arity, AttributeKind, FormalType, Schema};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::value_type::Dim;
use typeloom_types::dtype::Dtype;

/// Limits of a run: it takes less than a second in a debug build.
const LIMITS: RunLimits = RunLimits { iterations: 64, steps: 1 << 12, memory: 64 << 20, work: 1 << 20 };

/// Number of elements of an input with elements.
const MAX_ELEMENTS: i64 = 1 << 10;

const EXTENTS: &[i64] = &[0, 1, 2, 3, 4, 7, 64, 1 << 20, 1 << 31, 1 << 40, 1 << 62];

const NUMBERS: &[i64] = &[0, 1, -1, 2, 3, 4, 7, 1 << 16, 1 << 31, 1 << 40, i64::MAX, i64::MIN];

const REALS: &[f32] = &[0.0, 1.0, -1.0, 0.5, 3.0, 1e-30, 1e9, f32::INFINITY, f32::NAN];

const TEXTS: &[&str] =
    &["", "SAME_UPPER", "VALID", "ij,jk->ik", "...i,i...->", "linear", "cubic", "reflect", "bidirectional"];

/// Choices from bytes; the first of each after the last byte.
struct Choices<'b>(&'b [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> usize {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                usize::from(*first)
            }
            None => 0,
        }
    }

    fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.byte() % list.len()].clone()
    }

    fn list<T: Clone>(&mut self, list: &[T]) -> Vec<T> {
        (0..self.byte() % 6).map(|_| self.pick(list)).collect()
    }
}

/// All operators, without those that contain graphs, in all versions.
static SCHEMAS: LazyLock<Vec<&'static Schema>> = LazyLock::new(|| {
    let table = Table::get();
    let names = table.domains().flat_map(|domain| table.names(&domain.name).map(move |name| (domain, name)));
    let schemas = names.flat_map(|(domain, name)| table.versions(&domain.name, name));
    let is_graph = |schema: &Schema| schema.attributes.iter().any(|it| it.kind == AttributeKind::Graph);
    schemas.filter(|schema| !is_graph(schema)).collect()
});

/// Number of operators that the first two bytes choose from.
#[must_use]
pub fn operator_count() -> usize {
    SCHEMAS.len()
}

/// Checks a model of one operator, and runs it within a budget if it is well typed.
///
/// # Panics
/// If the operator panics.
pub fn operators(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let number = choices.byte() | choices.byte() << 8;
    let model = model(SCHEMAS[number % SCHEMAS.len()], &mut choices).encode_to_vec();
    crate::check(&model);
    let Ok(mut checked) = typeloom_ops::check::check(&model, &Options::default()) else { return };
    if !checked.is_ok() {
        return;
    }
    let external = |_: &TensorProto| Err("there are no other files".to_owned());
    let Ok(session) = Session::of_checked_file(&mut checked, &bytes::Bytes::new(), &external, LIMITS) else {
        return;
    };
    let mut inputs = HashMap::new();
    for port in session.inputs() {
        let dims = port.ty.shape.as_deref().unwrap_or_default();
        let shape: Vec<usize> = dims.iter().map(|dim| dim.fixed().unwrap_or(1)).collect();
        let Some(Ok(zeros)) = port.ty.dtype().map(|dtype| AnyTensor::zeros(dtype, &shape)) else { return };
        inputs.insert(port.name.clone(), Datum::Tensor(zeros));
    }
    if let Err(error) = session.run(inputs, Verify::Inputs) {
        assert!(!is_panic(&error), "{error}");
    }
}

fn is_panic(error: &RunError) -> bool {
    match error {
        RunError::Node { error: NodeError::Nested(error), .. } => is_panic(error),
        RunError::Node { error, .. } => matches!(error, NodeError::OperatorPanicked(_)),
        _ => false,
    }
}

fn model(schema: &Schema, choices: &mut Choices<'_>) -> ModelProto {
    let mut graph = GraphProto { name: "g".into(), ..GraphProto::default() };
    let types: Vec<Option<Elem>> = schema
        .type_vars
        .iter()
        .map(|var| {
            let allowed: Vec<Elem> = var.allowed.tensor.iter().collect();
            (!allowed.is_empty()).then(|| choices.pick(&allowed))
        })
        .collect();
    let mut names = Vec::new();
    for formal in &schema.inputs {
        let times = match formal.arity {
            Arity::Required => 1,
            Arity::Optional => choices.byte() % 2,
            Arity::Variadic { min, .. } => min as usize + choices.byte() % 3,
        };
        let elem = match formal.ty {
            FormalType::Var(at) => types.get(usize::from(at)).copied().flatten(),
            FormalType::Tensor(elem) => Some(elem),
        };
        for _ in 0..times {
            let name = format!("x{}", names.len());
            if let Some(elem) = elem {
                let tensor = tensor(&name, elem, choices);
                // An input is only known by its shape.
                if choices.byte().is_multiple_of(3) {
                    let dims = tensor.dims.iter().map(|dim| Dim::Fixed(usize::try_from(*dim).unwrap_or(0)));
                    graph.input.push(input(&name, elem, dims));
                } else {
                    graph.initializer.push(tensor);
                }
            }
            names.push(name);
        }
        if times == 0 {
            names.push(String::new());
        }
    }
    let outputs = 1 + choices.byte() % schema.outputs.len().max(1);
    let output: Vec<String> = (0..outputs).map(|at| format!("y{at}")).collect();
    graph.output.extend(
        output.iter().map(|name| ValueInfoProto { name: name.as_str().into(), ..Default::default() }),
    );
    let mut attribute = Vec::new();
    for declared in &schema.attributes {
        if declared.required || choices.byte().is_multiple_of(2) {
            attribute.push(attribute_of(&declared.name, declared.kind, choices));
        }
    }
    graph.node.push(NodeProto {
        op_type: schema.name.to_string().into(),
        domain: schema.domain.to_string().into(),
        input: names,
        output,
        attribute,
        ..NodeProto::default()
    });
    ModelProto {
        ir_version: Some(10),
        opset_import: vec![OperatorSetIdProto {
            domain: schema.domain.to_string().into(),
            version: Some(i64::from(schema.since_version)),
            ..OperatorSetIdProto::default()
        }],
        graph: Some(graph),
        ..ModelProto::default()
    }
}

fn input(name: &str, elem: Elem, dims: impl Iterator<Item = Dim>) -> ValueInfoProto {
    use typeloom_onnx::messages::tensor_shape_proto::{Dimension, dimension};
    use typeloom_onnx::messages::{TensorShapeProto, TypeProto, type_proto};
    let dim = dims.map(|dim| Dimension {
        value: dim.fixed().map(|fixed| dimension::Value::DimValue(i64::try_from(fixed).unwrap_or(i64::MAX))),
        ..Dimension::default()
    });
    let tensor = type_proto::Tensor {
        elem_type: Some(i32::from(elem.number())),
        shape: Some(TensorShapeProto { dim: dim.collect(), ..TensorShapeProto::default() }),
        ..type_proto::Tensor::default()
    };
    ValueInfoProto {
        name: name.into(),
        r#type: Some(TypeProto {
            value: Some(type_proto::Value::TensorType(tensor)),
            ..TypeProto::default()
        }),
        ..ValueInfoProto::default()
    }
}

/// A tensor with few elements, or with none and any extents.
fn tensor(name: &str, elem: Elem, choices: &mut Choices<'_>) -> TensorProto {
    let rank = match choices.byte() {
        255 => 80,
        byte => byte % 6,
    };
    let mut dims: Vec<i64> = (0..rank).map(|_| choices.pick(EXTENTS)).collect();
    let count = dims.iter().try_fold(1_i64, |count, dim| count.checked_mul(*dim));
    let mut count = if dims.contains(&0) { 0 } else { count.unwrap_or(i64::MAX) };
    if count > MAX_ELEMENTS {
        // Without elements, at one of the axes.
        let at = choices.byte() % dims.len();
        dims[at] = 0;
        count = 0;
    }
    let count = usize::try_from(count).unwrap_or(0);
    let mut tensor = TensorProto {
        name: name.into(),
        dims,
        data_type: Some(i32::from(elem.number())),
        ..TensorProto::default()
    };
    match Dtype::from_onnx_number(i32::from(elem.number())) {
        Some(Dtype::I64) => tensor.int64_data = (0..count).map(|_| choices.pick(NUMBERS)).collect(),
        Some(Dtype::F32) => tensor.float_data = (0..count).map(|_| choices.pick(REALS)).collect(),
        Some(Dtype::String) => tensor.string_data = (0..count).map(|_| choices.pick(TEXTS).into()).collect(),
        Some(dtype) => {
            let len = AnyTensor::byte_len(dtype, &[count]).unwrap_or(0);
            let bytes: Vec<u8> = (0..len).map(|_| (choices.byte() % 2) as u8).collect();
            tensor.raw_data = Some(bytes.into());
        }
        None => {}
    }
    tensor
}

fn attribute_of(name: &str, kind: AttributeKind, choices: &mut Choices<'_>) -> AttributeProto {
    let mut attribute =
        AttributeProto { name: name.into(), r#type: Some(kind as i32), ..AttributeProto::default() };
    match kind {
        AttributeKind::Float => attribute.f = Some(choices.pick(REALS)),
        AttributeKind::Int => attribute.i = Some(choices.pick(NUMBERS)),
        AttributeKind::String => attribute.s = Some(choices.pick(TEXTS).as_bytes().to_vec().into()),
        AttributeKind::Floats => attribute.floats = choices.list(REALS),
        AttributeKind::Ints => attribute.ints = choices.list(NUMBERS),
        AttributeKind::Strings => {
            attribute.strings =
                choices.list(TEXTS).into_iter().map(|text| text.as_bytes().to_vec().into()).collect();
        }
        AttributeKind::Tensor => {
            let elem = choices.pick(&[1_u8, 7, 6, 10, 8]);
            attribute.t = Elem::new(elem).map(|elem| Box::new(tensor("", elem, choices)));
        }
        AttributeKind::Graph
        | AttributeKind::Type
        | AttributeKind::Tensors
        | AttributeKind::Graphs
        | AttributeKind::SparseTensor
        | AttributeKind::SparseTensors
        | AttributeKind::Types => {}
    }
    attribute
}

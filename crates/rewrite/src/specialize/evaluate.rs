//! Nodes that compute constants from constants.
//!
//! The solver follows integers, and not fractions: scales of a `Resize`, or positions of an attention. Nodes
//! on such values are collected into a model without inputs, which the caller runs.
//!
//! Only operators are collected whose result does not depend on the implementation: those that move elements,
//! and the arithmetic that IEEE 754 defines to the last bit. `Sin` or `Exp` stay. So does everything in
//! 16 bits, because runtimes compute several such nodes with 32 bits and round once.

use std::collections::{HashMap, HashSet};

use typeloom_onnx::messages::{
    GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, opset_import, read,
};
use typeloom_solver::elem::Elem;
use typeloom_solver::model::Checked;
use typeloom_solver::program::{Body, Initializer, Origin, StepId, StepKind, ValueId};
use typeloom_solver::solution::Type;

use super::SpecializeError;
use crate::annotate::message_of;
use crate::coerce::layout::NodeId;

/// Runs a model without inputs, and returns its outputs in order; `None` if it cannot.
pub type Evaluate<'e> = dyn Fn(&ModelProto) -> Option<Vec<TensorProto>> + 'e;

/// The largest number of elements of a value.
const MAX_ELEMENTS: i64 = 1 << 16;
/// The largest number of elements of all values.
const MAX_TOTAL: i64 = 1 << 22;

/// Operators with one result for all implementations.
#[rustfmt::skip]
const EXACT: &[&str] = &[
    "Abs", "Add", "And", "Cast", "Ceil", "Clip", "Concat", "Constant", "ConstantOfShape", "Div", "Equal",
    "Expand", "EyeLike", "Flatten", "Floor", "Gather", "GatherElements", "GatherND", "Greater",
    "GreaterOrEqual", "Identity", "Less", "LessOrEqual", "Max", "Min", "Mul", "Neg", "NonZero", "Not",
    "OneHot", "Or", "Pad", "ReduceMax", "ReduceMin", "Relu", "Reshape", "ScatterElements", "ScatterND",
    "Shape", "Sign", "Size", "Slice", "Split", "Squeeze", "Sub", "Tile", "Transpose", "Trilu", "Unsqueeze",
    "Where", "Xor",
];

/// Operators with one result for integers.
const EXACT_FOR_INTEGERS: &[&str] = &["CumSum", "Mod", "Range", "ReduceProd", "ReduceSum"];

/// The values of nodes that compute constants, by node. `known` are those that are proven.
pub(super) fn evaluated(
    checked: &mut Checked<'_>,
    known: &HashMap<ValueId, TensorProto>,
    doubtful: &HashSet<ValueId>,
    evaluate: &Evaluate<'_>,
) -> Result<Vec<(NodeId, ValueId, TensorProto)>, SpecializeError> {
    let body = checked.shared_body();
    let mut graph = GraphProto { name: "constants".into(), ..GraphProto::default() };
    let mut given: HashSet<ValueId> = HashSet::new();
    let mut made: HashSet<ValueId> = HashSet::new();
    let mut found = Vec::new();
    let mut left = MAX_TOTAL;
    let (from, to) = body.graph(body.root()).steps;
    for step in (from..to).map(StepId::new) {
        let outputs: Vec<ValueId> = body.outputs(step).iter().flatten().copied().collect();
        let is_proven = outputs.iter().all(|value| known.contains_key(value));
        if is_proven
            || !is_exact(checked, &body, step)
            || outputs.iter().any(|value| doubtful.contains(value))
        {
            continue;
        }
        let mut inputs = Vec::new();
        for value in body.inputs(step).iter().flatten().copied() {
            if made.contains(&value) || given.contains(&value) {
                continue;
            }
            match known.get(&value).cloned().or_else(|| stored(&body, value)) {
                Some(tensor) => inputs.push((value, tensor)),
                None => break,
            }
        }
        let is_given = |value: &ValueId| {
            made.contains(value) || given.contains(value) || inputs.iter().any(|(input, _)| input == value)
        };
        if !body.inputs(step).iter().flatten().all(is_given) {
            continue;
        }
        let Some(infos) = outputs.iter().map(|value| info(checked, *value)).collect::<Option<Vec<_>>>()
        else {
            continue;
        };
        let size: i64 = infos.iter().map(|(_, size)| *size).sum();
        if infos.iter().any(|(_, size)| *size > MAX_ELEMENTS) || size > left {
            continue;
        }
        left -= size;
        for (value, tensor) in inputs {
            given.insert(value);
            graph.initializer.push(TensorProto { name: name(value).into(), ..tensor });
        }
        let own = body.step(step);
        let mut node: NodeProto = read(bytes::Bytes::copy_from_slice(own.node.bytes()))?;
        node.input = body.inputs(step).iter().map(|value| value.map(name).unwrap_or_default()).collect();
        node.output = body.outputs(step).iter().map(|value| value.map(name).unwrap_or_default()).collect();
        graph.node.push(node);
        let id = NodeId { graph: own.graph, position: own.position as usize };
        let is_constant = body.op_name(step) == "Constant";
        for (value, (info, _)) in outputs.into_iter().zip(infos) {
            made.insert(value);
            if !is_constant {
                graph.output.push(info);
                found.push((id, value));
            }
        }
    }
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let Some(model) = checked.model() else { return Ok(Vec::new()) };
    let imports = model.opset_imports().flatten().map(|import| opset_import(import.domain, import.version));
    let model = ModelProto {
        ir_version: Some(model.ir_version()),
        opset_import: imports.collect(),
        graph: Some(graph),
        ..ModelProto::default()
    };
    let values = evaluate(&model).filter(|values| values.len() == found.len()).unwrap_or_default();
    Ok(found.into_iter().zip(values).map(|((node, value), tensor)| (node, value, tensor)).collect())
}

/// Whether a node has one result for all implementations.
fn is_exact<'a>(checked: &mut Checked<'a>, body: &Body<'a>, step: StepId) -> bool {
    let operator = body.op_name(step);
    if body.step(step).kind != StepKind::Node
        || checked.schema_of(body, step).is_none()
        || !checked.domain_of(body, step).is_empty()
    {
        return false;
    }
    let mut element = |value: &ValueId| match checked.type_of(*value) {
        Type::Tensor(tensor) => tensor.elem.single(),
        _ => None,
    };
    let allowed: &[Elem] = if EXACT.contains(&operator) {
        &[Elem::INT64, Elem::INT32, Elem::BOOL, Elem::FLOAT, Elem::DOUBLE]
    } else if EXACT_FOR_INTEGERS.contains(&operator) {
        &[Elem::INT64, Elem::INT32, Elem::BOOL]
    } else {
        return false;
    };
    let mut values = body.inputs(step).iter().chain(body.outputs(step)).flatten();
    values.all(|value| element(value).is_some_and(|elem| allowed.contains(&elem)))
}

/// A small tensor that is stored in the file.
fn stored(body: &Body<'_>, value: ValueId) -> Option<TensorProto> {
    let Origin::Initializer(initializer) = body.value(value).origin else { return None };
    let Initializer::Dense(view) = body.initializer(initializer) else { return None };
    let header = view.header().ok()?;
    let count = header.dims.iter().try_fold(1_i64, |count, dim| count.checked_mul(*dim))?;
    let is_external = header.data_location != 0;
    if is_external || count > MAX_ELEMENTS {
        return None;
    }
    read(bytes::Bytes::copy_from_slice(view.bytes())).ok()
}

/// The declaration of a value, and the number of its elements, if they are known.
fn info(checked: &mut Checked<'_>, value: ValueId) -> Option<(ValueInfoProto, i64)> {
    let ty = checked.type_of(value);
    let Type::Tensor(tensor) = &ty else { return None };
    let mut size = 1_i64;
    for extent in tensor.shape.as_ref()? {
        size = size.checked_mul(checked.dims().as_constant(*extent)?)?;
    }
    let r#type = Some(message_of(checked, &ty)?);
    Some((ValueInfoProto { name: name(value).into(), r#type, ..ValueInfoProto::default() }, size))
}

/// The name of a value in the model of constants. Names of nested graphs need not be different.
fn name(value: ValueId) -> String {
    format!("v{}", value.index())
}

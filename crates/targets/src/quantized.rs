//! Nodes for quantization that the loader rewrites, and then may reject.
//!
//! The loader moves them past other nodes, fuses `DequantizeLinear`, another node and `QuantizeLinear`, and on
//! some processors exchanges int8 by uint8. A rewritten node can contradict its `output_dtype`, or have no
//! kernel. All these properties give undecided verdicts, because they depend on the processor or on the order
//! of rewrites.

use typeloom_solver::program::{Body, StepId, ValueId};

use crate::facts::Signature;
use crate::fold::{is_foldable, stored_ints};
use crate::node::{NodeCx, PortType, Ports};
use crate::rules::attribute;

/// The number of the element type `int8`.
const INT8: i64 = 3;

/// The number of the element type `float16`.
const FLOAT16: i64 = 10;

/// The version from which `QuantizeLinear` has the attribute `output_dtype`, which nodes of the loader have
/// then.
const OUTPUT_DTYPE: i64 = 21;

/// Operators past which the loader moves nodes for quantization.
const MOVING: &[&str] = &["MaxPool", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"];

/// Operators whose fused forms have no kernels for elements of less than eight bits.
const NO_SMALL: &[&str] = &["Clip", "Conv", "MaxPool"];

/// Operators with a fused form that needs a zero point, and scales of one type.
const FUSED_WITH: &[&str] = &[
    "Add",
    "AveragePool",
    "Concat",
    "Gemm",
    "GlobalAveragePool",
    "LeakyRelu",
    "Mul",
    "Sigmoid",
    "Softmax",
    "Where",
];

/// The maximum number of nodes that are visited between two that belong together.
const MAX_VISITED: usize = 256;

const CHANGED: &str =
    "on some processors the loader exchanges its int8 by uint8, and rejects that with `output_dtype`";
const MOVED: &str = "the loader may move or fuse it, which may contradict `output_dtype`";
const FUSED: &str = "the loader may fuse it with the nodes before it, and have no kernel for the result";

/// The reason why a `QuantizeLinear` is undecided.
pub(crate) fn quantize(cx: &mut NodeCx<'_, '_>, ports: &Ports) -> Option<&'static str> {
    let body = std::sync::Arc::clone(&cx.body.body);
    let wants_int8 = output_dtype(cx) == Some(INT8);
    let data = body.inputs(cx.step).first().copied().flatten();
    let maker = data.and_then(|data| origin(&body, data, |name| name == "Identity"));
    let name = maker.map_or("", |maker| body.op_name(maker));
    let zero_point = zero_point(&body, cx.step);
    if let (true, Some(zero_point)) = (wants_int8, zero_point)
        && is_parameter(cx, zero_point)
        && (MOVING.contains(&name) || has_equal_reader(&body, cx.step, zero_point))
    {
        return Some(CHANGED);
    }
    let is_small = matches!(ports.outputs.first(), Some(PortType::Known(ty)) if is_small(ty));
    let is_between = |name: &str| name == "Identity" || (name != "MaxPool" && MOVING.contains(&name));
    let source = data.and_then(|data| origin(&body, data, is_between));
    if is_small && source.is_some_and(|source| NO_SMALL.contains(&body.op_name(source))) {
        return Some(FUSED);
    }
    if !FUSED_WITH.contains(&name) {
        return None;
    }
    // A fused node has the parameters of the pairs around it.
    let mut pairs = maker.into_iter().flat_map(|maker| body.inputs(maker)).flatten();
    let passes = |name: &str| name == "Identity" || MOVING.contains(&name);
    let before = pairs.find_map(|input| {
        origin(&body, *input, passes).filter(|maker| body.op_name(*maker) == "DequantizeLinear")
    })?;
    let has_other_type = name == "Concat" || has(&body, before, "output_dtype");
    let lacks_zero = zero_point.is_none() || self::zero_point(&body, before).is_none();
    ((wants_int8 && lacks_zero) || (is_half(ports.inputs.get(1)) && has_other_type)).then_some(FUSED)
}

/// The reason why a `DequantizeLinear` is undecided.
pub(crate) fn dequantize(
    cx: &mut NodeCx<'_, '_>,
    signature: &Signature<'_>,
    ports: &Ports,
) -> Option<&'static str> {
    let body = std::sync::Arc::clone(&cx.body.body);
    let results = body.outputs(cx.step);
    let results = || results.iter().flatten();
    let mut readers = results().flat_map(|result| body.consumers().of(*result));
    let scale = body.inputs(cx.step).get(1).copied().flatten();
    let is_transposed =
        |reader: &StepId| body.op_name(*reader) == "Transpose" && !has(&body, *reader, "perm");
    if signature.crashes_when_transposed
        && readers.clone().any(is_transposed)
        && !scale.is_some_and(|scale| has_one_element(cx, scale))
    {
        return Some("the loader crashes if a `Transpose` without `perm` reads it");
    }
    let is_half_scale = is_half(ports.inputs.get(1));
    let wants_half = output_dtype(cx).map(|wanted| wanted == FLOAT16);
    let mut is_before_moving = || readers.any(|reader| MOVING.contains(&body.op_name(*reader)));
    match wants_half {
        Some(true) if !is_half_scale || is_before_moving() => return Some(MOVED),
        Some(false) if is_half_scale && is_before_moving() => return Some(MOVED),
        Some(_) | None => {}
    }
    let outputs = &body.graph(body.step(cx.step).graph).outputs;
    let is_made = |value: &ValueId| body.maker(*value).is_some() && !body.is_stored(*value);
    if output_dtype(cx) == Some(FLOAT16)
        && is_half_scale
        && body.inputs(cx.step).iter().flatten().any(is_made)
        && !results().any(|result| outputs.contains(result))
    {
        return Some("the loader may compute it with float, and rejects that with `output_dtype`");
    }
    (signature.since >= OUTPUT_DTYPE && is_moved(cx, ports)).then_some(
        "the loader moves it behind its reader, and on some processors exchanges int8 by uint8 there, which it rejects",
    )
}

/// Whether the loader moves the node, which reads int8, behind its readers, with a new pair of nodes for
/// quantization before it. It does so for constant parameters of one element, unless such a pair follows.
fn is_moved(cx: &mut NodeCx<'_, '_>, ports: &Ports) -> bool {
    let body = std::sync::Arc::clone(&cx.body.body);
    let is_int8 = matches!(ports.inputs.first(), Some(PortType::Known(ty)) if ty == "int8");
    let [Some(data), Some(scale), Some(zero_point)] = *body.inputs(cx.step) else { return false };
    if !is_int8
        || is_foldable(&body, data)
        || ![scale, zero_point].into_iter().all(|parameter| is_parameter(cx, parameter))
    {
        return false;
    }
    let moving = &cx.facts.pushed;
    let results = body.outputs(cx.step).iter().flatten();
    let mut open: Vec<StepId> = results.flat_map(|it| body.consumers().of(*it)).copied().collect();
    let mut visited = 0;
    while let Some(reader) = open.pop() {
        visited += 1;
        if visited > MAX_VISITED {
            return true;
        }
        if !moving.contains(&body.op_name(reader)) {
            continue;
        }
        let Some(result) = body.outputs(reader).first().copied().flatten() else { continue };
        let is_output = body.graph(body.step(reader).graph).outputs.contains(&result);
        let mut next = body.consumers().of(result).to_vec();
        next.dedup();
        match next.as_slice() {
            [next] if body.op_name(*next) == "QuantizeLinear" && !is_output => {}
            [next] if moving.contains(&body.op_name(*next)) && !is_output => open.push(*next),
            [_, _, ..] if !is_output => {}
            _ => return true,
        }
    }
    false
}

/// Whether a single node reads the result, a `DequantizeLinear` whose zero point may be the same constant.
fn has_equal_reader(body: &Body<'_>, step: StepId, own: ValueId) -> bool {
    let Some(reader) = reader(body, step) else { return false };
    if body.op_name(reader) != "DequantizeLinear" {
        return false;
    }
    // Without a zero point, the reader has a zero.
    let theirs = zero_point(body, reader);
    let stored = |value| stored_ints(body, value, 1);
    let differ = match (stored(own), theirs.map_or(Some(vec![0]), stored)) {
        (Some(own), Some(theirs)) => own != theirs,
        (Some(_) | None, _) => false,
    };
    !differ && theirs.is_none_or(|theirs| is_foldable(body, theirs))
}

/// The only reader of a result; nodes `Identity`, which the loader removes, are skipped. `None` if the graph
/// returns the result.
fn reader(body: &Body<'_>, step: StepId) -> Option<StepId> {
    let mut current = step;
    for _ in 0..MAX_VISITED {
        let result = body.outputs(current).first().copied().flatten()?;
        if body.graph(body.step(current).graph).outputs.contains(&result) {
            return None;
        }
        let [reader] = body.consumers().of(result) else { return None };
        if body.op_name(*reader) != "Identity" {
            return Some(*reader);
        }
        current = *reader;
    }
    None
}

/// The node that makes a value, without those that pass their first input on.
fn origin(body: &Body<'_>, value: ValueId, passes: impl Fn(&str) -> bool) -> Option<StepId> {
    let mut maker = body.maker(value)?;
    for _ in 0..MAX_VISITED {
        if !passes(body.op_name(maker)) {
            break;
        }
        maker = body.maker(body.inputs(maker).first().copied().flatten()?)?;
    }
    Some(maker)
}

fn zero_point(body: &Body<'_>, step: StepId) -> Option<ValueId> {
    body.inputs(step).get(2).copied().flatten()
}

/// Whether a value is a constant that may have one element.
fn is_parameter(cx: &mut NodeCx<'_, '_>, value: ValueId) -> bool {
    let ty = cx.checked.type_within(cx.body, value);
    let shape = ty.tensor().and_then(|tensor| tensor.shape.as_deref()).unwrap_or_default();
    let dims = cx.checked.dims();
    let has_more = shape.iter().any(|dim| dims.as_constant(*dim).is_some_and(|extent| extent != 1));
    !has_more && is_foldable(&cx.body.body, value)
}

/// Whether a value is known to have one element.
fn has_one_element(cx: &mut NodeCx<'_, '_>, value: ValueId) -> bool {
    let ty = cx.checked.type_within(cx.body, value);
    let dims = cx.checked.dims();
    let shape = ty.tensor().and_then(|tensor| tensor.shape.as_deref());
    shape.is_some_and(|shape| shape.iter().all(|dim| dims.as_constant(*dim) == Some(1)))
}

fn output_dtype(cx: &NodeCx<'_, '_>) -> Option<i64> {
    attribute(cx, "output_dtype")?.i
}

/// Whether a node has an attribute.
fn has(body: &Body<'_>, step: StepId, name: &str) -> bool {
    let attributes = body.step(step).node.attributes().flatten();
    attributes.filter_map(|attribute| attribute.parse().ok()).any(|attribute| attribute.name == name)
}

fn is_half(ty: Option<&PortType>) -> bool {
    matches!(ty, Some(PortType::Known(ty)) if ty == "float16")
}

/// Whether elements of a type have less than eight bits.
fn is_small(ty: &str) -> bool {
    ["int4", "uint4", "int2", "uint2"].contains(&ty)
}

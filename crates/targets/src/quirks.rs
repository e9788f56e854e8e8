//! Properties of single operators for which the loader fails, or may fail: its own shape inference, fusions
//! and constants.

use typeloom_solver::program::{Body, StepId, ValueId};
use typeloom_solver::solution::Type;

use crate::facts::Signature;
use crate::fold::{is_foldable, stored_ints};
use crate::node::{NodeCx, PortType, Ports};
use crate::quantized;
use crate::rules::{attribute, inputs, ints};

/// The version from which the last axis is the default of `Softmax`.
const LAST_AXIS: i64 = 13;

/// The version from which `BatchNormalization` has three outputs at most.
const TRAINING_MODE: i64 = 14;

/// The attributes that a support vector machine needs.
const SVM: &[&str] = &["coefficients", "kernel_type", "rho"];

/// Operators that reshape their inputs, or have a body that does.
const RESHAPING: &[&str] =
    &["GroupNormalization", "NegativeLogLikelihoodLoss", "Reshape", "SoftmaxCrossEntropyLoss"];

/// The version from which `Split` has the attribute `num_outputs`.
const NUM_OUTPUTS: i64 = 18;

/// The number of the element type `float8e8m0`.
const FLOAT8E8M0: i64 = 24;

/// The attributes of `Scan` with one direction for each input or output.
const DIRECTIONS: &[&str] = &["directions", "scan_input_directions", "scan_output_directions"];

/// The maximum number of nodes that are visited to find the readers of a value.
const MAX_READERS: usize = 256;

/// The largest rank of a result that is decided. The loader allocates a dim for each axis before it runs a
/// node.
const MAX_RANK: i64 = 1 << 12;

/// The maximum number of divisors that are searched for a zero.
const MAX_DIVISORS: usize = 1 << 16;

/// Operators whose kernels do not count inputs.
const ENDS: &[&str] =
    &["Clip", "Conv", "Loop", "Pad", "ReduceMax", "ReduceMean", "ReduceSum", "Resize", "Slice", "Squeeze"];

/// The domain of the operators that ONNX Runtime adds.
const MICROSOFT: &str = "com.microsoft";

/// Whether the node divides integers by a constant that contains a zero.
pub(crate) fn has_zero_divisor(cx: &NodeCx<'_, '_>, ports: &Ports) -> bool {
    let body = &cx.body.body;
    if !matches!(body.op_name(cx.step), "Div" | "Mod") {
        return false;
    }
    let is_integer = matches!(ports.inputs.first(), Some(PortType::Known(ty)) if ty.contains("int"));
    let divisor = body.inputs(cx.step).get(1).copied().flatten();
    let divisors = divisor.and_then(|divisor| stored_ints(body, divisor, MAX_DIVISORS));
    is_integer && divisors.is_some_and(|values| values.contains(&0))
}

/// Whether the node takes the extents of its result from an input with very many of them.
pub(crate) fn has_huge_rank(cx: &mut NodeCx<'_, '_>) -> bool {
    let body = std::sync::Arc::clone(&cx.body.body);
    let [Some(result)] = body.outputs(body.last_step(cx.step)) else { return false };
    let result = cx.checked.type_within(cx.body, *result);
    if !matches!(&result, Type::Tensor(tensor) if tensor.shape.is_none()) {
        return false;
    }
    inputs(cx).into_iter().any(|input| {
        let ty = cx.checked.type_within(cx.body, input);
        let Some([extent]) = ty.tensor().and_then(|tensor| tensor.shape.as_deref()) else { return false };
        cx.checked.dims().as_constant(*extent).is_some_and(|extent| extent > MAX_RANK)
    })
}

/// Whether the node is a `Resize` with computed `sizes` of an unknown number. The loader rejects them if the
/// rank of the data is known.
pub(crate) fn has_open_sizes(cx: &mut NodeCx<'_, '_>) -> bool {
    let body = std::sync::Arc::clone(&cx.body.body);
    let (data, sizes) = match body.inputs(cx.step) {
        [Some(data), _, _, Some(sizes)] if body.op_name(cx.step) == "Resize" => (*data, *sizes),
        _ => return false,
    };
    if body.is_stored(sizes) {
        return false;
    }
    let data = cx.checked.type_within(cx.body, data);
    let sizes = cx.checked.type_within(cx.body, sizes);
    let count = sizes.tensor().and_then(|tensor| tensor.shape.as_deref());
    let is_known = matches!(count, Some([count]) if cx.checked.dims().as_constant(*count).is_some());
    data.tensor().is_some_and(|tensor| tensor.shape.is_some()) && !is_known
}

/// Whether the last input is an empty name. Kernels that count inputs find one more than there are.
pub(crate) fn has_open_end(cx: &NodeCx<'_, '_>) -> bool {
    let body = &cx.body.body;
    let is_safe = ENDS.contains(&body.op_name(cx.step));
    // The loader computes the node then, and some kernels fail.
    let is_loop = body.op_name(cx.step) == "Loop";
    let is_computed = !is_loop && inputs(cx).iter().any(|input| is_foldable(body, *input));
    matches!(body.inputs(cx.step), [.., None]) && (!is_safe || is_computed)
}

/// Whether the node repeats a graph with types that are not proven. The loader infers the types of that graph
/// itself, and rejects declared types of another rank.
pub(crate) fn has_assumed_loop(cx: &mut NodeCx<'_, '_>) -> bool {
    let body = std::sync::Arc::clone(&cx.body.body);
    if !matches!(body.op_name(cx.step), "Loop" | "Scan") {
        return false;
    }
    let last = body.last_step(cx.step);
    let (first, end) = (cx.step.index(), last.index());
    let mut values: Vec<ValueId> =
        (first..=end).map(StepId::new).flat_map(|step| body.outputs(step)).flatten().copied().collect();
    values.extend(inputs(cx));
    if cx.body.is_main() && values.iter().any(|value| cx.checked.is_assumed(*value)) {
        return true;
    }
    // The declared condition of a loop has the rank of the one that is passed.
    let mut rank = |value: ValueId| {
        let ty = cx.checked.type_within(cx.body, value);
        ty.tensor().and_then(|tensor| tensor.shape.as_ref()).map(|shape| shape.len())
    };
    let Some(inner) = body.graphs_of(cx.step).next().and_then(|(_, graph)| graph.inputs.get(1)) else {
        return false;
    };
    let outer = body.inputs(cx.step).get(1).copied().flatten();
    body.op_name(cx.step) == "Loop" && outer.is_some_and(|outer| rank(outer) != rank(*inner))
}

/// Whether the node has an operator of the runtime with inputs of known ranks and a result of unknown rank.
/// The loader's inference may compare these inputs.
pub(crate) fn is_unknown_inference(cx: &mut NodeCx<'_, '_>) -> bool {
    let body = std::sync::Arc::clone(&cx.body.body);
    if cx.checked.domain_of(&body, cx.step) != MICROSOFT {
        return false;
    }
    let mut is_ranked = |value: ValueId| {
        let ty = cx.checked.type_within(cx.body, value);
        ty.tensor().is_none_or(|tensor| tensor.shape.is_some())
    };
    let outputs = body.outputs(body.last_step(cx.step));
    let mut inputs = body.inputs(cx.step).iter().flatten();
    inputs.any(|input| is_ranked(*input)) && !outputs.iter().flatten().all(|output| is_ranked(*output))
}

/// Whether the loader fuses the transposition that makes an input: the last axis of the data must be one of
/// the last two of the result. Casts between both nodes are fused as well.
pub(crate) fn is_fused(cx: &mut NodeCx<'_, '_>, input: ValueId, operator: &str) -> bool {
    let body = std::sync::Arc::clone(&cx.body.body);
    let Some(mut maker) = body.maker(input) else { return false };
    if let ("Cast", [Some(data)]) = (body.op_name(maker), body.inputs(maker)) {
        let Some(before) = body.maker(*data) else { return false };
        maker = before;
    }
    if body.op_name(maker) != operator || is_foldable(&body, input) {
        return false;
    }
    let attributes = body.step(maker).node.attributes().flatten();
    let mut attributes = attributes.filter_map(|attribute| attribute.parse().ok());
    let perm: Option<Vec<i64>> = attributes
        .find(|attribute| attribute.name == "perm")
        .map(|attribute| attribute.ints().flatten().collect());
    match perm.as_deref() {
        Some([.., a, b]) => {
            perm.as_ref().and_then(|perm| perm.iter().max()).is_some_and(|last| last == a || last == b)
        }
        // The axes are reversed.
        Some(_) | None => {
            let ty = cx.checked.type_within(cx.body, input);
            ty.tensor().and_then(|tensor| tensor.shape.as_ref()).is_some_and(|shape| shape.len() == 2)
        }
    }
}

/// The reason why a node of one of a few operators is undecided.
pub(crate) fn reason(
    cx: &mut NodeCx<'_, '_>,
    signature: &Signature<'_>,
    ports: &Ports,
) -> Option<&'static str> {
    let body = std::sync::Arc::clone(&cx.body.body);
    let name = body.op_name(cx.step);
    if RESHAPING.contains(&name) && has_empty_input(cx) {
        return Some("an input has no elements, and the loader's inference for shapes may reject that");
    }
    let auto_pad = attribute(cx, "auto_pad").and_then(|it| it.s);
    if auto_pad.is_some_and(|mode| mode != b"NOTSET") && attribute(cx, "pads").is_some() {
        return Some("it has both `auto_pad` and `pads`");
    }
    if has_uneven_windows(cx) {
        return Some("the lists of its window differ in length");
    }
    match name {
        "SVMClassifier" | "SVMRegressor" => {
            let is_absent = |name: &&str| attribute(cx, name).is_none();
            SVM.iter().any(is_absent).then_some("an attribute of its support vector machine is missing")
        }
        // The default axis is the second one.
        "Softmax" | "LogSoftmax" | "Hardmax" if signature.since < LAST_AXIS => {
            let input = body.inputs(cx.step).first().copied().flatten()?;
            let ty = cx.checked.type_within(cx.body, input);
            let rank = ty.tensor()?.shape.as_ref()?.len();
            (rank < 2 && attribute(cx, "axis").is_none()).then_some("its default axis is 1")
        }
        _ if attribute(cx, "stash_type").and_then(|it| it.i).is_some_and(|stash| stash != 1) => {
            Some("its `stash_type` is not 1")
        }
        "If" | "Loop" | "Scan" if has_fewer_outputs(&body, cx.step) => {
            Some("it leaves out outputs of its graph")
        }
        "ConvTransposeWithDynamicPads" | "QEmbedLayerNormalization" => {
            Some("the conditions of its kernel are unknown")
        }
        "Cast" if attribute(cx, "round_mode").is_some() => {
            let to = attribute(cx, "to").and_then(|it| it.i);
            (to != Some(FLOAT8E8M0)).then_some("its `round_mode` is for another type")
        }
        "If" => {
            let condition = body.inputs(cx.step).first().copied().flatten()?;
            let ty = cx.checked.type_within(cx.body, condition);
            let shape = ty.tensor().and_then(|tensor| tensor.shape.as_deref());
            let dims = cx.checked.dims();
            let is_single =
                shape.is_some_and(|shape| shape.iter().all(|dim| dims.as_constant(*dim) == Some(1)));
            (is_foldable(&body, condition) && !is_single)
                .then_some("its condition may not be a single element")
        }
        "Scan" if inputs(cx).into_iter().any(|input| !has_known_extents(cx, input)) => {
            Some("the loader infers the types of its nested graph from extents, which are not all known")
        }
        "Scan" if has_changing_state(cx) => {
            Some("the shape of a state changes from one iteration to the next")
        }
        "Split" if signature.since >= NUM_OUTPUTS && ports.inputs.len() < 2 => {
            attribute(cx, "num_outputs").is_none().then_some("it has neither `num_outputs` nor `split`")
        }
        "Scan" => {
            let is_directed = |name: &&str| attribute(cx, name).is_some();
            let is_odd =
                |name: &&str| ints(cx, name).unwrap_or_default().iter().any(|it| !matches!(it, 0 | 1));
            let count = attribute(cx, "num_scan_inputs").and_then(|it| it.i).unwrap_or_default();
            let length =
                |name: &&str| i64::try_from(ints(cx, name).unwrap_or_default().len()).unwrap_or(i64::MAX);
            let mut given = DIRECTIONS.iter().filter(|name| is_directed(name));
            let is_wrong = |name: &&str| is_odd(name) || (!name.contains("output") && length(name) != count);
            given.any(is_wrong).then_some("its directions do not fit its inputs")
        }
        "DequantizeLinear" => quantized::dequantize(cx, signature, ports),
        "QuantizeLinear" => quantized::quantize(cx, ports),
        "StringNormalizer" => {
            let is_plain = attribute(cx, "locale").and_then(|it| it.s) == Some(b"C".as_slice());
            let is_constant = inputs(cx).into_iter().any(|input| is_foldable(&body, input));
            (is_constant && !is_plain)
                .then_some("the loader computes it, and the machine may not have its locale")
        }
        "GroupQueryAttention" => {
            let is_given = |at: usize| ports.inputs.get(at).is_some_and(|ty| *ty != PortType::Absent);
            (is_given(3) != is_given(4)).then_some("it has one of `past_key` and `past_value`")
        }
        "Optional" => {
            let mut given = inputs(cx).into_iter();
            given
                .any(|input| is_foldable(&body, input))
                .then_some("the loader may compute it, and cannot store the result")
        }
        "BatchNormalization" if signature.since < TRAINING_MODE => {
            (!matches!(ports.outputs.len(), 1 | 5)).then_some("it has neither one nor five outputs")
        }
        _ => None,
    }
}

/// Whether only `Shape`, `Size` and shapes of `Reshape` depend on the node. The loader computes them from
/// known extents, and removes nodes without readers.
pub(crate) fn is_read_for_extents(body: &Body<'_>, step: StepId) -> bool {
    let root = &body.graph(body.root()).outputs;
    let mut open = vec![step];
    let mut visited = 0;
    let mut is_read = false;
    while let Some(step) = open.pop() {
        visited += 1;
        if visited > MAX_READERS || body.step(step).graph != body.root() {
            return false;
        }
        for result in body.outputs(body.last_step(step)).iter().flatten() {
            if root.contains(result) {
                return false;
            }
            for reader in body.consumers().of(*result) {
                is_read = true;
                let is_shape = matches!(body.inputs(*reader), [_, Some(shape)] if shape == result);
                match body.op_name(*reader) {
                    "Shape" | "Size" => {}
                    "Reshape" if is_shape => {}
                    _ => open.push(*reader),
                }
            }
        }
    }
    is_read
}

/// Whether a node with nested graphs has fewer outputs than they have, or a repeated graph has one without a
/// name.
fn has_fewer_outputs(body: &Body<'_>, step: StepId) -> bool {
    let outputs = body.outputs(body.last_step(step));
    if body.op_name(step) != "If" && outputs.contains(&None) {
        return true;
    }
    let given = outputs.len();
    // The first output of the graph of a loop is its condition.
    let hidden = usize::from(body.op_name(step) == "Loop");
    body.graphs_of(step).any(|(_, graph)| given + hidden < graph.outputs.len())
}

/// Whether an input has an extent of zero.
fn has_empty_input(cx: &mut NodeCx<'_, '_>) -> bool {
    inputs(cx).into_iter().any(|input| {
        let ty = cx.checked.type_within(cx.body, input);
        let shape = ty.tensor().and_then(|tensor| tensor.shape.as_deref()).unwrap_or_default();
        let dims = cx.checked.dims();
        shape.iter().any(|dim| dims.as_constant(*dim) == Some(0))
    })
}

/// Whether all extents of a value are numbers.
fn has_known_extents(cx: &mut NodeCx<'_, '_>, value: ValueId) -> bool {
    let ty = cx.checked.type_within(cx.body, value);
    let shape = ty.tensor().and_then(|tensor| tensor.shape.as_deref());
    let dims = cx.checked.dims();
    shape.is_some_and(|shape| shape.iter().all(|dim| dims.as_constant(*dim).is_some()))
}

/// Whether strides or dilations have another length than the shape of the window.
fn has_uneven_windows(cx: &NodeCx<'_, '_>) -> bool {
    let Some(window) = ints(cx, "kernel_shape") else { return false };
    let mut others = ["strides", "dilations"].iter().filter_map(|name| ints(cx, name));
    others.any(|other| other.len() != window.len())
}

/// Whether the solved shape of a state of a `Scan` differs before and after it. The loader infers the nested
/// graph with the first one.
fn has_changing_state(cx: &mut NodeCx<'_, '_>) -> bool {
    let body = std::sync::Arc::clone(&cx.body.body);
    let given = inputs(cx);
    let scanned =
        attribute(cx, "num_scan_inputs").and_then(|it| it.i).and_then(|it| usize::try_from(it).ok());
    let count = given.len().saturating_sub(scanned.unwrap_or_default());
    let results = body.outputs(body.last_step(cx.step));
    let mut extents = |value: ValueId| -> Option<Vec<Option<i64>>> {
        let ty = cx.checked.type_within(cx.body, value);
        let shape = ty.tensor()?.shape.as_ref()?;
        let dims = cx.checked.dims();
        Some(shape.iter().map(|dim| dims.as_constant(*dim)).collect())
    };
    let states = given.iter().take(count).zip(results.iter().take(count));
    states
        .filter_map(|(before, after)| Some((*before, (*after)?)))
        .any(|(before, after)| extents(before) != extents(after))
}

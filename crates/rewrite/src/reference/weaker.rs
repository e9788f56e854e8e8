//! Operators whose outputs the reference describes less precisely than typeloom.
//!
//! A type without some of its proved extents is still correct, so only the written type changes: the readers of a value
//! see all that is known.

use typeloom_solver::elem::Elem;
use typeloom_solver::model::Checked;
use typeloom_solver::program::{Body, StepId, ValueId};
use typeloom_solver::solution::{TensorType, Type};
use typeloom_types::dtype::Dtype;

/// The part of an output's shape that the reference leaves out.
enum Lost {
    /// Nothing.
    Nothing,
    /// All extents; the rank remains.
    Extents,
    /// The shape.
    Shape,
}

/// The type of a value as far as the reference infers it.
pub(super) fn type_of(checked: &mut Checked<'_>, value: ValueId) -> Type {
    let ty = checked.type_of(value);
    let Some(step) = checked.body().maker(value) else { return ty };
    match lost(checked, step, value) {
        Lost::Nothing => ty,
        Lost::Extents => without_extents(checked, ty),
        Lost::Shape => match ty {
            Type::Tensor(tensor) => Type::Tensor(TensorType { shape: None, ..tensor }),
            other => other,
        },
    }
}

fn without_extents(checked: &mut Checked<'_>, ty: Type) -> Type {
    let Type::Tensor(TensorType { elem, shape: Some(shape) }) = ty else { return ty };
    let shape = shape.iter().map(|_| checked.fresh_dim()).collect();
    Type::Tensor(TensorType { elem, shape: Some(shape) })
}

/// The operators of ONNX's own domain with weaker results.
const WEAKER: [&str; 9] =
    ["Slice", "TopK", "Range", "Loop", "Unique", "Conv", "ConvInteger", "QLinearConv", "MaxUnpool"];

/// Whether the reference infers less for the operator of a step.
pub(super) fn concerns(body: &Body<'_>, step: StepId) -> bool {
    // Most nodes have another operator, so nothing else is read of them.
    WEAKER.contains(&body.op_name(step)) && body.step(step).node.domain() == Ok("")
}

fn lost(checked: &mut Checked<'_>, step: StepId, value: ValueId) -> Lost {
    let body = checked.body();
    let operator = body.op_name(step);
    let node = body.step(step).node;
    if !concerns(body, step) {
        return Lost::Nothing;
    }
    // A node with graphs has several steps; the first one has its inputs.
    let inputs: Vec<Option<ValueId>> = body.inputs(body.first_step(step)).to_vec();
    let given = node.inputs().count();
    let name = body.value_name(value);
    let at = node.outputs().position(|output| output == Ok(name)).unwrap_or_default();
    let input = |at: usize| inputs.get(at).copied().flatten();
    let is_stored =
        |checked: &Checked<'_>, at: usize| input(at).is_none_or(|value| is_stored(checked, value));
    match operator {
        // Bounds that are not stored leave every axis open.
        "Slice" if inputs.len() > 1 && !(is_stored(checked, 1) && is_stored(checked, 2)) => Lost::Extents,
        "TopK" if inputs.len() > 1 && !is_stored(checked, 1) => Lost::Extents,
        "Range" if is_half(&checked.type_of(value)) => Lost::Extents,
        // The state can change its shape in an iteration.
        "Loop" if at + 2 < given => Lost::Shape,
        "Unique" if at > 0 => Lost::Extents,
        "Conv" => window(checked, step, input(1)),
        "ConvInteger" => window(checked, step, input(1)),
        "QLinearConv" => window(checked, step, input(3)),
        "MaxUnpool" if inputs.len() > 2 && !is_stored(checked, 2) => Lost::Shape,
        _ => Lost::Nothing,
    }
}

/// The result of a convolution whose weights have an unknown extent and whose kernel is not an attribute.
fn window(checked: &mut Checked<'_>, step: StepId, weights: Option<ValueId>) -> Lost {
    let attributes = checked.body().step(step).node.attributes();
    let mut names = attributes.filter_map(|attribute| Some(attribute.ok()?.parse().ok()?.name));
    if names.any(|name| name == "kernel_shape") {
        return Lost::Nothing;
    }
    let Some(weights) = weights else { return Lost::Nothing };
    let Type::Tensor(TensorType { shape: Some(shape), .. }) = checked.type_of(weights) else {
        return Lost::Nothing;
    };
    let dims = checked.dims();
    let is_known = shape.iter().skip(2).all(|dim| dims.as_constant(*dim).is_some());
    if is_known { Lost::Nothing } else { Lost::Shape }
}

/// Whether the elements have 16 bits. The reference does not read the bounds of such ranges.
fn is_half(ty: &Type) -> bool {
    let Type::Tensor(tensor) = ty else { return false };
    tensor.elem.single().is_some_and(|elem| [Elem::of(Dtype::F16), Elem::of(Dtype::BF16)].contains(&elem))
}

/// Whether a value is an initializer, or the result of a node without inputs.
fn is_stored(checked: &Checked<'_>, value: ValueId) -> bool {
    let body = checked.body();
    match body.maker(value) {
        Some(step) => body.inputs(step).is_empty(),
        None => body.value(value).origin.initializer().is_some(),
    }
}

//! Operators whose outputs the reference describes less precisely than typeloom.
//!
//! A type without some of its proved extents is still correct, so only the written type changes: the readers
//! of a value see all that is known.
//!
//! The reference infers forward only, from the types of the inputs of a node. An output that it cannot infer
//! keeps its declaration, also if a reader of the output determines its extents.

use smallvec::SmallVec;
use typeloom_dim::DimId;
use typeloom_onnx::view::{Attribute, GraphView, TypeKindView};
use typeloom_solver::elem::Elem;
use typeloom_solver::model::Checked;
use typeloom_solver::program::{Body, GraphId, StepId, ValueId};
use typeloom_solver::solution::{TensorType, Type};
use typeloom_types::dtype::Dtype;
use typeloom_types::shape;

/// The part of an output's shape that the reference leaves out.
enum Lost {
    /// Nothing.
    Nothing,
    /// The extent of one axis.
    Extent(usize),
    /// All extents; the rank remains.
    Extents,
    /// The shape.
    Shape,
}

/// The type of an output as far as the reference infers it; `None` if it infers all that is known.
pub(super) fn weakened(
    checked: &mut Checked<'_>,
    operator: Weaker,
    step: StepId,
    value: ValueId,
) -> Option<Type> {
    let step = checked.body().first_step(step);
    match lost(checked, operator, step, value) {
        Lost::Nothing => None,
        Lost::Extent(axis) => Some(without_extents(checked, value, |at| at == axis)),
        Lost::Extents => Some(without_extents(checked, value, |_| true)),
        Lost::Shape => Some(match checked.type_of(value) {
            Type::Tensor(tensor) => Type::Tensor(TensorType { shape: None, ..tensor }),
            other => other,
        }),
    }
}

fn without_extents(checked: &mut Checked<'_>, value: ValueId, is_lost: impl Fn(usize) -> bool) -> Type {
    let ty = checked.type_of(value);
    let Type::Tensor(TensorType { elem, shape: Some(mut shape) }) = ty else { return ty };
    for (_, dim) in shape.iter_mut().enumerate().filter(|(axis, _)| is_lost(*axis)) {
        *dim = checked.fresh_dim();
    }
    Type::Tensor(TensorType { elem, shape: Some(shape) })
}

/// Removes the nested graphs that the reference does not enter. Graphs come after the graph around them.
pub(super) fn retain_entered(checked: &Checked<'_>, graphs: &mut SmallVec<[(GraphId, GraphView<'_>); 1]>) {
    if graphs.len() == 1 {
        return;
    }
    let body = checked.body();
    let mut left_out: Vec<GraphId> = Vec::new();
    graphs.retain(|(graph, _)| {
        let Some(owner) = &body.graph(*graph).owner else { return true };
        let is_entered = checked.operator(owner.step) != ("ai.onnx.preview", "FlexAttention")
            && !left_out.contains(&body.step(owner.step).graph);
        if !is_entered {
            left_out.push(*graph);
        }
        is_entered
    });
}

/// The operators with weaker results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Weaker {
    ArrayFeatureExtractor,
    CenterCropPad,
    ConstantOfShape,
    Conv,
    Loop,
    /// `MatMul`, `SwiGLU`.
    Product,
    MaxUnpool,
    QLinearConv,
    QLinearMatMul,
    Range,
    Reshape,
    Slice,
    Split,
    TopK,
    Unique,
}

impl Weaker {
    /// The operator of a step; `None` for an operator without weaker results, as most have.
    pub(super) fn of(checked: &Checked<'_>, step: StepId) -> Option<Self> {
        Some(match checked.operator(step) {
            ("", "CenterCropPad") => Self::CenterCropPad,
            ("", "ConstantOfShape") => Self::ConstantOfShape,
            ("", "Conv" | "ConvInteger") => Self::Conv,
            ("", "Loop") => Self::Loop,
            ("", "MatMul" | "SwiGLU") => Self::Product,
            ("", "MaxUnpool") => Self::MaxUnpool,
            ("", "QLinearConv") => Self::QLinearConv,
            ("", "QLinearMatMul") => Self::QLinearMatMul,
            ("", "Range") => Self::Range,
            ("", "Reshape") => Self::Reshape,
            ("", "Slice") => Self::Slice,
            ("", "Split") => Self::Split,
            ("", "TopK") => Self::TopK,
            ("", "Unique") => Self::Unique,
            ("ai.onnx.ml", "ArrayFeatureExtractor") => Self::ArrayFeatureExtractor,
            _ => return None,
        })
    }
}

fn lost(checked: &mut Checked<'_>, operator: Weaker, step: StepId, value: ValueId) -> Lost {
    // A node with graphs has several steps; the first one has its inputs.
    let first = checked.body().first_step(step);
    let input = |checked: &Checked<'_>, at: usize| checked.body().inputs(first).get(at).copied().flatten();
    let inputs = checked.body().inputs(first).len();
    let is_stored = |checked: &Checked<'_>, at: usize| {
        input(checked, at).is_none_or(|value| is_stored(checked.body(), value))
    };
    let has_shape =
        |checked: &Checked<'_>, at: usize| input(checked, at).is_none_or(|value| checked.has_shape(value));
    let without_shape = |has_shape: bool| if has_shape { Lost::Nothing } else { Lost::Shape };
    match operator {
        // Bounds that are not stored leave every axis open.
        Weaker::Slice if inputs > 1 && !(is_stored(checked, 1) && is_stored(checked, 2)) => Lost::Extents,
        Weaker::TopK if inputs > 1 && !is_stored(checked, 1) => Lost::Extents,
        Weaker::Range if is_half(&checked.type_of(value)) => Lost::Extents,
        // The state can change its shape in an iteration.
        Weaker::Loop if output(checked, value) + 2 < inputs => Lost::Shape,
        Weaker::Unique if output(checked, value) > 0 => Lost::Extents,
        Weaker::Conv => window(checked, step, input(checked, 1)),
        Weaker::QLinearConv => window(checked, step, input(checked, 3)),
        Weaker::MaxUnpool if inputs > 2 && !is_stored(checked, 2) => Lost::Shape,
        Weaker::CenterCropPad if !is_stored(checked, 1) => Lost::Shape,
        // The number of axes follows from the declaration or from a reader only.
        Weaker::Reshape if input(checked, 1).is_some_and(|target| !is_followed(checked, target)) => {
            without_shape(!has_declared_shape(checked, value))
        }
        Weaker::Product => without_shape(has_shape(checked, 0) && has_shape(checked, 1)),
        Weaker::QLinearMatMul => without_shape(has_shape(checked, 0) && has_shape(checked, 3)),
        // A shape of other integers than those of the operator is not read.
        Weaker::ConstantOfShape => without_shape(is_int64(checked, input(checked, 0))),
        Weaker::Split => parts(checked, step, input(checked, 0)),
        Weaker::ArrayFeatureExtractor => features(checked, input(checked, 1), value),
        Weaker::Slice
        | Weaker::TopK
        | Weaker::Range
        | Weaker::Loop
        | Weaker::Unique
        | Weaker::MaxUnpool
        | Weaker::CenterCropPad
        | Weaker::Reshape => Lost::Nothing,
    }
}

/// The position of an output of a node.
fn output(checked: &Checked<'_>, value: ValueId) -> usize {
    let body = checked.body();
    let outputs = body.value(value).origin.step().map_or(&[][..], |maker| body.outputs(maker));
    outputs.iter().position(|output| *output == Some(value)).unwrap_or_default()
}

/// The parts of an axis whose extent is not a number. Their extents are not inferred, also if they are
/// stored.
fn parts(checked: &mut Checked<'_>, step: StepId, whole: Option<ValueId>) -> Lost {
    let Some(shape) = whole.and_then(|whole| shape_of(checked, whole)) else { return Lost::Nothing };
    let axis = attribute(checked, step, "axis").and_then(|attribute| attribute.i).unwrap_or(0);
    let Some(axis) = shape::position(axis, shape.len()) else { return Lost::Nothing };
    if checked.dims().as_constant(shape[axis]).is_some() { Lost::Nothing } else { Lost::Extent(axis) }
}

/// The features selected by an index without axes: their number is not inferred.
fn features(checked: &mut Checked<'_>, indices: Option<ValueId>, value: ValueId) -> Lost {
    let is_scalar =
        indices.and_then(|indices| shape_of(checked, indices)).is_some_and(|shape| shape.is_empty());
    let rank = shape_of(checked, value).map_or(0, |shape| shape.len());
    if is_scalar && rank > 0 { Lost::Extent(rank - 1) } else { Lost::Nothing }
}

fn shape_of(checked: &mut Checked<'_>, value: ValueId) -> Option<Box<[DimId]>> {
    let Type::Tensor(TensorType { shape, .. }) = checked.type_of(value) else { return None };
    shape
}

fn is_int64(checked: &mut Checked<'_>, value: Option<ValueId>) -> bool {
    let Some(value) = value else { return true };
    let Type::Tensor(tensor) = checked.type_of(value) else { return true };
    tensor.elem.single().is_none_or(|elem| elem == Elem::INT64)
}

/// Whether the shape of a value is declared, with or without extents.
fn has_declared_shape(checked: &Checked<'_>, value: ValueId) -> bool {
    let mut declarations =
        checked.body().declarations(value).filter_map(|declaration| declaration.ty.parse().ok());
    declarations.any(|ty| matches!(ty.kind, TypeKindView::Tensor { shape: Some(_), .. }))
}

/// Whether the elements of a value are known as far as the options follow them.
fn is_followed(checked: &Checked<'_>, value: ValueId) -> bool {
    is_stored(checked.body(), value) || checked.is_followed(value)
}

/// The result of a convolution whose weights have an unknown extent and whose kernel is not an attribute.
fn window(checked: &mut Checked<'_>, step: StepId, weights: Option<ValueId>) -> Lost {
    if attribute(checked, step, "kernel_shape").is_some() {
        return Lost::Nothing;
    }
    let Some(shape) = weights.and_then(|weights| shape_of(checked, weights)) else { return Lost::Nothing };
    let dims = checked.dims();
    let is_known = shape.iter().skip(2).all(|dim| dims.as_constant(*dim).is_some());
    if is_known { Lost::Nothing } else { Lost::Shape }
}

fn attribute<'a>(checked: &Checked<'a>, step: StepId, name: &str) -> Option<Attribute<'a>> {
    let attributes = checked.body().step(step).node.attributes();
    let mut parsed = attributes.filter_map(|attribute| attribute.ok()?.parse().ok());
    parsed.find(|attribute| attribute.name == name)
}

/// Whether the elements have 16 bits. The reference does not read the bounds of such ranges.
fn is_half(ty: &Type) -> bool {
    let Type::Tensor(tensor) = ty else { return false };
    tensor.elem.single().is_some_and(|elem| [Elem::of(Dtype::F16), Elem::of(Dtype::BF16)].contains(&elem))
}

/// Whether a value is an initializer, or the result of a node without inputs.
pub(super) fn is_stored(body: &Body<'_>, value: ValueId) -> bool {
    match body.maker(value) {
        Some(step) => body.inputs(step).is_empty(),
        None => body.value(value).origin.initializer().is_some(),
    }
}

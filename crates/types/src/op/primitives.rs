//! The thirty tensor primitives, which every backend implements.
//!
//! Ports are those of ONNX operator set 18, the first with all of these forms. Ports for axes, target shapes
//! and indices are bounded by the possible tensor types. Data ports have no bound beyond their relations, so
//! they accept scalars too.

use super::{AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, PortDecl};
use crate::relation::PortRef::{Input, InputsFrom, Output, OutputsFrom};
use crate::relation::{
    BROADCAST_BINARY, ELEMENTWISE, MATMUL_BINARY, REDUCE_AXIS, TypeRelation, UNARY_SAME_ELEMENT, cast_to,
    constant_value, indices, where_broadcast,
};
use crate::tree::builtin::{TYPE_ANY, TYPE_TENSOR, TYPE_TENSOR_BOOL, TYPE_TENSOR_I64};

/// The operator set of the tensor primitives.
pub static TENSOR_PRIMITIVES: AtomicOpsetDecl =
    AtomicOpsetDecl { domain: "ai.onnx", version: 18, ops: TENSOR_PRIMITIVES_OPS };

/// Invokes `$then!` with the thirty primitives. A row is the single definition of a primitive: its
/// documentation, ONNX operator name and method of a backend, the method's form as a node, and its declared
/// ports and relations. The form is `([inputs]; attribute: value)`, and the list with an entry for each
/// output if there are several. Tensors have the type of the second argument, or `Self::Tensor`. The calling module must import the names that it uses from the rows, such as
/// `TensorProto` and `Dtype` in the signatures.
#[doc(hidden)]
#[macro_export]
macro_rules! primitives {
    ($then:ident) => {
        $crate::primitives!($then, Self::Tensor);
    };
    ($then:ident, $tensor:ty) => {
        $then! {
            /// `a + b` with broadcasting.
            "Add" add(a: &$tensor, b: &$tensor) -> $tensor = ([a, b])
                { [data("A"), data("B")] => [data("C")], BROADCAST_BINARY };
            /// `a - b` with broadcasting.
            "Sub" sub(a: &$tensor, b: &$tensor) -> $tensor = ([a, b])
                { [data("A"), data("B")] => [data("C")], BROADCAST_BINARY };
            /// `a * b` with broadcasting.
            "Mul" mul(a: &$tensor, b: &$tensor) -> $tensor = ([a, b])
                { [data("A"), data("B")] => [data("C")], BROADCAST_BINARY };
            /// `a / b` with broadcasting; integer division truncates.
            "Div" div(a: &$tensor, b: &$tensor) -> $tensor = ([a, b])
                { [data("A"), data("B")] => [data("C")], BROADCAST_BINARY };
            /// `-a`, elementwise.
            "Neg" neg(a: &$tensor) -> $tensor = ([a])
                { [data("X")] => [data("Y")], ELEMENTWISE };
            /// `|a|`, elementwise.
            "Abs" abs(a: &$tensor) -> $tensor = ([a])
                { [data("X")] => [data("Y")], ELEMENTWISE };
            /// Square root, elementwise.
            "Sqrt" sqrt(a: &$tensor) -> $tensor = ([a])
                { [data("X")] => [data("Y")], ELEMENTWISE };
            /// `a` to the power of `b` with broadcasting; the result has the element type of `a`.
            "Pow" pow(a: &$tensor, b: &$tensor) -> $tensor = ([a, b])
                { [data("X"), data("Y")] => [data("Z")], POW };
            /// `e` to the power of `a`, elementwise.
            "Exp" exp(a: &$tensor) -> $tensor = ([a])
                { [data("X")] => [data("Y")], ELEMENTWISE };
            /// Natural logarithm, elementwise.
            "Log" log(a: &$tensor) -> $tensor = ([a])
                { [data("X")] => [data("Y")], ELEMENTWISE };
            /// Product of matrices, or of stacks of matrices.
            "MatMul" matmul(a: &$tensor, b: &$tensor) -> $tensor = ([a, b])
                { [data("A"), data("B")] => [data("Y")], MATMUL_BINARY };
            /// Sum along the given axes, or along all axes for `None`.
            "ReduceSum" reduce_sum(a: &$tensor, axes: Option<&[i64]>, keepdims: bool) -> $tensor = ([a, axes]; keepdims: keepdims)
                { [data("data"), optional_ints("axes")] => [data("reduced")], REDUCE_AXIS };
            /// Mean along the given axes, or along all axes for `None`.
            "ReduceMean" reduce_mean(a: &$tensor, axes: Option<&[i64]>, keepdims: bool) -> $tensor = ([a, axes]; keepdims: keepdims)
                { [data("data"), optional_ints("axes")] => [data("reduced")], REDUCE_AXIS };
            /// Maximum along the given axes, or along all axes for `None`.
            "ReduceMax" reduce_max(a: &$tensor, axes: Option<&[i64]>, keepdims: bool) -> $tensor = ([a, axes]; keepdims: keepdims)
                { [data("data"), optional_ints("axes")] => [data("reduced")], REDUCE_AXIS };
            /// Minimum along the given axes, or along all axes for `None`.
            "ReduceMin" reduce_min(a: &$tensor, axes: Option<&[i64]>, keepdims: bool) -> $tensor = ([a, axes]; keepdims: keepdims)
                { [data("data"), optional_ints("axes")] => [data("reduced")], REDUCE_AXIS };
            /// Changes the shape and keeps the elements; 0 copies an extent, -1 is inferred.
            "Reshape" reshape(a: &$tensor, shape: &[i64]) -> $tensor = ([a, shape])
                { [data("data"), required_ints("shape")] => [data("reshaped")], UNARY_SAME_ELEMENT };
            /// Permutes the axes.
            "Transpose" transpose(a: &$tensor, perm: &[i64]) -> $tensor = ([a]; perm: perm)
                { [data("data")] => [data("transposed")], UNARY_SAME_ELEMENT };
            /// Concatenates tensors along an axis.
            "Concat" concat(parts: &[&$tensor], axis: i64) -> $tensor = ([..parts]; axis: axis)
                { [rest("inputs")] => [data("concat_result")], CONCAT };
            /// Selects every `steps`-th element from `starts` up to but excluding `ends` along `axes`.
            "Slice" slice(a: &$tensor, starts: &[i64], ends: &[i64], axes: &[i64], steps: &[i64]) -> $tensor = ([a, starts, ends, axes, steps])
                { [data("data"), required_indices("starts"), required_indices("ends"), optional_indices("axes"), optional_indices("steps")] => [data("output")], SLICE };
            /// Splits a tensor into parts of the given sizes along an axis.
            "Split" split(a: &$tensor, sizes: &[i64], axis: i64) -> Vec<$tensor> = ([a, sizes]; axis: axis; sizes)
                { [data("input"), optional_ints("split")] => [rest("outputs")], SPLIT };
            /// Removes the given axes of extent 1, or all axes of extent 1 for `None`.
            "Squeeze" squeeze(a: &$tensor, axes: Option<&[i64]>) -> $tensor = ([a, axes])
                { [data("data"), optional_ints("axes")] => [data("squeezed")], UNARY_SAME_ELEMENT };
            /// Inserts axes of extent 1 at the given positions of the result.
            "Unsqueeze" unsqueeze(a: &$tensor, axes: &[i64]) -> $tensor = ([a, axes])
                { [data("data"), required_ints("axes")] => [data("expanded")], UNARY_SAME_ELEMENT };
            /// Returns its argument.
            "Identity" identity(a: &$tensor) -> $tensor = ([a])
                { [data("input")] => [data("output")], IDENTITY };
            /// Converts the elements to another element type.
            "Cast" cast(a: &$tensor, dtype: Dtype) -> $tensor = ([a]; to: dtype)
                { [data("input")] => [data("output")], CAST };
            /// `a == b`, elementwise with broadcasting.
            "Equal" equal(a: &$tensor, b: &$tensor) -> $tensor = ([a, b])
                { [data("A"), data("B")] => [bools("C")], COMPARE };
            /// `a > b`, elementwise with broadcasting.
            "Greater" greater(a: &$tensor, b: &$tensor) -> $tensor = ([a, b])
                { [data("A"), data("B")] => [bools("C")], COMPARE };
            /// `a < b`, elementwise with broadcasting.
            "Less" less(a: &$tensor, b: &$tensor) -> $tensor = ([a, b])
                { [data("A"), data("B")] => [bools("C")], COMPARE };
            /// Selects `a` where the condition is true and `b` elsewhere, with broadcasting.
            "Where" where_(condition: &$tensor, a: &$tensor, b: &$tensor) -> $tensor = ([condition, a, b])
                { [bools("condition"), data("X"), data("Y")] => [data("output")], WHERE };
            /// Creates a tensor from a constant.
            "Constant" constant(value: &TensorProto) -> $tensor = ([]; value: value)
                { [] => [data("output")], CONSTANT };
            /// Selects the entries at `indices` along an axis.
            "Gather" gather(data: &$tensor, indices: &$tensor, axis: i64) -> $tensor = ([data, indices]; axis: axis)
                { [data("data"), required_indices("indices")] => [data("output")], GATHER };
        }
    };
}

macro_rules! declare_operators {
    ($(
        $(#[doc = $doc:literal])* $op:literal $name:ident $args:tt -> $out:ty = $form:tt
        { $inputs:expr => $outputs:expr, $relations:expr };
    )*) => {
        /// The tensor primitives.
        pub const TENSOR_PRIMITIVES_OPS: &[AtomicOpDecl] = &[$(AtomicOpDecl {
            name: $op,
            inputs: &$inputs,
            outputs: &$outputs,
            kind: AtomicOpKind::Pure,
            type_relations: $relations,
        }),*];
    };
}
primitives!(declare_operators);

/// The exponent may have a different element type than the base.
const POW: &[TypeRelation] = &[
    TypeRelation::SameElementType(&[Input(0), Output(0)]),
    TypeRelation::BroadcastShape { in0: Input(0), in1: Input(1), out: Output(0) },
];

const CONCAT: &[TypeRelation] = &[TypeRelation::SameElementType(&[InputsFrom(0), Output(0)])];

const SLICE: &[TypeRelation] = &[
    TypeRelation::SameElementType(&[Input(0), Output(0)]),
    TypeRelation::SameElementType(&[Input(1), Input(2), Input(3), Input(4)]),
    TypeRelation::Custom { name: "slice.indices", run: |cx| indices(cx, InputsFrom(1)).into() },
];

const SPLIT: &[TypeRelation] = &[TypeRelation::SameElementType(&[Input(0), OutputsFrom(0)])];

const IDENTITY: &[TypeRelation] = &[TypeRelation::SameType(&[Input(0), Output(0)])];

const CAST: &[TypeRelation] = &[TypeRelation::Custom { name: "cast.to", run: |cx| cast_to(cx).into() }];

/// Operands have one element type; the bound of the output port is bool.
const COMPARE: &[TypeRelation] = &[
    TypeRelation::SameElementType(&[Input(0), Input(1)]),
    TypeRelation::BroadcastShape { in0: Input(0), in1: Input(1), out: Output(0) },
];

const WHERE: &[TypeRelation] = &[
    TypeRelation::SameElementType(&[Input(1), Input(2), Output(0)]),
    TypeRelation::Custom { name: "where.broadcast", run: |cx| where_broadcast(cx).into() },
];

const CONSTANT: &[TypeRelation] =
    &[TypeRelation::Custom { name: "constant.value", run: |cx| constant_value(cx).into() }];

const GATHER: &[TypeRelation] = &[
    TypeRelation::SameElementType(&[Input(0), Output(0)]),
    TypeRelation::Custom { name: "gather.indices", run: |cx| indices(cx, Input(1)).into() },
];

const fn data(name: &'static str) -> PortDecl {
    PortDecl::required(name, &TYPE_ANY)
}

const fn rest(name: &'static str) -> PortDecl {
    PortDecl::variadic(name, &TYPE_ANY)
}

const fn bools(name: &'static str) -> PortDecl {
    PortDecl::required(name, &TYPE_TENSOR_BOOL)
}

const fn required_ints(name: &'static str) -> PortDecl {
    PortDecl::required(name, &TYPE_TENSOR_I64)
}

const fn optional_ints(name: &'static str) -> PortDecl {
    PortDecl::optional(name, &TYPE_TENSOR_I64)
}

/// 32-bit or 64-bit integers, checked by a relation because no node bounds exactly these two.
const fn required_indices(name: &'static str) -> PortDecl {
    PortDecl::required(name, &TYPE_TENSOR)
}

const fn optional_indices(name: &'static str) -> PortDecl {
    PortDecl::optional(name, &TYPE_TENSOR)
}

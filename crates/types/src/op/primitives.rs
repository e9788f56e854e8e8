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

/// The tensor primitives.
pub const TENSOR_PRIMITIVES_OPS: &[AtomicOpDecl] = &[
    binary("Add", BROADCAST_BINARY, &[data("C")]),
    binary("Sub", BROADCAST_BINARY, &[data("C")]),
    binary("Mul", BROADCAST_BINARY, &[data("C")]),
    binary("Div", BROADCAST_BINARY, &[data("C")]),
    unary("Neg", ELEMENTWISE),
    unary("Abs", ELEMENTWISE),
    unary("Sqrt", ELEMENTWISE),
    op("Pow", &[data("X"), data("Y")], &[data("Z")], POW),
    unary("Exp", ELEMENTWISE),
    unary("Log", ELEMENTWISE),
    op("MatMul", &[data("A"), data("B")], &[data("Y")], MATMUL_BINARY),
    reduce("ReduceSum"),
    reduce("ReduceMean"),
    reduce("ReduceMax"),
    reduce("ReduceMin"),
    op("Reshape", &[data("data"), required_ints("shape")], &[data("reshaped")], UNARY_SAME_ELEMENT),
    op("Transpose", &[data("data")], &[data("transposed")], UNARY_SAME_ELEMENT),
    op("Concat", &[rest("inputs")], &[data("concat_result")], CONCAT),
    op(
        "Slice",
        &[
            data("data"),
            required_indices("starts"),
            required_indices("ends"),
            optional_indices("axes"),
            optional_indices("steps"),
        ],
        &[data("output")],
        SLICE,
    ),
    op("Split", &[data("input"), optional_ints("split")], &[rest("outputs")], SPLIT),
    op("Squeeze", &[data("data"), optional_ints("axes")], &[data("squeezed")], UNARY_SAME_ELEMENT),
    op("Unsqueeze", &[data("data"), required_ints("axes")], &[data("expanded")], UNARY_SAME_ELEMENT),
    op("Identity", &[data("input")], &[data("output")], IDENTITY),
    op("Cast", &[data("input")], &[data("output")], CAST),
    binary("Equal", COMPARE, &[bools("C")]),
    binary("Greater", COMPARE, &[bools("C")]),
    binary("Less", COMPARE, &[bools("C")]),
    op("Where", &[bools("condition"), data("X"), data("Y")], &[data("output")], WHERE),
    op("Constant", &[], &[data("output")], CONSTANT),
    op("Gather", &[data("data"), required_indices("indices")], &[data("output")], GATHER),
];

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

const fn op(
    name: &'static str,
    inputs: &'static [PortDecl],
    outputs: &'static [PortDecl],
    type_relations: &'static [TypeRelation],
) -> AtomicOpDecl {
    AtomicOpDecl { name, inputs, outputs, kind: AtomicOpKind::Pure, type_relations }
}

const fn binary(
    name: &'static str,
    type_relations: &'static [TypeRelation],
    outputs: &'static [PortDecl],
) -> AtomicOpDecl {
    op(name, const { &[data("A"), data("B")] }, outputs, type_relations)
}

const fn unary(name: &'static str, type_relations: &'static [TypeRelation]) -> AtomicOpDecl {
    op(name, const { &[data("X")] }, const { &[data("Y")] }, type_relations)
}

const fn reduce(name: &'static str) -> AtomicOpDecl {
    op(name, const { &[data("data"), optional_ints("axes")] }, const { &[data("reduced")] }, REDUCE_AXIS)
}

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

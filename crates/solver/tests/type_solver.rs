//! Tests of the type solver through its public interface: graphs, seeds and declarations.

#[path = "type_solver/custom.rs"]
mod custom;
#[path = "type_solver/fragments.rs"]
mod fragments;
#[path = "type_solver/kinds.rs"]
mod kinds;
#[path = "type_solver/operators.rs"]
mod operators;
#[path = "type_solver/seeds.rs"]
mod seeds;
#[path = "type_solver/stamps.rs"]
mod stamps;
#[path = "type_solver/trees.rs"]
mod trees;
#[path = "type_solver/worked_example.rs"]
mod worked_example;

use std::sync::Arc;

use typeloom_onnx::messages::{
    AttributeProto, GraphProto, NodeProto, TensorProto, TensorShapeProto, TypeProto, ValueInfoProto,
    tensor_shape_proto::{Dimension, dimension},
    type_proto,
};
use typeloom_solver::program::DeclarationKind;
use typeloom_solver::type_solver::{
    ConstraintFailure, TypeCause, TypeError, TypeSolution, TypeSolver, apply_solution_to_value_info,
};
use typeloom_types::lattice::Lattice;
use typeloom_types::lattice::build::{LatticeBuilder, NodeSpec};
use typeloom_types::op::primitives::TENSOR_PRIMITIVES;
use typeloom_types::op::{AtomicOpDecl, AtomicOpKind, PortDecl};
use typeloom_types::relation::custom::CustomRelationCtx;
use typeloom_types::relation::{ELEMENTWISE, PortRef, RelationError, RelationResult, TypeRelation};
use typeloom_types::tree::builtin::{
    TYPE_ANY, TYPE_PEER_ID, TYPE_SCALAR, TYPE_SCALAR_F32, TYPE_TENSOR, TYPE_TENSOR_F32, TYPE_TENSOR_F64,
    TYPE_TENSOR_I64,
};
use typeloom_types::tree::{TypeKind, TypeNode};

const fn op(
    name: &'static str,
    inputs: &'static [PortDecl],
    outputs: &'static [PortDecl],
    type_relations: &'static [TypeRelation],
) -> AtomicOpDecl {
    AtomicOpDecl { name, inputs, outputs, kind: AtomicOpKind::Pure, type_relations }
}

static RELU: AtomicOpDecl =
    op("Relu", &[PortDecl::required("X", &TYPE_ANY)], &[PortDecl::required("Y", &TYPE_ANY)], ELEMENTWISE);

static RELU_OF_TENSOR: AtomicOpDecl = op(
    "TensorRelu",
    &[PortDecl::required("X", &TYPE_TENSOR)],
    &[PortDecl::required("Y", &TYPE_TENSOR)],
    ELEMENTWISE,
);

/// The operators of the tests: the thirty primitives, and a few others.
fn table(_domain: &str, name: &str) -> Option<&'static AtomicOpDecl> {
    match name {
        "Relu" => Some(&RELU),
        "TensorRelu" => Some(&RELU_OF_TENSOR),
        _ => TENSOR_PRIMITIVES.op(name),
    }
}

fn names(names: &str) -> Vec<String> {
    names.split_whitespace().map(|name| if name == "-" { String::new() } else { name.to_owned() }).collect()
}

/// `node("z = Add x y")`; `-` is an omitted port.
fn node(text: &str) -> NodeProto {
    let (outputs, call) = text.split_once('=').unwrap();
    let (op_type, inputs) = call.trim().split_once(' ').unwrap_or((call.trim(), ""));
    NodeProto {
        op_type: op_type.into(),
        input: names(inputs),
        output: names(outputs),
        ..NodeProto::default()
    }
}

fn graph(nodes: &[&str]) -> GraphProto {
    GraphProto { node: nodes.iter().map(|text| node(text)).collect(), ..GraphProto::default() }
}

fn with_int(mut node: NodeProto, name: &str, value: i64) -> NodeProto {
    let attribute =
        AttributeProto { name: name.into(), i: Some(value), r#type: Some(2), ..Default::default() };
    node.attribute.push(attribute);
    node
}

fn with_ints(mut node: NodeProto, name: &str, values: &[i64]) -> NodeProto {
    let (name, ints) = (name.into(), values.to_vec());
    node.attribute.push(AttributeProto { name, ints, r#type: Some(7), ..Default::default() });
    node
}

fn tensor_type(elem: i32, dims: &[&str]) -> TypeProto {
    let dim = |text: &&str| {
        let value = match text.parse() {
            Ok(extent) => Some(dimension::Value::DimValue(extent)),
            Err(_) if *text == "?" => None,
            Err(_) => Some(dimension::Value::DimParam((*text).to_owned())),
        };
        Dimension { value, ..Dimension::default() }
    };
    let shape = Some(TensorShapeProto { dim: dims.iter().map(dim).collect(), ..Default::default() });
    let tensor = type_proto::Tensor { elem_type: Some(elem), shape, ..Default::default() };
    TypeProto { value: Some(type_proto::Value::TensorType(tensor)), ..TypeProto::default() }
}

fn info(name: &str, ty: Option<TypeProto>) -> ValueInfoProto {
    ValueInfoProto { name: name.into(), r#type: ty, ..ValueInfoProto::default() }
}

fn id<'s>(solution: &'s TypeSolution, value: &str) -> Option<&'s str> {
    solution.node_of(value).map(|node| node.id)
}

fn ids(solution: &TypeSolution) -> Vec<(&str, &str)> {
    solution.iter().map(|(name, node)| (name, node.id)).collect()
}

fn failed(error: TypeError) -> ConstraintFailure {
    match error {
        TypeError::ConstraintFailed(failure) => *failure,
        other => panic!("not a failed constraint: {other}"),
    }
}

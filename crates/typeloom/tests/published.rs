//! Published names are exported at the top of the facade: code written against them needs no other path.

use typeloom as bb;
use typeloom::{
    AnyTensor, AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, BROADCAST_BINARY, CustomRelationCtx, Dtype,
    ELEMENTWISE, GraphProto, Lattice, MATMUL_BINARY, ModelProto, NO_RELATIONS, NodeProto, PortRef,
    REDUCE_AXIS, RelationResult, Storage, TENSOR_PRIMITIVES_OPS, TYPE_TENSOR, TypeError, TypeKind, TypeNode,
    TypeNodeReg, TypeProto, TypeRelation, TypeSolution, TypeSolver, UNARY_SAME_ELEMENT, ValueInfoProto,
};

static TYPE_SUBMITTED: TypeNode = TypeNode {
    id: "tensor.submitted",
    parent: Some("tensor"),
    kind: TypeKind::Concrete,
    ffi_name: "",
    wire_hash: 0,
    denotation: "org.example.submitted",
};

bb::inventory::submit! { TypeNodeReg(&TYPE_SUBMITTED) }

static TYPE_REGISTERED: TypeNode =
    TypeNode { id: "tensor.registered", denotation: "org.example.registered", ..TYPE_SUBMITTED };

bb::register_type_node!(TYPE_REGISTERED);

#[test]
fn leaves_are_registered_with_the_facade_as_the_only_dependency() {
    for node in [&TYPE_SUBMITTED, &TYPE_REGISTERED] {
        assert_eq!(bb::lookup_by_id(node.id), Some(node));
        assert_eq!(bb::lookup_denotation(node.denotation), Some(node));
        assert!(Lattice::get().is_subtype(node, &TYPE_TENSOR));
    }
}

#[test]
fn named_slices_are_relations_of_the_published_kinds() {
    let names = |relations: &[TypeRelation]| relations.iter().map(TypeRelation::name).collect::<Vec<_>>();
    assert!(NO_RELATIONS.is_empty());
    assert_eq!(names(ELEMENTWISE), ["elementwise"]);
    assert_eq!(names(UNARY_SAME_ELEMENT), ["same-element-type"]);
    assert_eq!(names(BROADCAST_BINARY), ["same-element-type", "broadcast-shape"]);
    assert_eq!(names(MATMUL_BINARY), ["same-element-type", "matmul.contract"]);
    assert_eq!(names(REDUCE_AXIS), ["reduce-over"]);
}

/// A custom relation in the documented form.
fn same(cx: &CustomRelationCtx<'_>) -> RelationResult {
    cx.unify(&[PortRef::Input(0), PortRef::Output(0)])
}

static OPS: [AtomicOpDecl; 1] = [AtomicOpDecl {
    name: "Same",
    inputs: &[bb::PortDecl::required("x", &TYPE_TENSOR)],
    outputs: &[bb::PortDecl::required("y", &TYPE_TENSOR)],
    kind: AtomicOpKind::Pure,
    type_relations: &[TypeRelation::Custom { name: "same.all", run: same }],
}];

static OPSET: AtomicOpsetDecl = AtomicOpsetDecl { domain: "org.example", version: 1, ops: &OPS };

#[test]
fn a_model_of_declared_operators_is_typed_by_the_storage_of_a_rust_type() -> Result<(), TypeError> {
    assert_eq!(TENSOR_PRIMITIVES_OPS.len(), 30);
    let node = NodeProto {
        op_type: "Same".into(),
        domain: "org.example".into(),
        input: vec!["x".into()],
        output: vec!["y".into()],
        ..Default::default()
    };
    let output = ValueInfoProto { name: "y".into(), ..Default::default() };
    let graph = GraphProto { node: vec![node], output: vec![output], ..Default::default() };
    let mut model = ModelProto { graph: Some(graph), ..Default::default() };
    let graph = model.graph.as_mut().expect("it was just put there");

    let mut solver = TypeSolver::from_graph(graph, |domain, op_type| {
        OPSET.op(op_type).filter(|_| domain == OPSET.domain)
    })?;
    solver.seed("x", <AnyTensor as Storage>::TYPE).seed("y", <[i64] as Storage>::TYPE);
    let solution: TypeSolution = solver.solve_strict()?;
    assert_eq!(solution.type_of("x"), Some(Dtype::I64.type_node()));
    bb::apply_solution_to_value_info(graph, &solution);
    let stamp: Option<&TypeProto> = graph.output[0].r#type.as_ref();
    assert_eq!(stamp.and_then(|ty| ty.denotation.as_deref()), Some("ai.bytesandbrains.tensor.i64"));
    Ok(())
}

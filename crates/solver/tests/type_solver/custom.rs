//! Custom relations.

use super::*;

/// The output has the type of the input at the position in attribute `pick`.
fn pick(cx: &CustomRelationCtx<'_>) -> RelationResult {
    let Some(at) = cx.attr_int("pick").and_then(|at| usize::try_from(at).ok()) else {
        return RelationResult::Failed(RelationError {
            message: "attribute `pick` must be a position".into(),
            ports: vec![PortRef::Output(0)],
            expected: "a position".into(),
            found: "none".into(),
        });
    };
    cx.unify(&[PortRef::Input(at), PortRef::Output(0)])
}

static PICK: AtomicOpDecl = op(
    "Pick",
    &[PortDecl::variadic("in", &TYPE_ANY)],
    &[PortDecl::required("out", &TYPE_ANY)],
    &[TypeRelation::Custom { name: "pick.one", run: pick }],
);

/// Always claims that it narrowed a port.
fn restless(_cx: &CustomRelationCtx<'_>) -> RelationResult {
    RelationResult::Refined
}

static RESTLESS: AtomicOpDecl = op(
    "Restless",
    &[PortDecl::required("in", &TYPE_ANY)],
    &[PortDecl::required("out", &TYPE_ANY)],
    &[TypeRelation::Custom { name: "restless.run", run: restless }],
);

fn ours(domain: &str, name: &str) -> Option<&'static AtomicOpDecl> {
    match name {
        "Pick" => Some(&PICK),
        "Restless" => Some(&RESTLESS),
        _ => table(domain, name),
    }
}

fn picking(at: i64) -> TypeSolver {
    let graph =
        GraphProto { node: vec![with_int(node("y = Pick a b c"), "pick", at)], ..GraphProto::default() };
    TypeSolver::from_graph(&graph, ours).unwrap()
}

#[test]
fn a_custom_relation_reads_attributes_and_refines_both_ways() {
    let mut forward = picking(1);
    forward.seed("b", &TYPE_PEER_ID);
    assert_eq!(ids(&forward.solve().unwrap()), [("b", "peer_id"), ("y", "peer_id")]);
    let mut backward = picking(2);
    backward.seed("y", &TYPE_TENSOR_F32);
    assert_eq!(ids(&backward.solve().unwrap()), [("c", "tensor.f32"), ("y", "tensor.f32")]);
}

#[test]
fn a_parked_relation_runs_when_a_port_narrows() {
    let graph = GraphProto {
        node: vec![with_int(node("y = Pick a b"), "pick", 0), node("w = Identity a")],
        ..GraphProto::default()
    };
    let mut solver = TypeSolver::from_graph(&graph, ours).unwrap();
    solver.seed("w", &TYPE_PEER_ID);
    assert_eq!(id(&solver.solve().unwrap(), "y"), Some("peer_id"));
}

#[test]
fn its_failure_names_node_port_and_value() {
    let graph = graph(&["y = Pick a"]);
    let failure = failed(TypeSolver::from_graph(&graph, ours).unwrap().solve().unwrap_err());
    assert_eq!((failure.relation.as_str(), failure.sides[0].value.as_str()), ("pick.one", "y"));
}

#[test]
fn a_relation_that_always_reports_progress_does_not_prevent_the_end() {
    let mut solver = TypeSolver::from_graph(&graph(&["y = Restless x", "z = Relu y"]), ours).unwrap();
    solver.seed("z", &TYPE_TENSOR_F32);
    assert_eq!(id(&solver.solve().unwrap(), "y"), Some("tensor.f32"));
}

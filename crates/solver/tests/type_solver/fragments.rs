//! Fragments of graphs: nodes in any order, undefined names, nested graphs.

use super::*;

#[test]
fn nodes_may_be_in_any_order() {
    let mut solver = TypeSolver::from_graph(&graph(&["w = Relu z", "z = Add x y"]), table).unwrap();
    solver.seed("x", &TYPE_TENSOR_F32);
    assert_eq!(id(&solver.solve_strict().unwrap(), "w"), Some("tensor.f32"));
    solver.seed("y", &TYPE_TENSOR_F64);
    assert_eq!(failed(solver.solve().unwrap_err()).node.position, 1);
}

#[test]
fn a_cycle_is_an_error() {
    let error = TypeSolver::from_graph(&graph(&["a = Relu b", "b = Relu a"]), table).unwrap_err();
    assert!(matches!(&error, TypeError::InvalidGraph { .. }), "{error}");
    assert!(error.to_string().contains("wait for each other"));
}

#[test]
fn a_name_made_twice_is_an_error() {
    let error = TypeSolver::from_graph(&graph(&["a = Relu x", "a = Relu y"]), table).unwrap_err();
    assert_eq!(error.to_string(), "node #1 `Relu`: `a` is defined twice");

    let mut scope = node("y = Scope x");
    let body = graph(&["a = Neg x", "a = Neg x"]);
    let body = AttributeProto { name: "body".into(), g: Some(Box::new(body)), ..Default::default() };
    scope.attribute.push(body);
    let graph = GraphProto { node: vec![scope], ..GraphProto::default() };
    let error = TypeSolver::from_graph(&graph, |_, _| Some(&SCOPE)).unwrap_err();
    assert!(error.to_string().contains("`a` is defined twice"), "{error}");
}

#[test]
fn an_initializer_can_be_the_default_of_an_input() {
    let mut graph = graph(&["y = Identity c"]);
    graph.input.push(info("c", None));
    graph.initializer.push(TensorProto { name: "c".into(), data_type: Some(1), ..TensorProto::default() });
    let solution = TypeSolver::from_graph(&graph, table).unwrap().solve_strict().unwrap();
    assert_eq!(id(&solution, "y"), Some("tensor.f32"));
}

#[test]
fn graphs_nested_without_end_are_an_error() {
    let mut nested = graph(&["b = Relu a"]);
    for _ in 0..100 {
        let mut holder = node("y = If c");
        let attribute =
            AttributeProto { name: "then_branch".into(), g: Some(Box::new(nested)), ..Default::default() };
        holder.attribute.push(attribute);
        nested = GraphProto { node: vec![holder], ..GraphProto::default() };
    }
    let error = TypeSolver::from_graph(&nested, table).unwrap_err();
    assert!(matches!(error, TypeError::InvalidGraph { node: None, .. }));
}

static SCOPE: AtomicOpDecl =
    op("Scope", &[PortDecl::required("in", &TYPE_ANY)], &[PortDecl::required("out", &TYPE_ANY)], ELEMENTWISE);

/// `y = Scope x`, around a graph that reads `x`, and `t`, which nothing outside reads.
fn with_nested_graph() -> TypeSolver {
    let mut scope = node("y = Scope x");
    let body = graph(&["a = Neg x", "b = Add a t"]);
    let body = AttributeProto { name: "body".into(), g: Some(Box::new(body)), ..Default::default() };
    scope.attribute.push(body);
    let graph = GraphProto { node: vec![node("z = Neg y"), scope], ..GraphProto::default() };
    TypeSolver::from_graph(
        &graph,
        |domain, name| if name == "Scope" { Some(&SCOPE) } else { table(domain, name) },
    )
    .unwrap()
}

#[test]
fn types_flow_into_nested_graphs_and_out_of_them() {
    let mut solver = with_nested_graph();
    solver.seed("z", &TYPE_TENSOR_F32);
    let solution = solver.solve_strict().unwrap();
    assert_eq!(ids(&solution), ["x", "t", "y", "z"].map(|name| (name, "tensor.f32")));
}

#[test]
fn an_error_in_a_nested_graph_is_reported_with_causes_outside_it() {
    let mut solver = with_nested_graph();
    solver.seed("z", &TYPE_TENSOR_F32).seed("t", &TYPE_TENSOR_F64);
    let failure = failed(solver.solve().unwrap_err());
    assert_eq!((failure.node.op_type.as_str(), failure.node.position), ("Add", 1));
    let seed = |value: &str, ty: &str| Some(TypeCause::Seed { value: value.into(), ty: ty.into() });
    let causes: Vec<_> = failure.sides.iter().map(|side| side.cause.clone()).collect();
    assert_eq!(causes, [seed("z", "tensor.f32"), seed("t", "tensor.f64")]);
}

#[test]
fn the_default_domain_has_two_names() {
    let by_domain = |domain: &str, name: &str| {
        (domain == TENSOR_PRIMITIVES.domain).then(|| TENSOR_PRIMITIVES.op(name)).flatten()
    };
    let mut solver = TypeSolver::from_graph(&graph(&["y = Neg x"]), by_domain).unwrap();
    solver.seed("x", &TYPE_TENSOR_F32);
    assert_eq!(id(&solver.solve_strict().unwrap(), "y"), Some("tensor.f32"));
}

#[test]
fn large_constants_are_typed_without_their_elements() {
    let mut graph = graph(&["y = Identity c"]);
    graph.initializer.push(TensorProto {
        name: "c".into(),
        dims: vec![1 << 20],
        data_type: Some(1),
        raw_data: Some(vec![0; 1 << 22].into()),
        ..TensorProto::default()
    });
    let solution = TypeSolver::from_graph(&graph, table).unwrap().solve_strict().unwrap();
    assert_eq!(solution.display("y").unwrap(), "float[1048576]");
}

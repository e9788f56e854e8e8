//! Leaves and bounds that the tests add to the tree.

use super::*;

static TYPE_TENSOR_POSIT: TypeNode = TypeNode {
    id: "tensor.posit",
    parent: Some("tensor"),
    kind: TypeKind::Concrete,
    ffi_name: "",
    wire_hash: 0,
    denotation: "org.example.tensor.posit",
};
typeloom_types::register_type_node!(TYPE_TENSOR_POSIT);

#[test]
fn a_registered_leaf_is_propagated_and_stamped() {
    let mut graph = graph(&["z = Add x y"]);
    let mut solver = TypeSolver::from_graph(&graph, table).unwrap();
    solver.seed("x", &TYPE_TENSOR_POSIT);
    let solution = solver.solve_strict().unwrap();
    assert_eq!(id(&solution, "z"), Some("tensor.posit"));
    apply_solution_to_value_info(&mut graph, &solution);
    assert!(graph.value_info.iter().all(|info| {
        let ty = info.r#type.as_ref().unwrap();
        ty.denotation() == "org.example.tensor.posit" && ty.value.is_none()
    }));
    let mut again = TypeSolver::from_graph(&graph, table).unwrap();
    again.seed_from_value_info(&graph);
    assert_eq!(ids(&again.solve_strict().unwrap()), ids(&solution));
}

fn lattice(extra: impl IntoIterator<Item = NodeSpec>) -> Arc<Lattice> {
    let builder = Lattice::builder().with_registered();
    Arc::new(extra.into_iter().fold(builder, LatticeBuilder::with_spec).build().unwrap())
}

#[test]
fn a_lattice_without_registration_has_separate_leaves_and_bounds() {
    let specs = [
        NodeSpec::bound("tensor.fixed", "tensor"),
        NodeSpec::concrete("tensor.fixed.q8", "tensor.fixed"),
        NodeSpec::concrete("tensor.fixed.q16", "tensor.fixed"),
    ];
    let mut solver =
        TypeSolver::from_graph(&graph(&["y = Identity x"]), table).unwrap().with_lattice(lattice(specs));
    solver.seed("x", "tensor.fixed");
    assert_eq!(solver.solve().unwrap().bound_of("y").unwrap().id, "tensor.fixed");
    assert!(matches!(
        solver.solve_strict().unwrap_err(),
        TypeError::UnresolvedType { possible, .. } if possible == ["tensor.fixed.q16", "tensor.fixed.q8"]
    ));
    let mut inside = solver.clone();
    inside.seed("y", "tensor.fixed.q8");
    assert_eq!(id(&inside.solve_strict().unwrap(), "x"), Some("tensor.fixed.q8"));
    solver.seed("y", &TYPE_TENSOR_F32);
    assert!(matches!(solver.solve().unwrap_err(), TypeError::ConstraintFailed { .. }));
}

static HANDLE: TypeNode = TypeNode {
    id: "handle",
    parent: Some("any"),
    kind: TypeKind::Abstract,
    ffi_name: "",
    wire_hash: 0,
    denotation: "",
};

static OPEN: AtomicOpDecl = op("Open", &[PortDecl::required("h", &HANDLE)], &[], &[]);

fn with_open(domain: &str, name: &str) -> Option<&'static AtomicOpDecl> {
    if name == "Open" { Some(&OPEN) } else { table(domain, name) }
}

#[test]
fn a_bound_without_leaves_takes_nothing_and_does_not_recurse() {
    let specs = [NodeSpec::from(&HANDLE)];
    for seed in [&TYPE_TENSOR_F32, &TYPE_SCALAR_F32, &TYPE_PEER_ID] {
        let mut solver = TypeSolver::from_graph(&graph(&["= Open x"]), with_open)
            .unwrap()
            .with_lattice(lattice(specs.clone()));
        assert_eq!(solver.solve().unwrap().bound_of("x").unwrap().id, "handle");
        solver.seed("x", seed);
        assert_eq!(failed(solver.solve().unwrap_err()).relation, "port-bound");
    }
}

#[test]
fn a_declaration_with_a_type_that_the_tree_does_not_have_is_an_error() {
    let error = TypeSolver::from_graph(&graph(&["= Open x"]), with_open).unwrap().solve().unwrap_err();
    let failure = failed(error);
    assert_eq!(failure.relation, "port-bound");
    assert!(failure.message.contains("handle"), "{}", failure.message);
}

#[test]
fn a_bound_under_tensor_without_leaves_is_no_type() {
    let specs = [NodeSpec::bound("tensor.none", "tensor")];
    let mut solver =
        TypeSolver::from_graph(&graph(&["y = Relu x"]), table).unwrap().with_lattice(lattice(specs));
    solver.seed("x", "tensor.none").seed("y", &TYPE_TENSOR_F32);
    assert!(solver.solve().is_err());
}

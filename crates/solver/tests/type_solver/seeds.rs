//! Seeds: types of values from the caller.

use super::*;

#[test]
fn an_abstract_seed_is_a_bound() {
    let mut solver = TypeSolver::from_graph(&graph(&["y = Identity x"]), table).unwrap();
    solver.seed("x", &TYPE_TENSOR);
    let solution = solver.solve().unwrap();
    assert_eq!(id(&solution, "y"), None);
    assert_eq!(
        solution.unresolved().map(|(name, node)| (name, node.id)).collect::<Vec<_>>(),
        [("x", "tensor"), ("y", "tensor")]
    );
    solver.seed("y", &TYPE_TENSOR_F32);
    assert_eq!(ids(&solver.solve_strict().unwrap()), [("x", "tensor.f32"), ("y", "tensor.f32")]);
}

#[test]
fn a_bound_that_rules_the_type_out_is_named_as_its_cause() {
    let mut solver = TypeSolver::from_graph(&graph(&["y = Identity x"]), table).unwrap();
    solver.seed("x", &TYPE_SCALAR).seed("y", &TYPE_TENSOR_F32);
    let failure = failed(solver.solve().unwrap_err());
    assert_eq!(failure.relation, "same-type");
    let shown: Vec<_> = failure.sides.iter().map(|side| side.cause.as_ref().unwrap().to_string()).collect();
    assert_eq!(shown, ["from the seed of `x`, scalar", "from the seed of `y`, tensor.f32"]);
}

#[test]
fn several_seeds_of_one_value_must_agree() {
    let mut solver = TypeSolver::from_graph(&graph(&["y = Identity x"]), table).unwrap();
    solver.seed("x", &TYPE_TENSOR).seed("x", &TYPE_TENSOR_F32).seed("x", &TYPE_ANY);
    assert_eq!(id(&solver.solve_strict().unwrap(), "y"), Some("tensor.f32"));
    solver.seed("x", &TYPE_TENSOR_F64);
    let error = solver.solve().unwrap_err();
    assert_eq!(
        error,
        TypeError::SeedContradicts {
            value: "x".into(),
            seed: "tensor.f64".into(),
            found: "tensor.f32".into()
        }
    );
}

#[test]
fn a_seed_that_contradicts_a_constant_is_an_error() {
    let mut graph = graph(&["y = Identity c"]);
    let tensor = TensorProto { name: "c".into(), dims: vec![2], data_type: Some(7), ..Default::default() };
    graph.initializer.push(tensor);
    let mut solver = TypeSolver::from_graph(&graph, table).unwrap();
    assert_eq!(solver.solve_strict().unwrap().display("y").unwrap(), "int64[2]");
    solver.seed("c", &TYPE_TENSOR_F32);
    assert!(matches!(solver.solve().unwrap_err(), TypeError::SeedContradicts { value, .. } if value == "c"));
}

#[test]
fn every_unknown_value_and_type_is_reported() {
    let mut solver = TypeSolver::from_graph(&graph(&["y = Identity x"]), table).unwrap();
    solver.seed("q", &TYPE_TENSOR).seed("x", "tensor.f33").seed("r", &TYPE_TENSOR);
    let error = solver.solve().unwrap_err();
    assert_eq!(
        error.errors(),
        [
            TypeError::UnknownValue { value: "q".into() },
            TypeError::UnknownType { value: "x".into(), id: "tensor.f33".into() },
            TypeError::UnknownValue { value: "r".into() },
        ]
    );
    assert!(error.to_string().starts_with("3 errors\n- there is no value `q` to give a type to\n- "));
}

#[test]
fn declared_types_are_used_on_request() {
    let mut graph = graph(&["y = Relu x"]);
    graph.input.push(info("x", Some(tensor_type(1, &["N", "3"]))));
    graph.output.push(info("y", None));
    let mut solver = TypeSolver::from_graph(&graph, table).unwrap();
    assert_eq!(id(&solver.solve().unwrap(), "y"), None);
    solver.seed_from_value_info(&graph);
    let solution = solver.solve_strict().unwrap();
    assert_eq!(
        (id(&solution, "y"), solution.display("y").unwrap().as_str()),
        (Some("tensor.f32"), "float[N, 3]")
    );
    solver.seed("y", &TYPE_TENSOR_F64);
    let causes: Vec<_> =
        failed(solver.solve().unwrap_err()).sides.into_iter().map(|side| side.cause).collect();
    let declared = TypeCause::Declared { value: "x".into(), list: DeclarationKind::Input };
    let seeded = TypeCause::Seed { value: "y".into(), ty: "tensor.f64".into() };
    assert_eq!(causes, [Some(declared), Some(seeded)]);
}

#[test]
fn a_stamp_is_a_seed() {
    let mut graph = graph(&["y = Identity x"]);
    let stamped = TypeProto { denotation: "bb.peer_id".into(), ..TypeProto::default() };
    graph.output.push(info("y", Some(stamped)));
    let mut solver = TypeSolver::from_graph(&graph, table).unwrap();
    solver.seed_from_value_info(&graph);
    assert_eq!(id(&solver.solve_strict().unwrap(), "x"), Some("peer_id"));
}

#[test]
fn a_type_of_an_unknown_name_is_ignored() {
    let mut other = graph(&[]);
    other.value_info.push(info("elsewhere", Some(tensor_type(1, &[]))));
    let mut solver = TypeSolver::from_graph(&graph(&["y = Identity x"]), table).unwrap();
    solver.seed_from_value_info(&other);
    assert!(solver.solve().is_ok());
}

#[test]
fn a_too_deeply_nested_type_is_ignored() {
    let mut ty = tensor_type(1, &[]);
    for _ in 0..200 {
        let sequence = type_proto::Sequence { elem_type: Some(Box::new(ty)), ..Default::default() };
        ty = TypeProto { value: Some(type_proto::Value::SequenceType(sequence)), ..TypeProto::default() };
    }
    let mut solver = TypeSolver::from_graph(&graph(&["y = Identity x"]), table).unwrap();
    solver.seed_type("x", &ty);
    assert_eq!(solver.solve().unwrap().unresolved().count(), 2);
}

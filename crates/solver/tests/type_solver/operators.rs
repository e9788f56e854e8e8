//! Shapes, bounds, arities and custom relations of the primitives.

use super::*;

fn solve(nodes: Vec<NodeProto>, seeds: &[(&str, TypeProto)]) -> Result<TypeSolution, TypeError> {
    let graph = GraphProto { node: nodes, ..GraphProto::default() };
    let mut solver = TypeSolver::from_graph(&graph, table).unwrap();
    for (value, ty) in seeds {
        solver.seed_type(*value, ty);
    }
    solver.solve()
}

#[test]
fn broadcasting_preserves_symbols() {
    let seeds = [("x", tensor_type(1, &["N", "1", "4"])), ("y", tensor_type(1, &["3", "1"]))];
    let solution = solve(vec![node("z = Add x y")], &seeds).unwrap();
    assert_eq!(solution.display("z").unwrap(), "float[N, 3, 4]");
}

#[test]
fn a_result_and_one_operand_shape_the_other_one() {
    let seeds = [("x", tensor_type(1, &["1", "4"])), ("z", tensor_type(1, &["2", "3", "4"]))];
    let solution = solve(vec![node("z = Add x y")], &seeds).unwrap();
    let y = solution.display("y").unwrap();
    assert!(y.starts_with("float[2, 3, "), "{y}");
}

#[test]
fn dims_that_do_not_broadcast_are_an_error_with_both_shapes() {
    let seeds = [("x", tensor_type(1, &["2", "4"])), ("y", tensor_type(1, &["3", "4"]))];
    let failure = failed(solve(vec![node("z = Add x y")], &seeds).unwrap_err());
    assert_eq!(failure.relation, "broadcast-shape");
    let shapes: Vec<_> = failure.sides.iter().map(|side| side.shape.as_deref().unwrap()).collect();
    assert_eq!(shapes, ["[2, 4]", "[3, 4]"]);
    assert_eq!(
        failure.message,
        "2 (axis 0 of input 0) must be equal to 3 (axis 0 of input 1): these dims are broadcast"
    );
}

#[test]
fn a_scalar_has_no_axes() {
    let mut solver = TypeSolver::from_graph(&graph(&["z = Add x y"]), table).unwrap();
    solver.seed_type("x", &tensor_type(1, &["2"])).seed("z", &TYPE_SCALAR_F32);
    assert!(matches!(solver.solve().unwrap_err(), TypeError::ConstraintFailed { .. }));
}

#[test]
fn reductions_read_axes_from_the_attribute_or_the_second_input() {
    let x = [("x", tensor_type(1, &["N", "3", "4"]))];
    let cases: [(&str, &[i64], Option<i64>, &str); 5] = [
        ("y = ReduceSum x", &[1], None, "float[N, 1, 4]"),
        ("y = ReduceSum x", &[1, -1], Some(0), "float[N]"),
        ("y = ReduceSum x", &[], None, "float[1, 1, 1]"),
        ("y = ReduceSum x", &[], Some(0), "float"),
        ("y = ReduceSum x a", &[], Some(0), "float[N, 4]"),
    ];
    for (text, axes, keep, expected) in cases {
        let mut reduce = node(text);
        if !axes.is_empty() {
            reduce = with_ints(reduce, "axes", axes);
        }
        if let Some(keep) = keep {
            reduce = with_int(reduce, "keepdims", keep);
        }
        let a = TensorProto {
            name: "a".into(),
            dims: vec![1],
            data_type: Some(7),
            int64_data: vec![-2],
            ..TensorProto::default()
        };
        let graph = GraphProto { node: vec![reduce], initializer: vec![a], ..GraphProto::default() };
        let mut solver = TypeSolver::from_graph(&graph, table).unwrap();
        solver.seed_type(x[0].0, &x[0].1);
        assert_eq!(solver.solve().unwrap().display("y").unwrap(), expected, "{text} {axes:?} {keep:?}");
    }
}

#[test]
fn an_axis_out_of_range_is_an_error() {
    let reduce = with_ints(node("y = ReduceSum x"), "axes", &[3]);
    let failure = failed(solve(vec![reduce], &[("x", tensor_type(1, &["2", "2", "2"]))]).unwrap_err());
    assert_eq!((failure.relation.as_str(), failure.node.op_type.as_str()), ("reduce-over", "ReduceSum"));
}

#[test]
fn the_result_of_a_reduction_shapes_its_input() {
    let reduce = with_int(with_ints(node("y = ReduceSum x"), "axes", &[1]), "keepdims", 0);
    let solution = solve(vec![reduce], &[("y", tensor_type(1, &["N", "4"]))]).unwrap();
    let x = solution.display("x").unwrap();
    assert!(x.starts_with("float[N, ") && x.ends_with(", 4]"), "{x}");
}

#[test]
fn custom_relations_of_the_primitives_run() {
    let cast = with_int(node("c = Cast x"), "to", 7);
    let constant = with_ints(node("k = Constant"), "value_ints", &[1, 2, 3]);
    let nodes = vec![cast, constant, node("m = MatMul a b"), node("g = Gather x i")];
    let seeds = [
        ("x", tensor_type(1, &["2", "3"])),
        ("a", tensor_type(1, &["5", "2", "3"])),
        ("b", tensor_type(1, &["3", "4"])),
        ("i", tensor_type(6, &["2"])),
    ];
    let solution = solve(nodes, &seeds).unwrap();
    let shown = ["c", "k", "m", "g"].map(|name| solution.display(name).unwrap());
    assert_eq!(shown, ["int64[2, 3]", "int64[3]", "float[5, 2, 4]", "float[...]"]);
}

#[test]
fn the_error_of_a_custom_relation_keeps_its_message() {
    let seeds = [("a", tensor_type(1, &["2", "3"])), ("b", tensor_type(1, &["4", "4"]))];
    let failure = failed(solve(vec![node("m = MatMul a b")], &seeds).unwrap_err());
    assert_eq!(failure.relation, "matmul.contract");
    assert_eq!(failure.message, "the inner dims of a matrix product must be equal: expected 3, found 4");
    assert_eq!(failure.sides.iter().map(|side| side.value.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let indices = failed(solve(vec![node("g = Gather x i")], &[("i", tensor_type(1, &[]))]).unwrap_err());
    assert_eq!((indices.relation.as_str(), indices.sides[0].ty.as_str()), ("gather.indices", "tensor.f32"));
}

#[test]
fn missing_and_surplus_ports_are_errors() {
    let graph = graph(&["z = Add x", "w = Relu a b", "- = Concat", "v = Add x -"]);
    let error = TypeSolver::from_graph(&graph, table).unwrap().solve().unwrap_err();
    let shown: Vec<_> = error.errors().iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "node #0 `Add` lacks input 1, `B`",
            "node #1 `Relu` has 2 inputs, and its operator at most 1",
            "node #3 `Add` lacks input 1, `B`",
        ]
    );
}

#[test]
fn ports_keep_under_their_declared_bounds() {
    let mut solver = TypeSolver::from_graph(&graph(&["y = TensorRelu x"]), table).unwrap();
    assert_eq!(solver.solve().unwrap().bound_of("y").unwrap().id, "tensor");
    solver.seed("x", &TYPE_SCALAR_F32);
    let failure = failed(solver.solve().unwrap_err());
    assert_eq!(
        (failure.relation.as_str(), failure.message.as_str()),
        ("port-bound", "input 0 must be tensor")
    );
}

#[test]
fn an_operator_without_a_declaration_is_an_error_in_strict_mode_only() {
    let mut solver =
        TypeSolver::from_graph(&graph(&["y = Mystery x", "z = Relu y", "w = Relo x"]), table).unwrap();
    solver.seed("z", &TYPE_TENSOR_F32);
    let solution = solver.solve().unwrap();
    assert_eq!((id(&solution, "y"), id(&solution, "x")), (Some("tensor.f32"), None));
    let error = solver.solve_strict().unwrap_err();
    let unknown: Vec<_> = error
        .errors()
        .iter()
        .filter_map(|error| match error {
            TypeError::UnknownOperator { node, near } => Some((node.op_type.as_str(), near.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(unknown, [("Mystery", vec![]), ("Relo", vec!["Relu".to_owned()])]);
}

#[test]
fn strict_mode_reports_values_that_are_tied_together_once() {
    let solver =
        TypeSolver::from_graph(&graph(&["y = Relu x", "z = Relu y", "b = TensorRelu a"]), table).unwrap();
    let error = solver.solve_strict().unwrap_err();
    let unresolved = |value: &str, bound: &str, all| {
        let (value, bound) = (value.to_owned(), bound.to_owned());
        TypeError::UnresolvedType { value, bound, possible: vec![], all }
    };
    let both = vec![unresolved("x", "any", vec![]), unresolved("a", "tensor", vec![])];
    assert_eq!(error.errors(), both);
    assert_eq!(error.diagnostics().len(), 2);
    assert_eq!(error, unresolved("x", "any", both), "the variant is that of one unresolved value");
    let lines = "2 errors\n- the type of `x` is not settled: it is under any\n- the type of `a` is";
    assert!(error.to_string().starts_with(lines), "{error}");
}

#[test]
fn independent_errors_are_all_reported() {
    let mut solver =
        TypeSolver::from_graph(&graph(&["z = Add x y", "c = Add a b", "w = Relu z"]), table).unwrap();
    solver.seed("x", &TYPE_TENSOR_F32).seed("y", &TYPE_TENSOR_F64);
    solver.seed("a", &TYPE_TENSOR_I64).seed("b", &TYPE_TENSOR_F64);
    let error = solver.solve().unwrap_err();
    let nodes: Vec<_> = error.errors().iter().map(|error| failed(error.clone()).node.position).collect();
    assert_eq!(nodes, [0, 1]);
    assert!(error.to_string().starts_with("2 errors\n- "), "{error}");
    assert_eq!(failed(error).node.position, 0, "the variant is that of one failed relation");
}

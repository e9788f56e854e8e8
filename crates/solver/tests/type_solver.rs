//! The general entry of the solver, seen from outside: what a caller gets from graphs, seeds and
//! declarations.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails with the test")]

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
use typeloom_types::relation::{ELEMENTWISE, PortRef, RelationFailure, RelationResult, TypeRelation};
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

/// The table that the tests use: the thirty primitives, and a few of their own.
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

/// `node("z = Add x y")`; `-` is a port that is left out.
fn node(text: &str) -> NodeProto {
    let (outputs, call) = text.split_once('=').unwrap();
    let (op_type, inputs) = call.trim().split_once(' ').unwrap_or((call.trim(), ""));
    NodeProto {
        op_type: Some(op_type.to_owned()),
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
        AttributeProto { name: Some(name.into()), i: Some(value), r#type: Some(2), ..Default::default() };
    node.attribute.push(attribute);
    node
}

fn with_ints(mut node: NodeProto, name: &str, values: &[i64]) -> NodeProto {
    let (name, ints) = (Some(name.into()), values.to_vec());
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
    ValueInfoProto { name: Some(name.into()), r#type: ty, ..ValueInfoProto::default() }
}

fn id<'s>(solution: &'s TypeSolution, value: &str) -> Option<&'s str> {
    solution.type_of(value).map(|node| node.id)
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

mod worked_example {
    use super::*;

    #[test]
    fn one_seed_types_all_four_values() {
        let mut solver = TypeSolver::from_graph(&graph(&["z = Add x y", "w = Relu z"]), table);
        solver.seed("x", &TYPE_TENSOR_F32);
        let solution = solver.solve_strict().unwrap();
        assert_eq!(ids(&solution), ["x", "y", "z", "w"].map(|name| (name, "tensor.f32")));
    }

    #[test]
    fn a_second_seed_that_contradicts_it_is_an_error_that_names_both() {
        let mut solver = TypeSolver::from_graph(&graph(&["z = Add x y", "w = Relu z"]), table);
        solver.seed("x", &TYPE_TENSOR_F32).seed("y", &TYPE_TENSOR_F64);
        let failure = failed(solver.solve().unwrap_err());
        assert_eq!((failure.node.position, failure.node.op_type.as_str()), (0, "Add"));
        assert_eq!(failure.relation, "same-element-type");
        let seed = |value: &str, ty: &str| Some(TypeCause::Seed { value: value.into(), ty: ty.into() });
        let found: Vec<_> = failure
            .sides
            .iter()
            .map(|side| (side.port, side.value.as_str(), side.ty.as_str(), &side.cause))
            .collect();
        assert_eq!(
            found,
            [
                (PortRef::Input(0), "x", "tensor.f32", &seed("x", "tensor.f32")),
                (PortRef::Input(1), "y", "tensor.f64", &seed("y", "tensor.f64")),
            ]
        );
        assert_eq!(
            failure.to_string(),
            "node #0 `Add`: input 0 and input 1 have one element type [same-element-type], \
             but input 0 `x` is tensor.f32 (from the seed of `x`, tensor.f32), \
             and input 1 `y` is tensor.f64 (from the seed of `y`, tensor.f64)"
        );
    }

    #[test]
    fn the_type_of_the_result_types_the_operands() {
        let mut solver = TypeSolver::from_graph(&graph(&["z = Add x y", "w = Relu z"]), table);
        solver.seed("w", &TYPE_TENSOR_I64);
        let solution = solver.solve_strict().unwrap();
        assert_eq!(ids(&solution), ["x", "y", "z", "w"].map(|name| (name, "tensor.i64")));
    }

    #[test]
    fn causes_are_followed_through_other_nodes() {
        let nodes = ["a = Relu x", "b = Relu a", "c = Relu y", "z = Add b c"];
        let mut solver = TypeSolver::from_graph(&graph(&nodes), table);
        solver.seed("x", &TYPE_TENSOR_F32).seed("y", &TYPE_TENSOR_F64);
        let failure = failed(solver.solve().unwrap_err());
        assert_eq!(failure.node.position, 3);
        let causes: Vec<_> = failure.sides.iter().map(|side| side.cause.clone().unwrap()).collect();
        let seed = |value: &str, ty: &str| TypeCause::Seed { value: value.into(), ty: ty.into() };
        assert_eq!(causes, [seed("x", "tensor.f32"), seed("y", "tensor.f64")]);
    }
}

mod seeds {
    use super::*;

    #[test]
    fn an_abstract_seed_is_a_bound() {
        let mut solver = TypeSolver::from_graph(&graph(&["y = Identity x"]), table);
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
        let mut solver = TypeSolver::from_graph(&graph(&["y = Identity x"]), table);
        solver.seed("x", &TYPE_SCALAR).seed("y", &TYPE_TENSOR_F32);
        let failure = failed(solver.solve().unwrap_err());
        assert_eq!(failure.relation, "same-type");
        let shown: Vec<_> =
            failure.sides.iter().map(|side| side.cause.as_ref().unwrap().to_string()).collect();
        assert_eq!(shown, ["from the seed of `x`, scalar", "from the seed of `y`, tensor.f32"]);
    }

    #[test]
    fn several_seeds_of_one_value_must_agree() {
        let mut solver = TypeSolver::from_graph(&graph(&["y = Identity x"]), table);
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
        let tensor =
            TensorProto { name: Some("c".into()), dims: vec![2], data_type: Some(7), ..Default::default() };
        graph.initializer.push(tensor);
        let mut solver = TypeSolver::from_graph(&graph, table);
        assert_eq!(solver.solve_strict().unwrap().display("y").unwrap(), "int64[2]");
        solver.seed("c", &TYPE_TENSOR_F32);
        assert!(
            matches!(solver.solve().unwrap_err(), TypeError::SeedContradicts { value, .. } if value == "c")
        );
    }

    #[test]
    fn every_unknown_value_and_type_is_reported() {
        let mut solver = TypeSolver::from_graph(&graph(&["y = Identity x"]), table);
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
    fn declared_types_count_once_they_are_asked_for() {
        let mut graph = graph(&["y = Relu x"]);
        graph.input.push(info("x", Some(tensor_type(1, &["N", "3"]))));
        graph.output.push(info("y", None));
        let mut solver = TypeSolver::from_graph(&graph, table);
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
        let stamped = TypeProto { denotation: Some("bb.peer_id".into()), ..TypeProto::default() };
        graph.output.push(info("y", Some(stamped)));
        let mut solver = TypeSolver::from_graph(&graph, table);
        solver.seed_from_value_info(&graph);
        assert_eq!(id(&solver.solve_strict().unwrap(), "x"), Some("peer_id"));
    }

    #[test]
    fn a_type_of_a_name_that_the_graph_does_not_have_is_passed_over() {
        let mut other = graph(&[]);
        other.value_info.push(info("elsewhere", Some(tensor_type(1, &[]))));
        let mut solver = TypeSolver::from_graph(&graph(&["y = Identity x"]), table);
        solver.seed_from_value_info(&other);
        assert!(solver.solve().is_ok());
    }

    #[test]
    fn a_type_nested_deeper_than_anything_real_says_nothing() {
        let mut ty = tensor_type(1, &[]);
        for _ in 0..200 {
            let sequence = type_proto::Sequence { elem_type: Some(Box::new(ty)), ..Default::default() };
            ty = TypeProto { value: Some(type_proto::Value::SequenceType(sequence)), ..TypeProto::default() };
        }
        let mut solver = TypeSolver::from_graph(&graph(&["y = Identity x"]), table);
        solver.seed_type("x", &ty);
        assert_eq!(solver.solve().unwrap().unresolved().count(), 2);
    }
}

mod kinds {
    use super::*;

    #[test]
    fn a_scalar_and_a_tensor_can_share_an_element_type() {
        let mut solver = TypeSolver::from_graph(&graph(&["z = Add x y"]), table);
        solver.seed("x", &TYPE_TENSOR_F32).seed("y", &TYPE_SCALAR_F32);
        let solution = solver.solve_strict().unwrap();
        assert_eq!(ids(&solution), [("x", "tensor.f32"), ("y", "scalar.f32"), ("z", "tensor.f32")]);
        assert_eq!(
            solution.values().iter().map(|value| value.assumed).collect::<Vec<_>>(),
            [false, false, true]
        );
    }

    #[test]
    fn what_only_meets_scalars_is_taken_for_a_scalar() {
        let mut solver = TypeSolver::from_graph(&graph(&["z = Add x y", "w = Mul z v"]), table);
        solver.seed("x", &TYPE_SCALAR_F32);
        let solution = solver.solve_strict().unwrap();
        assert_eq!(ids(&solution).iter().map(|(_, id)| *id).collect::<Vec<_>>(), ["scalar.f32"; 5]);
    }

    #[test]
    fn a_tensor_anywhere_wins_over_scalars() {
        let mut solver = TypeSolver::from_graph(&graph(&["z = Add x y", "w = Mul z v"]), table);
        solver.seed("x", &TYPE_SCALAR_F32).seed("v", &TYPE_TENSOR_F32);
        let solution = solver.solve_strict().unwrap();
        assert_eq!((id(&solution, "z"), id(&solution, "y")), (Some("tensor.f32"), Some("tensor.f32")));
    }

    #[test]
    fn an_assumption_never_beats_a_seed_wherever_the_node_stands() {
        for nodes in [["c = Add x b", "a = Relu b"], ["a = Relu b", "c = Add x b"]] {
            let mut solver = TypeSolver::from_graph(&graph(&nodes), table);
            solver.seed("x", &TYPE_TENSOR_F32).seed("a", &TYPE_SCALAR_F32);
            assert_eq!(id(&solver.solve_strict().unwrap(), "b"), Some("scalar.f32"));
        }
    }

    #[test]
    fn what_has_no_elements_cannot_share_them() {
        let mut solver = TypeSolver::from_graph(&graph(&["z = Add x y"]), table);
        solver.seed("y", &TYPE_PEER_ID);
        let failure = failed(solver.solve().unwrap_err());
        assert_eq!((failure.sides[0].value.as_str(), failure.sides[0].ty.as_str()), ("y", "peer_id"));
        assert_eq!(failure.message, "input 1 is a type with elements");
    }

    #[test]
    fn it_is_also_found_when_the_type_is_known_later() {
        let nodes = ["z = Relu x", "y = Identity z"];
        let mut solver = TypeSolver::from_graph(&graph(&nodes), table);
        solver.seed("y", &TYPE_PEER_ID);
        assert_eq!(failed(solver.solve().unwrap_err()).relation, "elementwise");
    }
}

mod operators {
    use super::*;

    fn solve(nodes: Vec<NodeProto>, seeds: &[(&str, TypeProto)]) -> Result<TypeSolution, TypeError> {
        let graph = GraphProto { node: nodes, ..GraphProto::default() };
        let mut solver = TypeSolver::from_graph(&graph, table);
        for (value, ty) in seeds {
            solver.seed_type(*value, ty);
        }
        solver.solve()
    }

    #[test]
    fn broadcasting_carries_symbols() {
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
        assert_eq!(failure.message, "2 (axis 0 of input 0) and 3 (axis 0 of input 1) are broadcast");
    }

    #[test]
    fn a_scalar_has_no_axes() {
        let mut solver = TypeSolver::from_graph(&graph(&["z = Add x y"]), table);
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
                name: Some("a".into()),
                dims: vec![1],
                data_type: Some(7),
                int64_data: vec![-2],
                ..TensorProto::default()
            };
            let graph = GraphProto { node: vec![reduce], initializer: vec![a], ..GraphProto::default() };
            let mut solver = TypeSolver::from_graph(&graph, table);
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
    fn custom_relations_of_the_primitives_really_run() {
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
        assert_eq!(shown, ["int64[2, 3]", "int64[3]", "float[5, 2, 4]", "float[]"]);
    }

    #[test]
    fn the_failure_of_a_custom_relation_is_told_in_its_own_words() {
        let seeds = [("a", tensor_type(1, &["2", "3"])), ("b", tensor_type(1, &["4", "4"]))];
        let failure = failed(solve(vec![node("m = MatMul a b")], &seeds).unwrap_err());
        assert_eq!(failure.relation, "matmul.contract");
        assert_eq!(failure.message, "the inner dims of a matrix product are equal: expected 3, found 4");
        assert_eq!(failure.sides.iter().map(|side| side.value.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let indices = failed(solve(vec![node("g = Gather x i")], &[("i", tensor_type(1, &[]))]).unwrap_err());
        assert_eq!(
            (indices.relation.as_str(), indices.sides[0].ty.as_str()),
            ("gather.indices", "tensor.f32")
        );
    }

    #[test]
    fn missing_and_surplus_ports_are_errors() {
        let graph = graph(&["z = Add x", "w = Relu a b", "- = Concat", "v = Add x -"]);
        let error = TypeSolver::from_graph(&graph, table).solve().unwrap_err();
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
        let mut solver = TypeSolver::from_graph(&graph(&["y = TensorRelu x"]), table);
        assert_eq!(solver.solve().unwrap().bound_of("y").unwrap().id, "tensor");
        solver.seed("x", &TYPE_SCALAR_F32);
        let failure = failed(solver.solve().unwrap_err());
        assert_eq!(
            (failure.relation.as_str(), failure.message.as_str()),
            ("port-bound", "input 0 is tensor")
        );
    }

    #[test]
    fn an_operator_without_a_declaration_is_an_error_in_strict_mode_only() {
        let mut solver =
            TypeSolver::from_graph(&graph(&["y = Mystery x", "z = Relu y", "w = Relo x"]), table);
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
        let solver = TypeSolver::from_graph(&graph(&["y = Relu x", "z = Relu y", "b = TensorRelu a"]), table);
        let error = solver.solve_strict().unwrap_err();
        assert_eq!(
            error.errors(),
            [
                TypeError::UnresolvedType { value: "x".into(), bound: "any".into(), possible: vec![] },
                TypeError::UnresolvedType { value: "a".into(), bound: "tensor".into(), possible: vec![] },
            ]
        );
    }

    #[test]
    fn independent_errors_are_all_reported() {
        let mut solver = TypeSolver::from_graph(&graph(&["z = Add x y", "c = Add a b", "w = Relu z"]), table);
        solver.seed("x", &TYPE_TENSOR_F32).seed("y", &TYPE_TENSOR_F64);
        solver.seed("a", &TYPE_TENSOR_I64).seed("b", &TYPE_TENSOR_F64);
        let error = solver.solve().unwrap_err();
        let nodes: Vec<_> = error.errors().iter().map(|error| failed(error.clone()).node.position).collect();
        assert_eq!(nodes, [0, 1]);
    }
}

mod fragments {
    use super::*;

    #[test]
    fn nodes_may_stand_in_any_order() {
        let mut solver = TypeSolver::from_graph(&graph(&["w = Relu z", "z = Add x y"]), table);
        solver.seed("x", &TYPE_TENSOR_F32);
        assert_eq!(id(&solver.solve_strict().unwrap(), "w"), Some("tensor.f32"));
        solver.seed("y", &TYPE_TENSOR_F64);
        assert_eq!(failed(solver.solve().unwrap_err()).node.position, 1);
    }

    #[test]
    fn a_cycle_is_an_error() {
        let error = TypeSolver::from_graph(&graph(&["a = Relu b", "b = Relu a"]), table).solve().unwrap_err();
        assert!(matches!(&error, TypeError::InvalidGraph { .. }), "{error}");
        assert!(error.to_string().contains("wait for each other"));
    }

    #[test]
    fn a_name_made_twice_is_an_error() {
        let error = TypeSolver::from_graph(&graph(&["a = Relu x", "a = Relu y"]), table).solve().unwrap_err();
        assert_eq!(error.to_string(), "node #1 `Relu`: `a` is made twice");
    }

    #[test]
    fn graphs_nested_without_end_are_an_error() {
        let mut nested = graph(&["b = Relu a"]);
        for _ in 0..100 {
            let mut holder = node("y = If c");
            let attribute = AttributeProto {
                name: Some("then_branch".into()),
                g: Some(Box::new(nested)),
                ..Default::default()
            };
            holder.attribute.push(attribute);
            nested = GraphProto { node: vec![holder], ..GraphProto::default() };
        }
        let error = TypeSolver::from_graph(&nested, table).solve().unwrap_err();
        assert!(matches!(error, TypeError::InvalidGraph { node: None, .. }));
    }

    static SCOPE: AtomicOpDecl = op(
        "Scope",
        &[PortDecl::required("in", &TYPE_ANY)],
        &[PortDecl::required("out", &TYPE_ANY)],
        ELEMENTWISE,
    );

    /// `y = Scope x`, around a graph that reads `x`, and `t`, which nothing outside reads.
    fn with_nested_graph() -> TypeSolver {
        let mut scope = node("y = Scope x");
        let body = graph(&["a = Neg x", "b = Add a t"]);
        let body =
            AttributeProto { name: Some("body".into()), g: Some(Box::new(body)), ..Default::default() };
        scope.attribute.push(body);
        let graph = GraphProto { node: vec![node("z = Neg y"), scope], ..GraphProto::default() };
        TypeSolver::from_graph(
            &graph,
            |domain, name| if name == "Scope" { Some(&SCOPE) } else { table(domain, name) },
        )
    }

    #[test]
    fn types_flow_into_nested_graphs_and_out_of_them() {
        let mut solver = with_nested_graph();
        solver.seed("z", &TYPE_TENSOR_F32);
        let solution = solver.solve_strict().unwrap();
        assert_eq!(ids(&solution), ["x", "t", "y", "z"].map(|name| (name, "tensor.f32")));
    }

    #[test]
    fn what_is_wrong_in_a_nested_graph_is_told_with_causes_outside_it() {
        let mut solver = with_nested_graph();
        solver.seed("z", &TYPE_TENSOR_F32).seed("t", &TYPE_TENSOR_F64);
        let failure = failed(solver.solve().unwrap_err());
        assert_eq!((failure.node.op_type.as_str(), failure.node.position), ("Add", 1));
        let seed = |value: &str, ty: &str| Some(TypeCause::Seed { value: value.into(), ty: ty.into() });
        let causes: Vec<_> = failure.sides.iter().map(|side| side.cause.clone()).collect();
        assert_eq!(causes, [seed("z", "tensor.f32"), seed("t", "tensor.f64")]);
    }

    #[test]
    fn the_default_domain_goes_by_both_names() {
        let by_domain = |domain: &str, name: &str| {
            (domain == TENSOR_PRIMITIVES.domain).then(|| TENSOR_PRIMITIVES.op(name)).flatten()
        };
        let mut solver = TypeSolver::from_graph(&graph(&["y = Neg x"]), by_domain);
        solver.seed("x", &TYPE_TENSOR_F32);
        assert_eq!(id(&solver.solve_strict().unwrap(), "y"), Some("tensor.f32"));
    }

    #[test]
    fn large_constants_are_typed_without_their_elements() {
        let mut graph = graph(&["y = Identity c"]);
        graph.initializer.push(TensorProto {
            name: Some("c".into()),
            dims: vec![1 << 20],
            data_type: Some(1),
            raw_data: Some(vec![0; 1 << 22].into()),
            ..TensorProto::default()
        });
        let solution = TypeSolver::from_graph(&graph, table).solve_strict().unwrap();
        assert_eq!(solution.display("y").unwrap(), "float[1048576]");
    }
}

mod trees {
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
    fn a_registered_leaf_flows_and_is_stamped() {
        let mut graph = graph(&["z = Add x y"]);
        let mut solver = TypeSolver::from_graph(&graph, table);
        solver.seed("x", &TYPE_TENSOR_POSIT);
        let solution = solver.solve_strict().unwrap();
        assert_eq!(id(&solution, "z"), Some("tensor.posit"));
        apply_solution_to_value_info(&mut graph, &solution);
        assert!(graph.value_info.iter().all(|info| {
            let ty = info.r#type.as_ref().unwrap();
            ty.denotation() == "org.example.tensor.posit" && ty.value.is_none()
        }));
        let mut again = TypeSolver::from_graph(&graph, table);
        again.seed_from_value_info(&graph);
        assert_eq!(ids(&again.solve_strict().unwrap()), ids(&solution));
    }

    fn lattice(extra: impl IntoIterator<Item = NodeSpec>) -> Arc<Lattice> {
        let builder = Lattice::builder().with_registered();
        Arc::new(extra.into_iter().fold(builder, LatticeBuilder::with_spec).build().unwrap())
    }

    #[test]
    fn a_lattice_built_by_hand_has_leaves_and_bounds_of_its_own() {
        let specs = [
            NodeSpec::bound("tensor.fixed", "tensor"),
            NodeSpec::concrete("tensor.fixed.q8", "tensor.fixed"),
            NodeSpec::concrete("tensor.fixed.q16", "tensor.fixed"),
        ];
        let mut solver =
            TypeSolver::from_graph(&graph(&["y = Identity x"]), table).with_lattice(lattice(specs));
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
            let mut solver =
                TypeSolver::from_graph(&graph(&["= Open x"]), with_open).with_lattice(lattice(specs.clone()));
            assert_eq!(solver.solve().unwrap().bound_of("x").unwrap().id, "handle");
            solver.seed("x", seed);
            assert_eq!(failed(solver.solve().unwrap_err()).relation, "port-bound");
        }
    }

    #[test]
    fn a_declaration_with_a_type_that_the_tree_does_not_have_is_an_error() {
        let error = TypeSolver::from_graph(&graph(&["= Open x"]), with_open).solve().unwrap_err();
        let failure = failed(error);
        assert_eq!(failure.relation, "port-bound");
        assert!(failure.message.contains("handle"), "{}", failure.message);
    }

    #[test]
    fn a_bound_under_tensor_without_leaves_is_no_type() {
        let specs = [NodeSpec::bound("tensor.none", "tensor")];
        let mut solver = TypeSolver::from_graph(&graph(&["y = Relu x"]), table).with_lattice(lattice(specs));
        solver.seed("x", "tensor.none").seed("y", &TYPE_TENSOR_F32);
        assert!(solver.solve().is_err());
    }
}

mod custom {
    use super::*;

    /// The output has the type of the input of which attribute `pick` gives the position.
    fn pick(cx: &mut CustomRelationCtx<'_>) -> RelationResult {
        let Some(at) = cx.attr_int("pick").and_then(|at| usize::try_from(at).ok()) else {
            return RelationResult::Failed(RelationFailure {
                message: "attribute `pick` is a position".into(),
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

    /// Claims for ever that it found something out.
    fn restless(_cx: &mut CustomRelationCtx<'_>) -> RelationResult {
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
        TypeSolver::from_graph(&graph, ours)
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
        let mut solver = TypeSolver::from_graph(&graph, ours);
        solver.seed("w", &TYPE_PEER_ID);
        assert_eq!(id(&solver.solve().unwrap(), "y"), Some("peer_id"));
    }

    #[test]
    fn its_failure_names_node_port_and_value() {
        let graph = graph(&["y = Pick a"]);
        let failure = failed(TypeSolver::from_graph(&graph, ours).solve().unwrap_err());
        assert_eq!((failure.relation.as_str(), failure.sides[0].value.as_str()), ("pick.one", "y"));
    }

    #[test]
    fn a_relation_that_never_rests_ends_the_solve_all_the_same() {
        let mut solver = TypeSolver::from_graph(&graph(&["y = Restless x", "z = Relu y"]), ours);
        solver.seed("z", &TYPE_TENSOR_F32);
        assert_eq!(id(&solver.solve().unwrap(), "y"), Some("tensor.f32"));
    }
}

mod stamps {
    use super::*;

    fn solved(graph: &GraphProto) -> TypeSolution {
        let mut solver = TypeSolver::from_graph(graph, table);
        solver.seed_from_value_info(graph);
        solver.solve().unwrap()
    }

    fn entry<'g>(list: &'g [ValueInfoProto], name: &str) -> &'g TypeProto {
        list.iter().find(|info| info.name() == name).and_then(|info| info.r#type.as_ref()).unwrap()
    }

    #[test]
    fn every_value_gets_denotation_element_type_and_shape() {
        let mut graph = graph(&["z = Add x y", "w = Relu z"]);
        graph.input =
            vec![info("x", Some(tensor_type(1, &["N", "3"]))), info("y", Some(tensor_type(1, &["N", "3"])))];
        graph.output = vec![info("w", None)];
        let solution = solved(&graph);
        apply_solution_to_value_info(&mut graph, &solution);
        for (list, name) in [(&graph.input, "x"), (&graph.value_info, "z"), (&graph.output, "w")] {
            let mut expected = tensor_type(1, &["N", "3"]);
            expected.denotation = Some("ai.bytesandbrains.tensor.f32".into());
            assert_eq!(*entry(list, name), expected, "{name}");
        }
        assert_eq!(graph.value_info.len(), 1);
    }

    #[test]
    fn nothing_is_removed_or_doubled_and_a_second_stamp_changes_nothing() {
        let mut graph = graph(&["z = Add x c", "w = Relu z", "u = Mystery z"]);
        graph.input = vec![info("x", Some(tensor_type(1, &["2"])))];
        graph.value_info = vec![info("z", None), info("gone", Some(tensor_type(7, &[])))];
        graph.initializer = vec![TensorProto {
            name: Some("c".into()),
            dims: vec![2],
            data_type: Some(1),
            ..Default::default()
        }];
        let solution = solved(&graph);
        apply_solution_to_value_info(&mut graph, &solution);
        let listed: Vec<_> = graph.value_info.iter().map(ValueInfoProto::name).collect();
        assert_eq!(listed, ["z", "gone", "w"]);
        assert_eq!(*entry(&graph.value_info, "gone"), tensor_type(7, &[]));
        let once = graph.clone();
        apply_solution_to_value_info(&mut graph, &solution);
        assert_eq!(graph, once);
    }

    #[test]
    fn what_a_graph_declares_of_its_own_shape_stays() {
        let mut graph = graph(&["y = Relu x"]);
        graph.input = vec![info("x", Some(tensor_type(1, &["2", "3"])))];
        graph.output = vec![info("y", Some(tensor_type(0, &["A", "?"])))];
        let solution = {
            let mut solver = TypeSolver::from_graph(&graph, table);
            solver.seed_type("x", &tensor_type(1, &["2", "3"]));
            solver.solve().unwrap()
        };
        apply_solution_to_value_info(&mut graph, &solution);
        let mut expected = tensor_type(1, &["A", "?"]);
        expected.denotation = Some("ai.bytesandbrains.tensor.f32".into());
        assert_eq!(*entry(&graph.output, "y"), expected);
    }

    #[test]
    fn scalars_and_leaves_are_stamped_by_denotation_alone() {
        let mut graph = graph(&["b = Identity a", "d = Identity c"]);
        let mut solver = TypeSolver::from_graph(&graph, table);
        solver.seed("a", &TYPE_SCALAR_F32).seed("c", &TYPE_PEER_ID);
        apply_solution_to_value_info(&mut graph, &solver.solve_strict().unwrap());
        for (name, denotation) in [("b", "bb.f32"), ("d", "bb.peer_id")] {
            let ty = entry(&graph.value_info, name);
            assert_eq!((ty.denotation(), &ty.value), (denotation, &None));
        }
    }

    #[test]
    fn sequences_are_written_as_onnx_writes_them() {
        let mut graph = graph(&["b = Identity a"]);
        let element = Some(Box::new(tensor_type(1, &["2"])));
        let sequence = type_proto::Sequence { elem_type: element, ..Default::default() };
        let ty = TypeProto { value: Some(type_proto::Value::SequenceType(sequence)), ..TypeProto::default() };
        let mut solver = TypeSolver::from_graph(&graph, table);
        solver.seed_type("a", &ty);
        let solution = solver.solve_strict().unwrap();
        assert_eq!((id(&solution, "b"), solution.display("b").unwrap().as_str()), (None, "seq(float[2])"));
        apply_solution_to_value_info(&mut graph, &solution);
        assert_eq!(*entry(&graph.value_info, "b"), ty);
    }
}

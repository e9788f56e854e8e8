//! Cost: the number of runs of steps in large graphs.

use typeloom_onnx::messages::{GraphProto, NodeProto};
use typeloom_testing::number;
use typeloom_types::op::primitives::TENSOR_PRIMITIVES;
use typeloom_types::tree::builtin::{TYPE_SCALAR_F32, TYPE_TENSOR_F32, TYPE_TENSOR_F64};

use crate::type_solver::{TypeError, TypeSolver};

/// Large enough to show a count that grows with the graph.
fn large() -> usize {
    number(2000, 10_000)
}

/// Too large for a quadratic cost.
fn huge() -> usize {
    number(20_000, 100_000)
}

fn graph(nodes: impl Iterator<Item = (&'static str, Vec<String>, String)>) -> GraphProto {
    let node = |(op, input, output): (&str, _, _)| NodeProto {
        op_type: op.into(),
        input,
        output: vec![output],
        ..NodeProto::default()
    };
    GraphProto { node: nodes.map(node).collect(), ..GraphProto::default() }
}

fn solver(graph: &GraphProto) -> TypeSolver {
    TypeSolver::from_graph(graph, |_, op| TENSOR_PRIMITIVES.op(op)).unwrap()
}

/// `y<n> = Add(y<n-1>, c<n>)`, beginning with `y0`.
fn binary_chain(op: &'static str) -> GraphProto {
    graph((1..=large()).map(|at| (op, vec![format!("y{}", at - 1), format!("c{at}")], format!("y{at}"))))
}

/// `y<n> = Neg(y<n-1>)`.
fn unary_chain(length: usize) -> GraphProto {
    graph((1..=length).map(|at| ("Neg", vec![format!("y{}", at - 1)], format!("y{at}"))))
}

/// `y<n> = Neg(y0)`.
fn unary_fan() -> GraphProto {
    graph((1..=huge()).map(|at| ("Neg", vec!["y0".to_owned()], format!("y{at}"))))
}

/// `y<n> = Add(y0, c<n>)`.
fn binary_fan(op: &'static str) -> GraphProto {
    graph((1..=large()).map(|at| (op, vec!["y0".to_owned(), format!("c{at}")], format!("y{at}"))))
}

/// Solves a graph with one known value and returns the maximum number of runs of a step.
fn most_runs(graph: &GraphProto, known: &str) -> u32 {
    let mut solver = solver(graph);
    solver.seed(known, &TYPE_TENSOR_F32);
    let (solution, runs) = solver.solve_counting().unwrap();
    assert_eq!(solution.unresolved().count(), 0);
    runs.into_iter().max().unwrap()
}

#[test]
fn forward_types_take_one_pass() {
    assert_eq!(most_runs(&unary_chain(large()), "y0"), 1);
}

#[test]
fn a_chain_that_is_typed_backward_runs_each_step_twice() {
    assert_eq!(most_runs(&unary_chain(huge()), &format!("y{}", huge())), 2);
}

#[test]
fn a_chain_whose_kinds_are_assumed_runs_each_step_at_most_three_times() {
    assert!(most_runs(&binary_chain("Add"), "y0") <= 3);
    assert!(most_runs(&binary_chain("Add"), &format!("y{}", large())) <= 3);
    assert!(most_runs(&binary_chain("MatMul"), &format!("y{}", large())) <= 3);
}

#[test]
fn a_value_that_feeds_every_node_is_narrowed_once() {
    assert!(most_runs(&unary_fan(), &format!("y{}", huge())) <= 3);
    assert!(most_runs(&binary_fan("Add"), "y0") <= 3);
    assert!(most_runs(&binary_fan("MatMul"), "c1") <= 3);
}

#[test]
fn scalars_that_spread_through_a_chain_take_no_more_runs() {
    let mut solver = solver(&binary_chain("Add"));
    solver.seed("y0", &TYPE_SCALAR_F32);
    let (solution, runs) = solver.solve_counting().unwrap();
    assert_eq!(solution.unresolved().count(), 0);
    assert!(runs.into_iter().max().unwrap() <= 3);
}

#[test]
fn one_node_with_very_many_ports_is_solved_in_three_runs() {
    let inputs = (0..large()).map(|at| format!("x{at}")).collect();
    let mut solver = solver(&graph(std::iter::once(("Concat", inputs, "y".to_owned()))));
    solver.seed("y", &TYPE_TENSOR_F32);
    let (solution, runs) = solver.solve_counting().unwrap();
    assert_eq!((solution.unresolved().count(), runs.len()), (0, 1));
    assert!(runs[0] <= 3);
}

#[test]
fn a_contradiction_under_a_value_that_everything_reads_is_explained() {
    let mut solver = solver(&binary_fan("Add"));
    solver.seed("y0", &TYPE_TENSOR_F32).seed(format!("c{}", large()), &TYPE_TENSOR_F64);
    let TypeError::ConstraintFailed(failure) = solver.solve().unwrap_err() else { panic!("another error") };
    assert_eq!(failure.node.position, large() - 1);
    assert!(failure.sides.iter().all(|side| side.cause.is_some()));
}

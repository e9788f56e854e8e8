//! Scalars and tensors that share elements.

use super::*;

#[test]
fn a_scalar_and_a_tensor_can_share_an_element_type() {
    let mut solver = TypeSolver::from_graph(&graph(&["z = Add x y"]), table).unwrap();
    solver.seed("x", &TYPE_TENSOR_F32).seed("y", &TYPE_SCALAR_F32);
    let solution = solver.solve_strict().unwrap();
    assert_eq!(ids(&solution), [("x", "tensor.f32"), ("y", "scalar.f32"), ("z", "tensor.f32")]);
    assert_eq!(solution.values().iter().map(|value| value.assumed).collect::<Vec<_>>(), [false, false, true]);
}

#[test]
fn a_value_that_only_meets_scalars_is_a_scalar() {
    let mut solver = TypeSolver::from_graph(&graph(&["z = Add x y", "w = Mul z v"]), table).unwrap();
    solver.seed("x", &TYPE_SCALAR_F32);
    let solution = solver.solve_strict().unwrap();
    assert_eq!(ids(&solution).iter().map(|(_, id)| *id).collect::<Vec<_>>(), ["scalar.f32"; 5]);
}

#[test]
fn one_tensor_makes_related_values_tensors() {
    let mut solver = TypeSolver::from_graph(&graph(&["z = Add x y", "w = Mul z v"]), table).unwrap();
    solver.seed("x", &TYPE_SCALAR_F32).seed("v", &TYPE_TENSOR_F32);
    let solution = solver.solve_strict().unwrap();
    assert_eq!((id(&solution, "z"), id(&solution, "y")), (Some("tensor.f32"), Some("tensor.f32")));
}

#[test]
fn a_seed_overrides_an_assumption_for_any_order_of_nodes() {
    for nodes in [["c = Add x b", "a = Relu b"], ["a = Relu b", "c = Add x b"]] {
        let mut solver = TypeSolver::from_graph(&graph(&nodes), table).unwrap();
        solver.seed("x", &TYPE_TENSOR_F32).seed("a", &TYPE_SCALAR_F32);
        assert_eq!(id(&solver.solve_strict().unwrap(), "b"), Some("scalar.f32"));
    }
}

#[test]
fn types_without_elements_cannot_share_them() {
    let mut solver = TypeSolver::from_graph(&graph(&["z = Add x y"]), table).unwrap();
    solver.seed("y", &TYPE_PEER_ID);
    let failure = failed(solver.solve().unwrap_err());
    assert_eq!((failure.sides[0].value.as_str(), failure.sides[0].ty.as_str()), ("y", "peer_id"));
    assert_eq!(failure.message, "input 1 must be a type with elements");
}

#[test]
fn the_error_is_also_found_when_the_type_is_known_later() {
    let nodes = ["z = Relu x", "y = Identity z"];
    let mut solver = TypeSolver::from_graph(&graph(&nodes), table).unwrap();
    solver.seed("y", &TYPE_PEER_ID);
    assert_eq!(failed(solver.solve().unwrap_err()).relation, "elementwise");
}

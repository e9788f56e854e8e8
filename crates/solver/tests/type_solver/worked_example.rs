//! The worked example: `z = Add(x, y); w = Relu(z)`.

use super::*;

#[test]
fn one_seed_types_all_four_values() {
    let mut solver = TypeSolver::from_graph(&graph(&["z = Add x y", "w = Relu z"]), table).unwrap();
    solver.seed("x", &TYPE_TENSOR_F32);
    let solution = solver.solve_strict().unwrap();
    assert_eq!(ids(&solution), ["x", "y", "z", "w"].map(|name| (name, "tensor.f32")));
}

#[test]
fn a_second_seed_that_contradicts_it_is_an_error_that_names_both() {
    let mut solver = TypeSolver::from_graph(&graph(&["z = Add x y", "w = Relu z"]), table).unwrap();
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
        "node #0 `Add`: input 0 and input 1 must have one element type [same-element-type], \
         but input 0 `x` is tensor.f32 (from the seed of `x`, tensor.f32), \
         and input 1 `y` is tensor.f64 (from the seed of `y`, tensor.f64)"
    );
}

#[test]
fn the_type_of_the_result_types_the_operands() {
    let mut solver = TypeSolver::from_graph(&graph(&["z = Add x y", "w = Relu z"]), table).unwrap();
    solver.seed("w", &TYPE_TENSOR_I64);
    let solution = solver.solve_strict().unwrap();
    assert_eq!(ids(&solution), ["x", "y", "z", "w"].map(|name| (name, "tensor.i64")));
}

#[test]
fn causes_are_followed_through_other_nodes() {
    let nodes = ["a = Relu x", "b = Relu a", "c = Relu y", "z = Add b c"];
    let mut solver = TypeSolver::from_graph(&graph(&nodes), table).unwrap();
    solver.seed("x", &TYPE_TENSOR_F32).seed("y", &TYPE_TENSOR_F64);
    let failure = failed(solver.solve().unwrap_err());
    assert_eq!(failure.node.position, 3);
    let causes: Vec<_> = failure.sides.iter().map(|side| side.cause.clone().unwrap()).collect();
    let seed = |value: &str, ty: &str| TypeCause::Seed { value: value.into(), ty: ty.into() };
    assert_eq!(causes, [seed("x", "tensor.f32"), seed("y", "tensor.f64")]);
}

//! Custom relations: reading of attributes and shapes, and narrowing of ports.

use typeloom_types::lattice::Lattice;
use typeloom_types::op::primitives::TENSOR_PRIMITIVES;
use typeloom_types::relation::PortRef::{Input, InputsFrom, Output, OutputsFrom};
use typeloom_types::relation::custom::{CustomRelationCtx, PortAccess};
use typeloom_types::relation::{RelationError, RelationResult, TypeRelation};
use typeloom_types::tree::builtin::{TYPE_TENSOR, TYPE_TENSOR_F32};

use crate::support::{FakeNode, FakePort, port};

const UNKNOWN: Option<u64> = None;

/// Applies the custom relation of a primitive.
fn run(op: &str, node: &FakeNode) -> RelationResult {
    let relations = TENSOR_PRIMITIVES.op(op).unwrap().type_relations;
    let mut custom = relations.iter().filter_map(|relation| match relation {
        TypeRelation::Custom { name: _, run } => Some(run),
        _ => None,
    });
    custom.next().unwrap()(node)
}

fn cx(node: &FakeNode) -> &CustomRelationCtx<'_> {
    node
}

fn failure(result: RelationResult) -> RelationError {
    match result {
        RelationResult::Failed(failure) => failure,
        other => panic!("expected a failure, found {other:?}"),
    }
}

fn shaped(shape: &[Option<u64>]) -> FakePort {
    port("tensor.f32", Some(shape))
}

fn unshaped() -> FakePort {
    port("tensor.f32", None)
}

fn matmul(left: &[u64], right: &[u64]) -> Result<Vec<Option<u64>>, RelationError> {
    let known = |dims: &[u64]| dims.iter().copied().map(Some).collect::<Vec<_>>();
    let node = FakeNode::new(&[shaped(&known(left)), shaped(&known(right))], &[unshaped()]);
    match run("MatMul", &node) {
        RelationResult::Failed(failure) => Err(failure),
        result => {
            assert_eq!(result, RelationResult::Satisfied);
            Ok(node.shape(Output(0)).unwrap())
        }
    }
}

#[test]
fn matrix_products_have_the_shapes_of_numpy() {
    assert_eq!(matmul(&[2, 3], &[3, 4]).unwrap(), [Some(2), Some(4)]);
    assert_eq!(matmul(&[3], &[3, 4]).unwrap(), [Some(4)]);
    assert_eq!(matmul(&[2, 3], &[3]).unwrap(), [Some(2)]);
    assert_eq!(matmul(&[3], &[3]).unwrap(), []);
    assert_eq!(matmul(&[5, 1, 2, 3], &[7, 3, 4]).unwrap(), [Some(5), Some(7), Some(2), Some(4)]);
    assert_eq!(matmul(&[0, 2, 3], &[1, 3, 4]).unwrap(), [Some(0), Some(2), Some(4)]);
    assert_eq!(matmul(&[3], &[6, 3, 4]).unwrap(), [Some(6), Some(4)]);
}

#[test]
fn a_matrix_product_of_mismatched_operands_reports_both_dims() {
    let failure = matmul(&[2, 3], &[4, 5]).unwrap_err();
    assert_eq!(failure.ports, [Input(0), Input(1)]);
    assert_eq!(failure.to_string(), "the inner dims of a matrix product must be equal: expected 3, found 4");
    assert_eq!(matmul(&[2, 2, 3], &[5, 3, 4]).unwrap_err().expected, "2 or 1");
    assert_eq!(matmul(&[], &[3]).unwrap_err().ports, [Input(0)]);
    assert_eq!(matmul(&[3], &[]).unwrap_err().ports, [Input(1)]);
}

#[test]
fn a_matrix_product_narrows_the_unknown_operand() {
    let node = FakeNode::new(
        &[shaped(&[UNKNOWN, UNKNOWN]), shaped(&[Some(3), UNKNOWN])],
        &[shaped(&[Some(2), Some(4)])],
    );
    assert_eq!(run("MatMul", &node), RelationResult::Satisfied);
    assert_eq!(node.shape(Input(0)).unwrap(), [Some(2), Some(3)]);
    assert_eq!(node.shape(Input(1)).unwrap(), [Some(3), Some(4)]);

    let node = FakeNode::new(&[shaped(&[UNKNOWN, Some(3)]), shaped(&[UNKNOWN, Some(4)])], &[unshaped()]);
    assert_eq!(run("MatMul", &node), RelationResult::Refined);
    assert_eq!(node.shape(Input(1)).unwrap(), [Some(3), Some(4)]);
    assert_eq!(node.shape(Output(0)).unwrap(), [UNKNOWN, Some(4)]);
    assert_eq!(run("MatMul", &node), RelationResult::Defer, "nothing new the second time");

    let node = FakeNode::new(&[unshaped(), shaped(&[Some(3)])], &[unshaped()]);
    assert_eq!(run("MatMul", &node), RelationResult::Defer);
}

#[test]
fn a_batch_dim_that_may_be_one_stays_unknown() {
    let node = FakeNode::new(
        &[shaped(&[UNKNOWN, Some(2), Some(3)]), shaped(&[Some(1), Some(3), Some(4)])],
        &[unshaped()],
    );
    run("MatMul", &node);
    assert_eq!(node.shape(Output(0)).unwrap(), [UNKNOWN, Some(2), Some(4)]);
    let node = FakeNode::new(
        &[shaped(&[UNKNOWN, Some(2), Some(3)]), shaped(&[Some(8), Some(3), Some(4)])],
        &[unshaped()],
    );
    run("MatMul", &node);
    assert_eq!(node.shape(Output(0)).unwrap(), [Some(8), Some(2), Some(4)]);
}

#[test]
fn a_cast_takes_the_element_type_from_its_attribute() {
    let mut node = FakeNode::new(&[shaped(&[Some(2), UNKNOWN])], &[port("any", Some(&[UNKNOWN, Some(5)]))]);
    node.ints.insert("to", vec![7]);
    assert_eq!(run("Cast", &node), RelationResult::Satisfied);
    assert_eq!(node.id_at(Output(0)), "tensor.i64");
    assert_eq!(node.shape(Output(0)).unwrap(), [Some(2), Some(5)]);
    assert_eq!(node.shape(Input(0)).unwrap(), [Some(2), Some(5)]);
    assert_eq!(node.id_at(Input(0)), "tensor.f32");
}

#[test]
fn a_cast_to_an_unknown_element_type_fails() {
    let mut node = FakeNode::new(&[unshaped()], &[port("any", None)]);
    assert_eq!(failure(run("Cast", &node)).found, "no such attribute");
    for wrong in [0, 29, i64::MAX] {
        node.ints.insert("to", vec![wrong]);
        assert_eq!(failure(run("Cast", &node)).found, wrong.to_string());
    }
    let mut node = FakeNode::new(&[unshaped()], &[port("tensor.f64", None)]);
    node.ints.insert("to", vec![1]);
    assert_eq!(failure(run("Cast", &node)).ports, [Output(0)]);
}

#[test]
fn a_constant_has_the_type_and_shape_of_its_value() {
    let constant = |fill: fn(&mut FakeNode)| {
        let mut node = FakeNode::new(&[], &[port("any", None)]);
        fill(&mut node);
        let result = run("Constant", &node);
        (result, node.id_at(Output(0)), node.shape(Output(0)))
    };
    let done = RelationResult::Satisfied;
    assert_eq!(
        constant(|node| _ = node.floats.insert("value_float", 1.0)),
        (done.clone(), "tensor.f32", Some(vec![]))
    );
    assert_eq!(
        constant(|node| _ = node.ints.insert("value_ints", vec![1, 2, 3])),
        (done.clone(), "tensor.i64", Some(vec![Some(3)]))
    );
    assert_eq!(
        constant(|node| _ = node.ints.insert("value_int", vec![1])),
        (done.clone(), "tensor.i64", Some(vec![]))
    );
    assert_eq!(
        constant(|node| _ = node.strings.insert("value_string", "s")),
        (done.clone(), "tensor.string", Some(vec![]))
    );
    assert_eq!(
        constant(|node| {
            let no = Lattice::get().number_of("tensor.f16").unwrap();
            node.tensors.insert("value", (no, vec![Some(2), Some(2)]));
        }),
        (done, "tensor.f16", Some(vec![Some(2), Some(2)]))
    );
    assert_eq!(constant(|_| ()), (RelationResult::Defer, "any", None));
}

#[test]
fn where_broadcasts_condition_and_branches() {
    let choice = |condition: &[Option<u64>], yes: &[Option<u64>], no: &[Option<u64>]| {
        let node =
            FakeNode::new(&[port("tensor.bool", Some(condition)), shaped(yes), shaped(no)], &[unshaped()]);
        let result = run("Where", &node);
        (result, node.shape(Output(0)))
    };
    let (result, shape) = choice(&[Some(4), Some(1)], &[Some(3)], &[]);
    assert_eq!((result, shape), (RelationResult::Satisfied, Some(vec![Some(4), Some(3)])));
    let (result, shape) = choice(&[UNKNOWN], &[Some(1)], &[Some(1)]);
    assert_eq!((result, shape), (RelationResult::Refined, Some(vec![UNKNOWN])));
    let (result, _) = choice(&[Some(2)], &[Some(1)], &[Some(3)]);
    assert_eq!(failure(result).ports, [Input(0), Input(2)]);
}

#[test]
fn indices_are_integers_of_32_or_64_bits() {
    let gather = |index: &str| run("Gather", &FakeNode::new(&[unshaped(), port(index, None)], &[unshaped()]));
    assert_eq!(gather("tensor.i64"), RelationResult::Satisfied);
    assert_eq!(gather("tensor.i32"), RelationResult::Satisfied);
    assert_eq!(gather("tensor"), RelationResult::Defer);
    assert_eq!(failure(gather("tensor.u8")).found, "tensor.u8");

    // An omitted input in the middle is skipped.
    let ports = [
        unshaped(),
        port("tensor.i64", None),
        port("tensor.i64", None),
        port("", None),
        port("tensor.f32", None),
    ];
    assert_eq!(failure(run("Slice", &FakeNode::new(&ports, &[unshaped()]))).ports, [Input(4)]);
}

#[test]
fn unifying_ports_narrows_all_of_them_to_their_meet() {
    let node = FakeNode::new(
        &[port("any", None), port("", None), port("tensor", None)],
        &[port("tensor.f32", None)],
    );
    let ports = [InputsFrom(0), OutputsFrom(0)];
    assert_eq!(cx(&node).unify(&ports), RelationResult::Satisfied);
    assert_eq!([node.id_at(Input(0)), node.id_at(Input(2))], ["tensor.f32", "tensor.f32"]);
    assert_eq!(node.inputs[1].bound.get(), None, "a left-out port stays left out");

    let node = FakeNode::new(&[port("any", None)], &[port("tensor", None)]);
    assert_eq!(cx(&node).unify(&ports), RelationResult::Refined);
    assert_eq!(cx(&node).unify(&ports), RelationResult::Defer);

    let node = FakeNode::new(&[port("tensor.f32", None), port("tensor", None)], &[port("tensor.f64", None)]);
    let failure = failure(cx(&node).unify(&ports));
    assert_eq!(failure.ports, [Input(0), Output(0)]);
    assert_eq!(
        failure.to_string(),
        "input 0 and output 0 must have one type: expected tensor.f32, found tensor.f64"
    );
}

#[test]
fn a_relation_refers_to_types_by_static_or_id() {
    let node = FakeNode::new(&[port("any", None)], &[]);
    let cx = cx(&node);
    assert_eq!(cx.refine(Input(0), &TYPE_TENSOR), Ok(true));
    assert_eq!(cx.refine(Input(0), "any"), Ok(false));
    assert_eq!(cx.refine(Input(0), &TYPE_TENSOR_F32), Ok(true));
    assert!(cx.refine(Input(0), "tensor.f64").is_err());
    assert_eq!(cx.refine(Input(0), "tensor.f33").unwrap_err().found, "tensor.f33");
    assert_eq!(cx.refine(Input(usize::MAX), "tensor.f32"), Ok(false));
    assert_eq!(cx.bound_node(Input(0)).unwrap().id, "tensor.f32");
    assert!(cx.is_resolved(Input(0)));
}

//! Operator declarations: the thirty primitives, and errors in declarations.

use typeloom_types::op::primitives::{TENSOR_PRIMITIVES, TENSOR_PRIMITIVES_OPS};
use typeloom_types::op::{AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, OpDeclError, PortDecl};
use typeloom_types::relation::{
    BROADCAST_BINARY, ELEMENTWISE, MATMUL_BINARY, NO_RELATIONS, PortRef, REDUCE_AXIS, TypeRelation,
    UNARY_SAME_ELEMENT,
};
use typeloom_types::tree::builtin::TYPE_ANY;

#[test]
fn the_primitives_are_the_published_thirty_in_order() {
    let names: Vec<&str> = TENSOR_PRIMITIVES_OPS.iter().map(|op| op.name).collect();
    let published = "Add Sub Mul Div Neg Abs Sqrt Pow Exp Log MatMul ReduceSum ReduceMean ReduceMax ReduceMin Reshape \
                     Transpose Concat Slice Split Squeeze Unsqueeze Identity Cast Equal Greater Less Where Constant \
                     Gather";
    assert_eq!(names, published.split_whitespace().collect::<Vec<_>>());
    assert_eq!(names.len(), 30);
}

#[test]
fn the_declarations_of_the_primitives_are_valid() {
    assert_eq!(TENSOR_PRIMITIVES.check(), []);
    for op in TENSOR_PRIMITIVES_OPS {
        assert_eq!(TENSOR_PRIMITIVES.op(op.name).unwrap().name, op.name);
        assert!(!op.type_relations.is_empty(), "{} relates its ports", op.name);
    }
    assert!(TENSOR_PRIMITIVES.op("Relu").is_none());
}

#[test]
fn a_variadic_port_covers_every_later_position() {
    let concat = TENSOR_PRIMITIVES.op("Concat").unwrap();
    assert_eq!(concat.input(1000).unwrap().name, "inputs");
    assert!(concat.output(1).is_none());
    let split = TENSOR_PRIMITIVES.op("Split").unwrap();
    assert_eq!(split.output(7).unwrap().name, "outputs");
    assert!(split.input(2).is_none());
}

#[test]
fn built_in_relations_list_their_ports() {
    let show = |relations: &[TypeRelation]| format!("{relations:?}");
    assert_eq!(show(NO_RELATIONS), "[]");
    assert_eq!(show(ELEMENTWISE), "[elementwise[Input(0), Output(0)]]");
    assert_eq!(show(UNARY_SAME_ELEMENT), "[same-element-type[Input(0), Output(0)]]");
    assert_eq!(
        show(BROADCAST_BINARY),
        "[same-element-type[Input(0), Input(1), Output(0)], broadcast-shape[Input(0), Input(1), Output(0)]]"
    );
    assert_eq!(show(MATMUL_BINARY), "[same-element-type[Input(0), Input(1), Output(0)], matmul.contract[]]");
    assert_eq!(show(REDUCE_AXIS), "[reduce-over[Input(0), Output(0)]]");
}

#[test]
fn all_errors_of_a_declaration_are_reported() {
    const RELATIONS: &[TypeRelation] =
        &[TypeRelation::SameType(&[PortRef::Input(5), PortRef::OutputsFrom(0), PortRef::Output(0)])];
    const BROKEN: AtomicOpDecl = AtomicOpDecl {
        name: "Broken",
        inputs: &[PortDecl::variadic("a", &TYPE_ANY), PortDecl::required("a", &TYPE_ANY)],
        outputs: &[],
        kind: AtomicOpKind::Pure,
        type_relations: RELATIONS,
    };
    let set = AtomicOpsetDecl { domain: "org.example", version: 1, ops: &[BROKEN, BROKEN] };
    let errors = set.check();
    assert_eq!(
        BROKEN.check(),
        [
            OpDeclError::VariadicNotLast { op: "Broken", name: "a" },
            OpDeclError::DuplicatePort { op: "Broken", name: "a" },
            OpDeclError::UndeclaredPort { op: "Broken", relation: "same-type", port: PortRef::Input(5) },
            OpDeclError::UndeclaredPort {
                op: "Broken",
                relation: "same-type",
                port: PortRef::OutputsFrom(0)
            },
            OpDeclError::UndeclaredPort { op: "Broken", relation: "same-type", port: PortRef::Output(0) },
        ]
    );
    assert_eq!(errors.len(), 1 + 2 * BROKEN.check().len());
    assert_eq!(errors[0].to_string(), "operator `Broken` is declared twice");
    assert_eq!(
        errors[3].to_string(),
        "relation `same-type` of `Broken` refers to input 5, which is not declared"
    );
}

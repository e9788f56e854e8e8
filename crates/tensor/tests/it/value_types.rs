//! Value types: text, messages, extents.

use std::sync::Arc;

use typeloom_onnx::messages::{TypeProto, type_proto};
use typeloom_tensor::value_type::{Dim, Element, ValueType};
use typeloom_types::dtype::Dtype;
use typeloom_types::tree::builtin::{TYPE_PEER_ID, TYPE_SCALAR_F32, TYPE_TENSOR, TYPE_TENSOR_F32};
use typeloom_types::tree::{TypeKind, TypeNode};

static TYPE_TENSOR_POSIT: TypeNode = TypeNode {
    id: "tensor.posit",
    parent: Some("tensor"),
    kind: TypeKind::Concrete,
    ffi_name: "",
    wire_hash: 0,
    denotation: "org.example.tensor.posit",
};
typeloom_types::register_type_node!(TYPE_TENSOR_POSIT);

fn container(element: Element) -> ValueType {
    ValueType { node: None, element, shape: None }
}

#[test]
fn a_type_is_read_back_from_its_message() {
    let image =
        ValueType::tensor(Dtype::F32, [Dim::parse("N"), Dim::parse("2*H + 1"), Dim::Fixed(3), Dim::Unknown]);
    let types = [
        image.clone(),
        ValueType::of_node(&TYPE_SCALAR_F32),
        ValueType::of_node(&TYPE_PEER_ID),
        container(Element::Sequence(Arc::new(image.clone()))),
        container(Element::Optional(Arc::new(image.clone()))),
        container(Element::Map(Dtype::I64, Arc::new(image))),
        ValueType::default(),
    ];
    for ty in types {
        // Inner types are stored without a denotation: their nodes follow from the element type.
        assert_eq!(ValueType::from_message(&ty.to_message()), ty);
    }
}

#[test]
fn nodes_come_from_the_element_type_or_the_denotation() {
    assert_eq!(ValueType::tensor(Dtype::F32, []).leaf(), Some(&TYPE_TENSOR_F32));
    let denoted = TypeProto { denotation: TYPE_TENSOR_F32.denotation.into(), ..TypeProto::default() };
    let denoted = ValueType::from_message(&denoted);
    assert_eq!((denoted.dtype(), denoted.shape), (Some(Dtype::F32), None));
    assert!(ValueType::of_node(&TYPE_TENSOR).is_tensor());
    assert!(!ValueType::of_node(&TYPE_TENSOR).is_concrete());
    assert!(ValueType::of_node(&TYPE_PEER_ID).is_concrete());
}

#[test]
fn expressions_are_evaluated_without_an_arena() {
    let dim = Dim::parse("seq//2 + past");
    let values = |symbol: &str| Some(if symbol == "seq" { 9 } else { 3 });
    assert_eq!(dim.evaluate(values), Some(7));
    assert_eq!(dim.evaluate(|symbol| (symbol == "seq").then_some(9)), None);
    assert_eq!(Dim::parse("8//n").evaluate(|_| Some(0)), None);
    assert_eq!(Dim::parse("?").evaluate(|_| Some(1)), None);
    assert_eq!(Dim::parse("-1"), Dim::Unknown);
    assert_eq!(Dim::parse("batch size"), Dim::Symbol("batch size".into()));
}

#[test]
fn filling_keeps_declared_types() {
    let declared = ValueType::tensor(Dtype::F32, [Dim::parse("batch"), Dim::Unknown]);
    let mut message = declared.to_message().value;
    ValueType::tensor(Dtype::F32, [Dim::Fixed(8), Dim::Fixed(3)]).fill(&mut message);
    let filled = TypeProto { value: message, ..TypeProto::default() };
    assert_eq!(ValueType::from_message(&filled).to_string(), "float[batch, 3]");
    let mut sequence = Some(type_proto::Value::SequenceType(type_proto::Sequence::default()));
    declared.fill(&mut sequence);
    assert_eq!(sequence, Some(type_proto::Value::SequenceType(type_proto::Sequence::default())));
}

#[test]
fn symbols_can_be_dropped() {
    let ty = ValueType::tensor(Dtype::F32, [Dim::parse("N"), Dim::Fixed(3), Dim::parse("N + 1")]);
    assert_eq!(ty.without_symbols().to_string(), "float[?, 3, ?]");
}

#[test]
fn a_tensor_of_a_registered_leaf_is_named_by_its_element_type() {
    let posits = ValueType::of_node(&TYPE_TENSOR_POSIT);
    assert_eq!(posits.to_string(), "posit[...]");
    let posits = ValueType { shape: Some([Dim::parse("N"), Dim::Fixed(2)].into()), ..posits };
    assert_eq!(posits.to_string(), "posit[N, 2]");
    // ONNX has no number for the element type, so the message names the leaf in its denotation.
    assert_eq!(ValueType::from_message(&posits.to_message()), posits);
}

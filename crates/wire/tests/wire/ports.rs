//! Types of ports on the wire: their digests, and the values that they accept.

use bytes::Bytes;
use typeloom_onnx::messages::tensor_shape_proto::{Dimension, dimension};
use typeloom_onnx::messages::{TensorShapeProto, TypeProto, type_proto};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::{Datum, Scalar};
use typeloom_tensor::map::MapDatum;
use typeloom_types::dtype::Dtype;
use typeloom_types::tree::builtin::{
    TYPE_ANY, TYPE_BYTES, TYPE_COMPOSITE, TYPE_PEER_ID, TYPE_SCALAR_F32, TYPE_TENSOR, TYPE_TENSOR_F32,
    TYPE_TRIGGER,
};
use typeloom_wire::limits::MAX_DEPTH;
use typeloom_wire::port::{PortType, PortTypeError};

pub(crate) fn tensor(number: i32, extents: &[&str]) -> TypeProto {
    let dim = extents
        .iter()
        .map(|text| Dimension {
            value: Some(match text.parse() {
                Ok(value) => dimension::Value::DimValue(value),
                Err(_) => dimension::Value::DimParam((*text).to_owned()),
            }),
            ..Dimension::default()
        })
        .collect();
    let shape = Some(TensorShapeProto { dim, ..TensorShapeProto::default() });
    let tensor = type_proto::Tensor { elem_type: Some(number), shape, ..type_proto::Tensor::default() };
    TypeProto { value: Some(type_proto::Value::TensorType(tensor)), ..TypeProto::default() }
}

fn port(ty: &TypeProto) -> PortType {
    PortType::of_message(ty).expect("a type of values on the wire")
}

fn zeros(shape: &[usize]) -> Datum {
    Datum::Tensor(AnyTensor::zeros(Dtype::F32, shape).expect("a small tensor"))
}

#[test]
fn equal_types_have_one_digest_regardless_of_symbol_names() {
    let digest = |extents: &[&str]| port(&tensor(1, extents)).digest();
    assert_eq!(digest(&["n", "n"]), digest(&["m", "m"]));
    assert_eq!(digest(&["n", "2*n"]), digest(&["m", "m + m"]));
    assert_eq!(digest(&["n", "3"]), digest(&["", "3"]), "a symbol that occurs once equals an anonymous dim");
    assert_ne!(digest(&["n", "n"]), digest(&["n", "m"]));
    assert_ne!(digest(&["n", "3"]), digest(&["n", "4"]));
    assert_ne!(digest(&["2", "3"]), port(&tensor(7, &["2", "3"])).digest());
}

#[test]
fn values_are_checked_against_the_type() {
    let ty = port(&tensor(1, &["n", "2*n"]));
    assert_eq!(ty.to_string(), "float[n, 2*n]");
    assert!(ty.fits(&zeros(&[3, 6])));
    assert!(!ty.fits(&zeros(&[3, 5])));
    assert!(!ty.fits(&zeros(&[6])));
    assert!(!ty.fits(&Datum::Trigger));
    assert!(!ty.fits(&Datum::Tensor(AnyTensor::from_slice(&[1, 2], &[1_i64, 2]).expect("a tensor"))));
}

#[test]
fn a_leaf_type_accepts_only_its_own_values() {
    let cases = [
        (&TYPE_TRIGGER, Datum::Trigger),
        (&TYPE_BYTES, Datum::Bytes(Bytes::new())),
        (&TYPE_SCALAR_F32, Datum::Scalar(Scalar::F32(0.0))),
        (&TYPE_TENSOR_F32, zeros(&[2])),
    ];
    for (at, (node, _)) in cases.iter().enumerate() {
        let ty = PortType::of_node(node).expect("a leaf");
        for (other, (_, value)) in cases.iter().enumerate() {
            assert_eq!(ty.fits(value), at == other, "{node} and {}", value.describe());
        }
    }
}

#[test]
fn a_sequence_type_accepts_only_elements_of_its_element_type() {
    let elem_type = Some(Box::new(tensor(1, &["2"])));
    let sequence = type_proto::Sequence { elem_type, ..type_proto::Sequence::default() };
    let sequence = type_proto::Value::SequenceType(sequence);
    let ty = port(&TypeProto { value: Some(sequence), ..TypeProto::default() });
    assert!(ty.fits(&Datum::Sequence(vec![zeros(&[2]), zeros(&[2])])));
    assert!(!ty.fits(&Datum::Sequence(vec![zeros(&[2]), zeros(&[3])])));
    assert!(!ty.fits(&Datum::Sequence(vec![Datum::Trigger])));
}

#[test]
fn a_map_type_accepts_only_its_key_and_value_types() {
    let map_type = |dims: &[&str]| {
        let value_type = Some(Box::new(tensor(1, dims)));
        let map = type_proto::Map { key_type: Some(7), value_type, ..type_proto::Map::default() };
        port(&TypeProto { value: Some(type_proto::Value::MapType(map)), ..TypeProto::default() })
    };
    let map = |keys: AnyTensor, shape: &[usize]| {
        let values = AnyTensor::zeros(Dtype::F32, shape).expect("a small tensor");
        Datum::Map(Box::new(MapDatum::new(keys, values).expect("a map")))
    };
    let numbers = || AnyTensor::from([1_i64, 5]);
    let texts = AnyTensor::from_strings(&[2], &["a", "b"]).expect("two texts");
    let (single, pair) = (map_type(&[]), map_type(&["2"]));
    assert!(single.fits(&map(numbers(), &[2])) && pair.fits(&map(numbers(), &[2, 2])));
    assert!(!single.fits(&map(numbers(), &[2, 2])) && !pair.fits(&map(numbers(), &[2, 3])));
    assert!(!single.fits(&map(texts, &[2])) && !single.fits(&zeros(&[2])));
    let integers = MapDatum::new(numbers(), numbers()).expect("a map");
    assert!(!single.fits(&Datum::Map(Box::new(integers))));
    assert_ne!(single.digest(), pair.digest());
}

#[test]
fn a_port_type_must_be_concrete_and_known() {
    for ty in [TypeProto::default(), tensor(0, &["2"])] {
        assert!(matches!(PortType::of_message(&ty), Err(PortTypeError::NotConcrete { .. })), "{ty:?}");
    }
    for node in [&TYPE_ANY, &TYPE_TENSOR] {
        assert!(PortType::of_node(node).is_err(), "{node}");
    }
    let denotation = "org.example.unknown".into();
    let unknown = TypeProto { denotation, ..TypeProto::default() };
    assert!(matches!(PortType::of_message(&unknown), Err(PortTypeError::UnknownDenotation { .. })));
}

#[test]
fn a_port_admits_types_that_were_declared_compatible() {
    let (open, closed) = (port(&tensor(1, &["n"])), port(&tensor(1, &["3"])));
    assert!(!open.admits(closed.digest()));
    let open = open.admit(closed.digest());
    assert!(open.admits(closed.digest()) && open.admits(open.digest()));
    assert!(!open.admits(PortType::of_node(&TYPE_PEER_ID).expect("a leaf").digest()));
}

#[test]
fn a_composite_type_includes_its_children_and_checks_them() {
    let ty = |text: &str| port(&typeloom_onnx::text::parse_type(text).expect("a type"));
    let both = ty("composite{a: float[n], b: composite{c: scalar.f32, d: float[n]}}");
    assert_eq!(both.to_string(), "composite{a: float[n], b: composite{c: scalar.f32, d: float[n]}}");
    let other = ty("composite{b: composite{d: float[m], c: scalar.f32}, a: float[m]}");
    assert_eq!(both.digest(), other.digest());
    for text in ["composite{a: float[n], b: composite{c: scalar.f32, d: float[m]}}", "composite{a: float[n]}"]
    {
        assert_ne!(both.digest(), ty(text).digest(), "{text}");
    }
    let value = |scalar: Datum, extent: usize| {
        let inner = Datum::Composite(vec![("d".into(), zeros(&[extent])), ("c".into(), scalar)]);
        Datum::Composite(vec![("a".into(), zeros(&[2])), ("b".into(), inner)])
    };
    let scalar = || Datum::Scalar(Scalar::F32(1.0));
    assert!(both.fits(&value(scalar(), 2)));
    assert!(!both.fits(&value(scalar(), 3)), "one symbol is one extent");
    assert!(!both.fits(&value(zeros(&[]), 2)), "a scalar is sent as such");
    let pair = |names: [&str; 2]| Datum::Composite(names.map(|name| (name.into(), zeros(&[2]))).to_vec());
    let (closed, open) = (ty("composite{a: float[n]}"), ty("composite{a: float[n], ..}"));
    assert_ne!(closed.digest(), open.digest());
    assert!(open.fits(&pair(["b", "a"])) && !closed.fits(&pair(["b", "a"])));
    assert!(!open.fits(&pair(["b", "c"])) && !closed.fits(&Datum::Composite(Vec::new())));
    let any = TypeProto { denotation: TYPE_COMPOSITE.denotation.into(), ..TypeProto::default() };
    assert!(port(&any).fits(&pair(["b", "c"])));
}

#[test]
fn a_type_nests_as_deep_as_a_message() {
    let nested = |depth: usize, held: TypeProto| {
        (0..depth).fold(held, |held, _| {
            let elem_type = Some(Box::new(held));
            let sequence = type_proto::Sequence { elem_type, ..type_proto::Sequence::default() };
            TypeProto { value: Some(type_proto::Value::SequenceType(sequence)), ..TypeProto::default() }
        })
    };
    let map = type_proto::Map {
        key_type: Some(7),
        value_type: Some(Box::new(tensor(1, &[]))),
        ..type_proto::Map::default()
    };
    let map = TypeProto { value: Some(type_proto::Value::MapType(map)), ..TypeProto::default() };
    for held in [tensor(1, &["2"]), map] {
        assert!(PortType::of_message(&nested(MAX_DEPTH, held.clone())).is_ok(), "{held:?}");
        let error = PortType::of_message(&nested(MAX_DEPTH + 1, held)).expect_err("it is too deep");
        let message = "a value on the wire is inside at most 16 sequences, optionals and composites";
        assert_eq!(error.to_string(), message);
    }
}

use std::collections::{BTreeSet, VecDeque};

use bytes::{Bytes, BytesMut};
use proptest::prelude::{TestCaseError, any};
use proptest::{prop_assert, prop_assert_eq};
use prost::Message;
use typeloom_types::dtype::Dtype;

use super::schema::{Described, Kind, Label, MessageSchema, find_error};
use super::*;
use crate::error::FieldName;
use crate::testing::{Dice, check, conformance, damage, length_delimited, sample};

/// All messages reachable from the roots of ONNX's files.
fn all_schemas() -> Vec<&'static MessageSchema> {
    let mut queue: VecDeque<_> =
        [ModelProto::SCHEMA, SequenceProto::SCHEMA, OptionalProto::SCHEMA, MapProto::SCHEMA].into();
    let (mut seen, mut all) = (BTreeSet::new(), Vec::new());
    while let Some(schema) = queue.pop_front() {
        // Schemas are identified by name. No two messages have the same name.
        if seen.insert(schema.name) {
            all.push(schema);
            queue.extend(schema.fields().filter_map(|field| match field.kind {
                Kind::Message(inner) => Some(inner()),
                _ => None,
            }));
        }
    }
    all
}

fn describe(schema: &MessageSchema) -> Vec<String> {
    let field = |field: &'static schema::FieldSchema| {
        let label = match field.label {
            Label::Optional => "optional",
            Label::OneOf => "oneof",
            Label::Repeated => "repeated",
            Label::Packed => "packed",
        };
        let kind = match field.kind {
            Kind::Int32 => "int32".into(),
            Kind::Int64 => "int64".into(),
            Kind::Uint64 => "uint64".into(),
            Kind::Enum => "enum".into(),
            Kind::Float => "float".into(),
            Kind::Double => "double".into(),
            Kind::String => "string".into(),
            Kind::Bytes => "bytes".into(),
            Kind::Message(inner) => format!("message {} {}", field.name.field, inner().name),
        };
        let kind = if kind.contains(' ') { kind } else { format!("{kind} {}", field.name.field) };
        assert_eq!(field.name.message, schema.name);
        format!("{} {} {label} {kind}", schema.name, field.number)
    };
    schema.fields().map(field).collect()
}

#[test]
fn the_schema_equals_that_of_the_reference_package() {
    // Recorded from the descriptors of onnx 1.23.2.
    let recorded: BTreeSet<_> = include_str!("ir14.txt").lines().map(str::to_owned).collect();
    let mut ours: BTreeSet<_> = all_schemas().into_iter().flat_map(describe).collect();
    macro_rules! enums {
        ($($path:literal $enum:ty),* $(,)?) => {$(
            for value in <$enum>::ALL {
                let (number, name) = (*value as i32, value.as_str_name());
                assert_eq!(<$enum>::from_str_name(name), Some(*value));
                ours.insert(format!("enum {} {number} {name}", $path));
            }
        )*};
    }
    enums! {
        "AttributeProto.AttributeType" attribute_proto::AttributeType,
        "TensorProto.DataLocation" tensor_proto::DataLocation,
        "SequenceProto.DataType" sequence_proto::DataType,
        "OptionalProto.DataType" sequence_proto::DataType,
        "OperatorStatus" OperatorStatus,
        "Version" Version,
    }
    ours.insert("enum TensorProto.DataType 0 UNDEFINED".to_owned());
    ours.extend(Dtype::ALL.map(|dtype| {
        format!("enum TensorProto.DataType {} {}", dtype.onnx_number(), dtype.onnx_name().to_uppercase())
    }));
    assert_eq!(ours, recorded);
}

#[test]
fn fields_are_declared_in_the_order_of_their_numbers() {
    for schema in all_schemas() {
        let firsts: Vec<_> = schema
            .fields
            .iter()
            .map(|entry| match entry {
                schema::Entry::Field(field) => field.number,
                schema::Entry::OneOf(members) => members[0].number,
            })
            .collect();
        assert!(firsts.is_sorted(), "{}", schema.name);
    }
}

fn survives<M: OnnxMessage + PartialEq + std::fmt::Debug>(seed: u64) -> Result<(), TestCaseError> {
    let sample = sample(&mut Dice::new(seed), M::SCHEMA, 5);
    let message: M =
        read(sample.wire.clone().into()).map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(message.encoded_len(), sample.canonical.len());
    prop_assert!(
        message.encode_to_vec() == sample.canonical,
        "{} of {seed} is not canonical",
        M::SCHEMA.name
    );
    let again: M =
        read(sample.canonical.clone().into()).map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert!(again.encode_to_vec() == sample.canonical);
    prop_assert!(M::decode(&sample.wire[..]).is_ok_and(|copied| copied.encode_to_vec() == sample.canonical));
    Ok(())
}

#[test]
fn known_and_unknown_fields_at_every_level_round_trip() {
    check(200, any::<u64>(), |seed| {
        survives::<ModelProto>(seed)?;
        survives::<GraphProto>(seed)?;
        survives::<FunctionProto>(seed)?;
        survives::<AttributeProto>(seed)?;
        survives::<TypeProto>(seed)?;
        survives::<TensorProto>(seed)?;
        survives::<NodeDeviceConfigurationProto>(seed)?;
        survives::<SequenceProto>(seed)?;
        survives::<OptionalProto>(seed)?;
        survives::<MapProto>(seed)
    });
}

#[test]
fn unknown_fields_are_preserved_from_buffers_in_pieces() {
    let sample = sample(&mut Dice::new(7), GraphProto::SCHEMA, 4);
    let (head, tail) = sample.wire.split_at(sample.wire.len() / 2);
    let pieces = Buf::chain(head, tail);
    let graph = GraphProto::decode(pieces).expect("the sample is well formed");
    assert_eq!(graph.encode_to_vec(), sample.canonical);
}

#[test]
fn damage_is_located_at_the_byte_at_which_decoding_fails() {
    check(1500, any::<u64>(), |seed| {
        let mut dice = Dice::new(seed);
        let mut bytes = sample(&mut dice, ModelProto::SCHEMA, 4).wire;
        damage(&mut dice, &mut bytes);
        let found = find_error(ModelProto::SCHEMA, &bytes);
        prop_assert_eq!(ModelProto::decode(&bytes[..]).is_err(), found.is_some(), "{:?}", found);
        if let Some(error) = found {
            prop_assert!(error.offset <= bytes.len());
            prop_assert_eq!(read::<ModelProto>(bytes.into()), Err(error));
        }
        Ok(())
    });
}

#[test]
fn recorded_models_round_trip() {
    for path in conformance("onnx") {
        let bytes = Bytes::from(std::fs::read(&path).expect("the file is readable"));
        let model: ModelProto =
            read(bytes.clone()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let written = model.encode_to_vec();
        assert_eq!(written.len(), model.encoded_len());
        let again: ModelProto = read(written.clone().into()).expect("a written message is well formed");
        assert!(again.encode_to_vec() == written, "{}", path.display());
        assert!(model.unknown_fields.is_empty(), "{} has fields of a newer schema", path.display());
    }
}

#[test]
fn payloads_share_the_buffer_of_the_input() {
    let tensor = TensorProto { raw_data: Some(vec![7; 64].into()), ..Default::default() };
    let bytes = Bytes::from(tensor.encode_to_vec());
    let again: TensorProto = read(bytes.clone()).expect("a written message is well formed");
    let payload = again.raw_data.expect("the payload is there");
    assert!(bytes.as_ptr_range().contains(&payload.as_ptr()));
}

#[test]
fn singular_messages_that_occur_twice_are_merged() {
    let mut bytes = length_delimited(7, &length_delimited(2, b"first"));
    bytes.extend(length_delimited(7, &length_delimited(10, b"second")));
    let model = ModelProto::decode(&bytes[..]).expect("well formed");
    let graph = model.graph.expect("there is one");
    assert_eq!((graph.name(), graph.doc_string()), ("first", "second"));
}

#[test]
fn absent_and_empty_fields_are_distinguished() {
    let absent = NodeProto::default();
    let empty = NodeProto { name: "".into(), ..Default::default() };
    assert_eq!((absent.name(), empty.name()), ("", ""));
    assert_eq!((absent.encode_to_vec(), empty.encode_to_vec()), (vec![], vec![0x1a, 0]));
}

fn decode_error<M: OnnxMessage + std::fmt::Debug>(bytes: &[u8]) -> DecodeError {
    read::<M>(Bytes::copy_from_slice(bytes)).expect_err("malformed")
}

#[test]
fn errors_report_kind_and_position() {
    let node = |field: &[u8]| length_delimited(7, &length_delimited(1, field));
    let cases: &[(&[u8], usize, ErrorKind)] = &[
        (&[0x08], 1, ErrorKind::TruncatedVarint),
        (&[0x08, 0xff], 1, ErrorKind::TruncatedVarint),
        (&[0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2], 1, ErrorKind::VarintOverflow),
        (&[0x12, 3, b'a'], 0, ErrorKind::LengthPastEnd { length: 3, left: 1 }),
        (&[0x08, 1, 0x00], 2, ErrorKind::FieldNumberZero),
        (&[0x0f], 0, ErrorKind::InvalidWireType { wire_type: 7 }),
        (&[0xf9, 0x07, 1, 2, 3], 2, ErrorKind::TruncatedFixed { size: 8, left: 3 }),
        (&[0xfb, 0x07, 0x08, 1], 0, ErrorKind::UnterminatedGroup { number: 127 }),
        (&[0xfc, 0x07], 0, ErrorKind::UnmatchedEndGroup { number: 127 }),
        (
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            0,
            ErrorKind::KeyTooLarge { key: (1 << 36) - 1 - (1 << 35) + (1 << 35) },
        ),
    ];
    for (bytes, offset, kind) in cases {
        assert_eq!(
            decode_error::<ModelProto>(bytes),
            DecodeError { offset: *offset, kind: kind.clone() },
            "{bytes:?}"
        );
    }

    let name = |message, field| -> &'static FieldName { Box::leak(Box::new(FieldName { message, field })) };
    let error = decode_error::<ModelProto>(&node(&[0x22, 2, b'R', 0xff]));
    let kind = ErrorKind::InvalidUtf8 { field: name("NodeProto", "op_type") };
    assert_eq!(error, DecodeError { offset: 7, kind });
    assert_eq!(error.to_string(), "`NodeProto.op_type` is not valid UTF-8 at byte 7");

    let error = decode_error::<ModelProto>(&node(&[0x20, 2]));
    assert_eq!(
        error.to_string(),
        "`NodeProto.op_type` is encoded as a varint, not as a length and bytes at byte 4"
    );
    let error = decode_error::<TensorProto>(&[0x22, 3, 1, 2, 3]);
    assert_eq!(
        error.to_string(),
        "`TensorProto.float_data` has 3 bytes, which is not a multiple of 4 at byte 2"
    );
}

/// A type of `depth` nested sequences.
fn nested_type(depth: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..depth {
        bytes = length_delimited(4, &length_delimited(1, &bytes));
    }
    bytes
}

#[test]
fn the_nesting_limit_is_that_of_prost() {
    // One level of sequence is two messages.
    assert!(read::<TypeProto>(nested_type(50).into()).is_ok());
    assert_eq!(find_error(TypeProto::SCHEMA, &nested_type(50)), None);
    let error = decode_error::<TypeProto>(&nested_type(51));
    assert_eq!(error.kind, ErrorKind::NestingTooDeep { limit: 100 });
    assert_eq!(
        decode_error::<TypeProto>(&nested_type(20_000)).kind,
        ErrorKind::NestingTooDeep { limit: 100 }
    );
}

#[test]
fn groups_nest_to_a_bound() {
    let nested = |depth: usize| {
        let mut bytes = BytesMut::new();
        bytes.extend(std::iter::repeat_n([0xfb, 0x07], depth).flatten());
        bytes.extend(std::iter::repeat_n([0xfc, 0x07], depth).flatten());
        bytes.freeze()
    };
    let model = read::<ModelProto>(nested(100)).expect("within the bound");
    assert_eq!(model.unknown_fields.as_wire(), &nested(100)[..]);
    assert_eq!(decode_error::<ModelProto>(&nested(101)).kind, ErrorKind::NestingTooDeep { limit: 100 });
    assert_eq!(decode_error::<ModelProto>(&nested(100_000)).kind, ErrorKind::NestingTooDeep { limit: 100 });
}

#[test]
fn unknown_fields_can_be_read_and_created() {
    let wire = [0xf8, 0x07, 5, 0xfa, 0x07, 1, b'x'];
    let fields = UnknownFields::from_wire(wire).expect("well formed");
    assert_eq!(fields.iter().map(|field| field.number).collect::<Vec<_>>(), [127, 127]);
    assert_eq!(fields.as_wire(), wire);
    let node = NodeProto { unknown_fields: fields, ..Default::default() };
    assert_eq!(node.encode_to_vec(), wire);
    assert!(UnknownFields::from_wire([0xf8]).is_err());
    assert!(UnknownFields::from_wire([]).is_ok_and(|none| none == UnknownFields::new() && none.is_empty()));
}

#[test]
fn a_malformed_record_is_not_stored() {
    let mut node = NodeProto::default();
    assert!(node.merge(&[0xfa, 0x07, 9, b'x'][..]).is_err());
    assert_eq!(node, NodeProto::default());
    node.merge(&[0xf8, 0x07, 5][..]).expect("well formed");
    assert!(node.merge(&[0xfb, 0x07, 0x08, 1][..]).is_err());
    assert_eq!(node.unknown_fields.as_wire(), [0xf8, 0x07, 5]);
}

#[test]
fn enums_fall_back_to_their_first_value() {
    let attribute = AttributeProto { r#type: Some(2), ..Default::default() };
    assert_eq!(attribute.r#type(), attribute_proto::AttributeType::Int);
    let unknown = AttributeProto { r#type: Some(99), ..Default::default() };
    assert_eq!(unknown.r#type(), attribute_proto::AttributeType::Undefined);
    let kept = AttributeProto::decode(&unknown.encode_to_vec()[..]).expect("well formed");
    assert_eq!(kept.r#type, Some(99));
}

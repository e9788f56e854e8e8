mod agree;
mod slow;
mod walk;

use std::fmt::Debug;

use bytes::Bytes;
use proptest::prelude::any;
use proptest::prop_assert;
use prost::Message;
use typeloom_types::dtype::Dtype;

use super::*;
use crate::messages as owned;
use crate::messages::schema::Described;
use crate::testing::{Dice, check, conformance, damage, length_delimited, sample};
use agree::decoded;
use walk::Walk;

fn all<T>(items: impl Iterator<Item = Result<T, DecodeError>>) -> Vec<T> {
    items.collect::<Result<_, _>>().expect("well formed")
}

#[test]
fn views_of_random_models_agree_with_decoding_them() {
    check(150, any::<u64>(), |seed| {
        let bytes = sample(&mut Dice::new(seed), owned::ModelProto::SCHEMA, 6).wire;
        let message: owned::ModelProto = decoded(&bytes);
        agree::model(ModelView::new(&bytes).expect("well formed"), &message);
        Ok(())
    });
}

#[test]
fn views_of_recorded_models_agree_with_decoding_them() {
    for path in conformance("onnx") {
        let bytes = Bytes::from(std::fs::read(&path).expect("the file is readable"));
        let message: owned::ModelProto = owned::read(bytes.clone()).expect("well formed");
        agree::model(ModelView::new(&bytes).expect("well formed"), &message);
    }
}

/// A tensor whose payload usually matches its dims.
fn random_tensor(dice: &mut Dice) -> owned::TensorProto {
    let dims: Vec<i64> = (0..dice.below(3)).map(|_| dice.below(5) as i64).collect();
    let count = dims.iter().product::<i64>() as usize;
    let data_type = dice.below(Dtype::ALL.len() + 1) as i32;
    let mut tensor = owned::TensorProto { dims, data_type: Some(data_type), ..Default::default() };
    let bits = match data_type {
        22 | 21 => 4,
        25 | 26 => 2,
        2 | 3 | 9 => 8,
        4 | 5 | 10 | 16 => 16,
        1 | 6 | 12 => 32,
        _ => 64,
    };
    let wrong = if dice.below(6) == 0 { 1 } else { 0 };
    let entries = if bits < 8 { (count * bits).div_ceil(8) } else { count } + wrong;
    if dice.below(2) == 0 {
        let bytes = (count * bits).div_ceil(8) + wrong;
        tensor.raw_data = Some((0..bytes).map(|_| dice.next() as u8).collect());
    } else {
        match data_type {
            1 => tensor.float_data = (0..entries).map(|_| dice.below(100) as f32 / 4.0).collect(),
            11 => tensor.double_data = (0..entries).map(|_| dice.below(100) as f64 / 4.0).collect(),
            7 => tensor.int64_data = (0..entries).map(|_| dice.next() as i64).collect(),
            8 => tensor.string_data = (0..entries).map(|_| Bytes::from_static(b"text")).collect(),
            12 | 13 => tensor.uint64_data = (0..entries).map(|_| dice.next() >> dice.below(40)).collect(),
            _ => tensor.int32_data = (0..entries).map(|_| dice.next() as i32).collect(),
        }
    }
    tensor
}

#[test]
fn integer_payloads_agree_with_a_slow_reader_of_every_element_type() {
    check(2000, any::<u64>(), |seed| {
        let message = random_tensor(&mut Dice::new(seed));
        let bytes = message.encode_to_vec();
        agree::tensor(TensorView::from_body(&bytes, 0), &message);
        Ok(())
    });
}

fn floats(tensor: &owned::TensorProto) -> Result<Option<Vec<f64>>, DecodeError> {
    TensorView::from_body(&tensor.encode_to_vec(), 0).float_values(8)
}

#[test]
fn float_payloads_are_read_from_raw_and_typed_data() {
    let tensor = |dtype: Dtype| owned::TensorProto {
        dims: vec![3],
        data_type: Some(dtype.onnx_number()),
        ..Default::default()
    };
    let expected = Ok(Some(vec![1.0, -2.5, f64::INFINITY]));
    let raw = |data_type, bytes: &[u8]| owned::TensorProto {
        raw_data: Some(Bytes::copy_from_slice(bytes)),
        ..tensor(data_type)
    };
    let bytes = [1.0_f32, -2.5, f32::INFINITY].map(f32::to_le_bytes).concat();
    assert_eq!(floats(&raw(Dtype::F32, &bytes)), expected);
    let bytes = [1.0_f64, -2.5, f64::INFINITY].map(f64::to_le_bytes).concat();
    assert_eq!(floats(&raw(Dtype::F64, &bytes)), expected);
    assert_eq!(floats(&raw(Dtype::F16, &[0x00, 0x3c, 0x00, 0xc1, 0x00, 0x7c])), expected);
    assert_eq!(floats(&raw(Dtype::BF16, &[0x80, 0x3f, 0x20, 0xc0, 0x80, 0x7f])), expected);

    let typed = owned::TensorProto { float_data: vec![1.0, -2.5, f32::INFINITY], ..tensor(Dtype::F32) };
    assert_eq!(floats(&typed), expected);
    let typed = owned::TensorProto { double_data: vec![1.0, -2.5, f64::INFINITY], ..tensor(Dtype::F64) };
    assert_eq!(floats(&typed), expected);
    let typed = owned::TensorProto { int32_data: vec![0x3c00, 0xc100, 0x7c00], ..tensor(Dtype::F16) };
    assert_eq!(floats(&typed), expected);
    let typed = owned::TensorProto { int32_data: vec![0x3f80, 0xc020, 0x7f80], ..tensor(Dtype::BF16) };
    assert_eq!(floats(&typed), expected);

    assert_eq!(floats(&tensor(Dtype::I64)), Ok(None));
    let long = owned::TensorProto { dims: vec![9], ..tensor(Dtype::F32) };
    assert_eq!(floats(&long), Ok(None));
    let error = floats(&raw(Dtype::F32, &[0; 11])).expect_err("too short");
    let text =
        "a tensor's `TensorProto.raw_data` has 11 bytes, but its dims and element type require 12 at byte 0";
    assert_eq!(error.to_string(), text);
}

#[test]
fn an_empty_raw_payload_is_ignored_if_there_are_typed_elements() {
    let tensor = owned::TensorProto {
        dims: vec![2],
        data_type: Some(Dtype::I32.onnx_number()),
        raw_data: Some(Bytes::new()),
        int32_data: vec![5, -6],
        ..Default::default()
    };
    let bytes = tensor.encode_to_vec();
    assert_eq!(TensorView::from_body(&bytes, 0).int_values(2), Ok(Some(vec![5, -6])));
    let neither = owned::TensorProto { int32_data: vec![], ..tensor }.encode_to_vec();
    let error = TensorView::from_body(&neither, 0).int_values(2).expect_err("no elements");
    assert!(matches!(error.kind, ErrorKind::PayloadSize { unit: "bytes", expected: 8, found: 0, .. }));
}

#[test]
fn string_payloads_are_read() {
    let tensor = owned::TensorProto {
        dims: vec![2],
        data_type: Some(Dtype::String.onnx_number()),
        string_data: vec![Bytes::from_static(b"a"), Bytes::from_static(&[0xff])],
        ..Default::default()
    };
    let bytes = tensor.encode_to_vec();
    let view = TensorView::from_body(&bytes, 0);
    assert_eq!(view.string_values(2), Ok(Some(vec![&b"a"[..], &[0xff]])));
    assert_eq!(view.string_values(1), Ok(None));
    let short = owned::TensorProto { dims: vec![3], ..tensor }.encode_to_vec();
    let error = TensorView::from_body(&short, 0).string_values(8).expect_err("one is missing");
    assert!(matches!(error.kind, ErrorKind::PayloadSize { expected: 3, found: 2, .. }));
}

#[test]
fn extents_are_validated_when_elements_are_counted() {
    let count = |dims: &[i64]| {
        let bytes = owned::TensorProto { dims: dims.to_vec(), ..Default::default() }.encode_to_vec();
        TensorView::from_body(&bytes, 0)
            .header()
            .expect("well formed")
            .element_count()
            .map_err(|error| error.kind)
    };
    assert_eq!(count(&[]), Ok(1));
    assert_eq!(count(&[2, 3]), Ok(6));
    assert_eq!(count(&[2, -3, 0]), Err(ErrorKind::NegativeDim { dim: -3 }));
    assert_eq!(count(&[1 << 40, 1 << 40]), Err(ErrorKind::ElementCountOverflow));
    assert_eq!(count(&[1 << 40, 1 << 40, 0]), Ok(0));
}

#[test]
fn external_tensors_have_no_inline_values() {
    let tensor = owned::TensorProto {
        dims: vec![1],
        data_type: Some(Dtype::I64.onnx_number()),
        data_location: Some(1),
        external_data: vec![owned::StringStringEntryProto {
            key: "location".into(),
            value: "weights.bin".into(),
            ..Default::default()
        }],
        ..Default::default()
    };
    let bytes = tensor.encode_to_vec();
    let view = TensorView::from_body(&bytes, 0);
    assert!(view.header().expect("well formed").is_external());
    assert_eq!(view.int_values(8), Ok(None));
    assert_eq!(all(view.external_data())[0].value(), Ok("weights.bin"));
}

#[test]
fn packed_and_unpacked_numbers_are_read() {
    // `ints`, which ONNX writes unpacked, and `int64_data`, which it writes packed.
    let mut attribute = length_delimited(8, &[1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
    attribute.extend([0x40, 7]);
    attribute.extend(length_delimited(8, &[]));
    attribute.extend(length_delimited(8, &[8]));
    let view = AttributeView::from_body(&attribute, 0).parse().expect("well formed");
    assert_eq!(all(view.ints()), [1, -1, 7, 8]);
    assert_eq!(view.kind, 7);

    let tensor = [0x10, 7, 0x08, 2, 0x38, 5, 0x38, 6];
    assert_eq!(TensorView::from_body(&tensor, 0).int_values(2), Ok(Some(vec![5, 6])));

    let mut floats = length_delimited(7, &[1.0_f32, 2.0].map(f32::to_le_bytes).concat());
    floats.push(0x3d);
    floats.extend(3.0_f32.to_le_bytes());
    let view = AttributeView::from_body(&floats, 0).parse().expect("well formed");
    assert_eq!(all(view.floats()), [1.0, 2.0, 3.0]);
}

#[test]
fn an_attribute_without_a_type_has_the_kind_of_its_value() {
    let kind = |attribute: owned::AttributeProto| {
        AttributeView::from_body(&attribute.encode_to_vec(), 0).parse().expect("well formed").kind
    };
    assert_eq!(kind(owned::AttributeProto::default()), 0);
    assert_eq!(kind(owned::AttributeProto { i: Some(0), ..Default::default() }), 2);
    assert_eq!(kind(owned::AttributeProto { strings: vec![Bytes::new()], ..Default::default() }), 8);
    assert_eq!(kind(owned::AttributeProto { i: Some(0), r#type: Some(1), ..Default::default() }), 1);
    assert_eq!(kind(owned::AttributeProto { tp: Some(Box::default()), ..Default::default() }), 13);
}

#[test]
fn a_message_that_would_have_to_be_merged_is_an_error() {
    let mut bytes = length_delimited(7, &[]);
    bytes.extend(length_delimited(7, &[]));
    let error = ModelView::new(&bytes).expect_err("two graphs");
    assert_eq!(error.to_string(), "`ModelProto.graph` occurs twice at byte 2");

    // Of a `oneof`, the last member is valid; only a repetition of the same member would be merged.
    let mut ty = length_delimited(1, &[8, 1]);
    ty.extend(length_delimited(4, &[]));
    ty.extend(length_delimited(1, &[8, 7]));
    let kind = TypeView::from_body(&ty, 0).parse().expect("well formed").kind;
    assert_eq!(kind, TypeKindView::Tensor { elem: 7, shape: None });
    ty.extend(length_delimited(1, &[8, 7]));
    assert!(TypeView::from_body(&ty, 0).parse().is_err());
}

#[test]
fn damaged_models_are_traversed_to_the_end_with_errors_inside_the_file() {
    check(1500, any::<u64>(), |seed| {
        let mut dice = Dice::new(seed);
        let mut bytes = sample(&mut dice, owned::ModelProto::SCHEMA, 5).wire;
        damage(&mut dice, &mut bytes);
        let mut walk = Walk::default();
        walk.model(&bytes);
        prop_assert!(walk.errors.iter().all(|error| error.offset <= bytes.len()), "{:?}", walk.errors);
        // Errors of views only: payloads of tensors, and messages that would have to be merged.
        let is_wire_error = |error: &&DecodeError| {
            !matches!(
                error.kind,
                ErrorKind::PayloadSize { .. }
                    | ErrorKind::NegativeDim { .. }
                    | ErrorKind::ElementCountOverflow
                    | ErrorKind::RepeatedMessage { .. }
            )
        };
        if let Some(error) = walk.errors.iter().find(is_wire_error) {
            prop_assert!(owned::ModelProto::decode(&bytes[..]).is_err(), "{error} only in the view");
        }
        Ok(())
    });
}

#[test]
fn truncated_recorded_models_are_traversed_to_the_end() {
    for (index, path) in conformance("onnx").iter().enumerate().step_by(97) {
        let bytes = std::fs::read(path).expect("the file is readable");
        let mut dice = Dice::new(index as u64);
        for _ in 0..20.min(bytes.len()) {
            let cut = &bytes[..dice.below(bytes.len())];
            let mut walk = Walk::default();
            walk.model(cut);
            assert!(walk.errors.iter().all(|error| error.offset <= cut.len()));
        }
    }
}

#[test]
fn random_bytes_are_traversed_to_the_end() {
    check(3000, proptest::collection::vec(any::<u8>(), 0..300), |bytes| {
        Walk::default().model(&bytes);
        Ok(())
    });
}

fn assert_error<T: Debug>(result: Result<T, DecodeError>, text: &str) {
    assert_eq!(result.expect_err("malformed").to_string(), text);
}

#[test]
fn errors_have_the_offset_in_the_file() {
    let file = |node: &[u8]| length_delimited(7, &length_delimited(1, node));
    let bytes = file(&[0x0a, 1, b'x', 0x22, 1, 0xff]);
    let graph = ModelView::new(&bytes).expect("well formed so far").graph().expect("there is one");
    let node = all(graph.nodes())[0];
    assert_eq!(node.offset(), 4);
    assert_eq!(node.bytes(), &bytes[4..]);
    assert_eq!(all(node.inputs()), ["x"]);
    assert_error(node.op_type(), "`NodeProto.op_type` is not valid UTF-8 at byte 9");
    let fields: Vec<_> = node.fields().collect();
    assert!(matches!(fields[..], [Ok(NodeField::Input("x")), Err(_)]));

    let bytes = file(&[0x0a, 9, b'x']);
    let graph = ModelView::new(&bytes).expect("well formed so far").graph().expect("there is one");
    let first = all(graph.nodes())[0].fields().next().expect("a record");
    assert_error(first, "a field claims 9 bytes, but its message has 1 left at byte 4");

    assert_error(
        ModelView::new(&[0x38, 1]),
        "`ModelProto.graph` is encoded as a varint, not as a length and bytes at byte 0",
    );
    assert_error(ModelView::new(&[0x3a, 0x80]), "a number is cut off at byte 1");
    assert_error(ModelView::new(b"not a model"), "the file is a text, not an ONNX model");
}

#[test]
fn payloads_are_not_read() {
    // Malformed unless it is an uninterpreted payload.
    let mut tensor = length_delimited(9, &[0xff; 1000]);
    tensor.extend(length_delimited(4, &[0xff; 400]));
    tensor.extend(length_delimited(7, &[0xff; 1000]));
    let view = TensorView::from_body(&tensor, 0);
    assert!(view.header().is_ok_and(|header| header.has_typed_data));
}

mod payload_check;

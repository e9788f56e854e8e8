//! Bytes of the result: what does not change is a range of a file.

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::Message as _;
use typeloom_link::{LinkOptions, Piece, external_locations};
use typeloom_onnx::messages::{ModelProto, StringStringEntryProto, TensorProto, metadata_entry, read};

use crate::support::{graph, joined, mapped};

/// A model with a large tensor of a name.
fn with_weights(text: &str, name: &str) -> Bytes {
    let mut model: ModelProto = read(graph(text)).unwrap();
    let weights = TensorProto {
        name: name.into(),
        dims: vec![1 << 18],
        data_type: Some(1),
        raw_data: Some(vec![7; 1 << 20].into()),
        ..TensorProto::default()
    };
    model.graph.as_mut().unwrap().initializer.push(weights);
    model.encode_to_vec().into()
}

#[test]
fn stored_tensors_are_not_copied() {
    let first = with_weights("a (float[262144] x) => (float[262144] y) { y = Add(x, w) }", "w");
    let second = with_weights("b (float[262144] x) => (float[262144] z) { z = Add(x, w) }", "w");
    let (linked, model) = joined(&first, &second, &mapped("y=x"));
    let new: usize =
        linked.pieces.iter().map(|piece| if let Piece::New(bytes) = piece { bytes.len() } else { 0 }).sum();
    assert!(new < 600, "{new} new bytes");
    let names: Vec<_> =
        model.graph.unwrap().initializer.into_iter().map(|tensor| tensor.name.to_string()).collect();
    assert_eq!(names, ["w", "w_2"]);
}

fn external(text: &str, location: &str) -> Bytes {
    let mut model: ModelProto = read(graph(text)).unwrap();
    let weights = TensorProto {
        name: "w".into(),
        dims: vec![2],
        data_type: Some(1),
        data_location: Some(1),
        external_data: vec![metadata_entry("location", location), metadata_entry("offset", "4")],
        ..TensorProto::default()
    };
    model.graph.as_mut().unwrap().initializer.push(weights);
    model.encode_to_vec().into()
}

#[test]
fn external_data_stays_external_at_its_new_location() {
    let first = external("a (float[2] x) => (float[2] y) { y = Add(x, w) }", "w.bin");
    let second = external("b (float[2] x) => (float[2] z) { z = Add(x, w) }", "w.bin");
    assert_eq!(external_locations(&first).unwrap().into_iter().collect::<Vec<_>>(), ["w.bin"]);
    let moved = |to: &str| BTreeMap::from([("w.bin".to_owned(), to.to_owned())]);
    let options = LinkOptions { locations: [moved("one/w.bin"), moved("two/w.bin")], ..mapped("y=x") };
    let (_, model) = joined(&first, &second, &options);
    let tensors = model.graph.unwrap().initializer;
    let entries: Vec<Vec<&str>> = tensors
        .iter()
        .map(|tensor| tensor.external_data.iter().map(StringStringEntryProto::value).collect())
        .collect();
    assert_eq!(entries, [["one/w.bin", "4"], ["two/w.bin", "4"]]);
}

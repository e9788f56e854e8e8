use proptest::prelude::{TestCaseError, any};
use proptest::{prop_assert, prop_assert_eq};
use prost::Message;

use super::*;
use crate::error::ErrorKind;
use crate::messages::schema::Described;
use crate::messages::{GraphProto, ModelProto, StringStringEntryProto, ValueInfoProto};
use crate::testing::{Dice, check, conformance, damage, length_delimited, sample};
use crate::view::{AttributeView, GraphView, ModelView, NodeField};

fn value(name: &str) -> ValueInfoProto {
    ValueInfoProto { name: name.into(), ..Default::default() }
}

/// Whether the borrowed pieces are in the old file, in order and without overlap.
fn borrows_in_order(old: &[u8], spliced: &Spliced<'_>) -> bool {
    let runs = spliced.pieces().iter().filter_map(|piece| match piece {
        Cow::Borrowed(run) => Some(run.as_ptr_range()),
        Cow::Owned(_) => None,
    });
    let runs: Vec<_> = runs.collect();
    let inside =
        runs.iter().all(|run| old.as_ptr_range().start <= run.start && run.end <= old.as_ptr_range().end);
    inside && runs.windows(2).all(|pair| pair[0].end <= pair[1].start)
}

#[test]
fn without_edits_the_bytes_are_unchanged() {
    check(100, any::<u64>(), |seed| {
        let bytes = sample(&mut Dice::new(seed), ModelProto::SCHEMA, 4).wire;
        let spliced = Splice::new::<ModelProto>(&bytes).finish().map_err(fail)?;
        prop_assert!(spliced.to_vec() == bytes);
        prop_assert!(spliced.pieces().len() <= 1);
        Ok(())
    });
}

fn fail(error: impl std::fmt::Display) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

/// Visits all graphs of a model, including those in attributes, together with their owned counterparts.
fn edit_graphs(
    view: GraphView<'_>,
    graph: &mut GraphProto,
    dice: &mut Dice,
    splice: &mut Splice<'_>,
) -> Result<(), SpliceError> {
    if dice.below(2) == 0 {
        // Remove the types of all values and insert new ones, as annotating a model does.
        for field in view.wire_fields() {
            let field = field?;
            if field.number == 13 {
                splice.remove(view.offset(), &field);
            }
        }
        graph.value_info = vec![value("first"), value(&"long".repeat(50))];
        for value in &graph.value_info {
            splice.append(view.offset(), Records::new().message(13, value));
        }
    }
    for (node_view, node) in view.nodes().zip(&mut graph.node) {
        let node_view = node_view?;
        if dice.below(3) == 0 {
            // Replace the name in place.
            let mut names = 0;
            for field in node_view.wire_fields() {
                let field = field?;
                if field.number == 3 {
                    splice.replace(
                        node_view.offset(),
                        &field,
                        Records::new().bytes(3, format!("renamed{names}")),
                    );
                    node.name = format!("renamed{names}").into();
                    names += 1;
                }
            }
        }
        for (attribute_view, attribute) in node_view.attributes().zip(&mut node.attribute) {
            let parsed: Result<_, DecodeError> =
                attribute_view.and_then(|view: AttributeView<'_>| view.parse());
            let parsed = parsed?;
            if let (Some(view), Some(graph)) = (parsed.g, attribute.g.as_deref_mut()) {
                edit_graphs(view, graph, dice, splice)?;
            }
            for (view, graph) in parsed.graphs().zip(&mut attribute.graphs) {
                edit_graphs(view?, graph, dice, splice)?;
            }
        }
    }
    Ok(())
}

fn edits_agree_with_owned_edits(bytes: &[u8], dice: &mut Dice) -> Result<(), TestCaseError> {
    let mut expected = ModelProto::decode(bytes).map_err(fail)?;
    let model = ModelView::new(bytes).map_err(fail)?;
    let mut splice = Splice::new::<ModelProto>(bytes);
    if let (Some(view), Some(graph)) = (model.graph(), expected.graph.as_mut()) {
        edit_graphs(view, graph, dice, &mut splice).map_err(fail)?;
    }
    expected.metadata_props.push(StringStringEntryProto { key: "by".into(), ..Default::default() });
    splice.append(0, Records::new().message(14, &expected.metadata_props[expected.metadata_props.len() - 1]));
    let spliced = splice.finish().map_err(fail)?;
    let changed = spliced.to_vec();
    prop_assert_eq!(changed.len(), spliced.byte_len());
    prop_assert!(borrows_in_order(bytes, &spliced));
    let changed = ModelProto::decode(&changed[..]).map_err(fail)?;
    prop_assert!(changed.encode_to_vec() == expected.encode_to_vec());
    Ok(())
}

#[test]
fn edits_of_random_models_agree_with_editing_messages() {
    check(200, any::<u64>(), |seed| {
        let mut dice = Dice::new(seed);
        let bytes = sample(&mut dice, ModelProto::SCHEMA, 7).wire;
        edits_agree_with_owned_edits(&bytes, &mut dice)
    });
}

#[test]
fn edits_of_recorded_models_agree_with_editing_messages() {
    for (index, path) in conformance("onnx").iter().enumerate().step_by(7) {
        let bytes = std::fs::read(path).expect("the file is readable");
        let outcome = edits_agree_with_owned_edits(&bytes, &mut Dice::new(index as u64));
        outcome.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

#[test]
fn untouched_records_are_copied_verbatim() {
    // A weight of 300 bytes, and an overlong key.
    let weight = length_delimited(5, &length_delimited(9, &[0xff; 300]));
    let graph = [&weight[..], &[0x92, 0x00, 1, b'g']].concat();
    let file = [&[0x08, 10][..], &length_delimited(7, &graph), &[0xf8, 0x07, 1]].concat();
    let view = ModelView::new(&file).expect("well formed").graph().expect("there is one");
    let mut splice = Splice::new::<ModelProto>(&file);
    let records = Records::new().message(13, &value("h"));
    splice.append(view.offset(), records.clone());
    let graph = [&graph[..], records.as_wire()].concat();
    let expected = [&[0x08, 10][..], &length_delimited(7, &graph), &[0xf8, 0x07, 1]].concat();
    assert_eq!(splice.finish().expect("the graph is there").to_vec(), expected);
}

#[test]
fn an_empty_message_can_be_appended_to() {
    // An empty graph, followed by an empty message of another kind.
    let file = [length_delimited(7, &[]), length_delimited(14, &[])].concat();
    let mut splice = Splice::new::<ModelProto>(&file);
    splice.append(2, Records::new().bytes(2, "g"));
    splice.append(4, Records::new().bytes(1, "k"));
    let expected = [length_delimited(7, &[0x12, 1, b'g']), length_delimited(14, &[0x0a, 1, b'k'])].concat();
    assert_eq!(splice.finish().expect("both are there").to_vec(), expected);
}

#[test]
fn lengths_grow_through_every_message_around_an_edit() {
    // Nested `If` nodes, deeper than the limit of owned messages.
    let mut graph = length_delimited(2, b"innermost");
    let depth = 2_000;
    for _ in 0..depth {
        graph = length_delimited(1, &length_delimited(5, &length_delimited(6, &graph)));
    }
    let file = length_delimited(7, &graph);
    let innermost = |file: &[u8]| {
        let mut graph = ModelView::new(file).expect("well formed").graph().expect("there is one");
        for _ in 0..depth {
            let node = graph.nodes().next().expect("one node").expect("well formed");
            let Some(Ok(NodeField::Attribute(attribute))) = node.fields().next() else {
                panic!("no attribute")
            };
            graph = attribute.parse().expect("well formed").g.expect("a graph");
        }
        (graph.offset(), graph.name().expect("well formed").to_owned())
    };
    let (offset, name) = innermost(&file);
    assert_eq!(name, "innermost");
    let mut splice = Splice::new::<ModelProto>(&file);
    splice.append(offset, Records::new().bytes(2, "x".repeat(200)));
    let changed = splice.finish().expect("the graph is there").to_vec();
    assert_eq!(innermost(&changed).1, "x".repeat(200));
}

#[test]
fn edits_of_missing_records_are_errors() {
    let file = length_delimited(7, &length_delimited(5, &length_delimited(9, &[0x0a, 0x00])));
    let graph = ModelView::new(&file).expect("well formed").graph().expect("there is one");
    let record = graph.wire_fields().next().expect("one record").expect("well formed");
    let none = Records::new();

    let mut splice = Splice::new::<ModelProto>(&file);
    splice.append(3, none.clone());
    assert_eq!(splice.finish(), Err(SpliceError::NoSuchMessage { message: 3 }));

    // The bytes of a payload are not messages.
    let mut splice = Splice::new::<ModelProto>(&file);
    splice.append(8, none.clone());
    assert_eq!(splice.finish(), Err(SpliceError::NoSuchMessage { message: 8 }));

    let mut splice = Splice::new::<ModelProto>(&file);
    splice.remove(0, &record);
    assert_eq!(splice.finish(), Err(SpliceError::NoSuchRecord { message: 0, record: 2 }));

    // A message inside a removed record cannot be edited.
    let mut splice = Splice::new::<ModelProto>(&file);
    splice.remove(graph.offset(), &record);
    splice.append(4, none.clone());
    assert_eq!(splice.finish(), Err(SpliceError::NoSuchMessage { message: 4 }));

    let broken = &file[..file.len() - 1];
    let mut splice = Splice::new::<ModelProto>(broken);
    splice.append(2, none.clone());
    let kind = ErrorKind::LengthPastEnd { length: 6, left: 5 };
    assert_eq!(splice.finish(), Err(SpliceError::Malformed(DecodeError { offset: 0, kind })));
}

#[test]
fn damaged_models_and_invalid_edits_are_rejected_or_give_well_formed_records() {
    check(500, any::<u64>(), |seed| {
        let mut dice = Dice::new(seed);
        let mut bytes = sample(&mut dice, ModelProto::SCHEMA, 4).wire;
        damage(&mut dice, &mut bytes);
        let well_formed = crate::messages::schema::find_error(ModelProto::SCHEMA, &bytes).is_none();
        let mut splice = Splice::new::<ModelProto>(&bytes);
        for _ in 0..3 {
            splice.append(dice.below(bytes.len() + 2), Records::new().int(1, -1));
        }
        if let Ok(spliced) = splice.finish() {
            let changed = spliced.to_vec();
            prop_assert!(borrows_in_order(&bytes, &spliced));
            prop_assert!(!well_formed || Fields::new(&changed, 0).all(|field| field.is_ok()));
        }
        Ok(())
    });
}

#[test]
fn a_named_message_is_encoded_as_the_message_with_these_fields() {
    for length in [0, 1, 60, 61, 62, 126, 127, 128, 16_383, 16_384] {
        let (key, value) = ("k".repeat(length), "v".repeat(length));
        let entry = StringStringEntryProto {
            key: key.clone().into(),
            value: value.clone().into(),
            ..Default::default()
        };
        for number in [1, 15, 16, 5000] {
            let mut named = Records::new();
            named.push_named(number, (1, key.as_bytes()), Records::new().bytes(2, &value).as_wire());
            let whole =
                Records::new().bytes(number, Records::new().bytes(1, &key).bytes(2, &value).as_wire());
            assert_eq!(named, whole, "{number} {length}");
            if length > 0 {
                assert_eq!(named, Records::new().message(number, &entry));
            }
        }
    }
}

#[test]
fn parts_with_the_old_message_are_the_new_message() {
    let graph = GraphProto { name: "main".into(), doc_string: "x".repeat(500).into(), ..Default::default() };
    let file =
        ModelProto { graph: Some(graph), producer_name: "p".into(), ..Default::default() }.encode_to_vec();
    let graph = ModelView::new(&file).unwrap().graph().unwrap();
    let mut splice = Splice::new::<ModelProto>(&file);
    splice.append(graph.offset(), Records::new().bytes(2, "other"));
    splice.append(graph.offset(), Records::new().int(99, 7));
    let spliced = splice.finish().unwrap();
    let whole = spliced.to_vec();
    let parts = spliced.into_parts(&file);
    assert!(parts.iter().any(|part| matches!(part, Part::Old(range) if range.len() > 400)), "{parts:?}");
    assert_eq!(parts.iter().flat_map(|part| part.bytes(&file)).copied().collect::<Vec<u8>>(), whole);
    assert_eq!(ModelProto::decode(&whole[..]).unwrap().graph.unwrap().name(), "other");
}

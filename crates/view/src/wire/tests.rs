//! Round trips, sizes, and damaged bytes.

use proptest::prelude::*;
use typeloom_onnx::messages::GraphProto;
use typeloom_testing::number;

use super::columns::COUNT;
use super::{Error, MAGIC, MAX_SHARED, VERSION, decode, encode};
use crate::scene::{Assignment, Extent, ExtentId, Form, MAX_ELEMENTS, MAX_EXTENT, Preview, Scene, Type};
use crate::testing::{
    add_target, exporter_like, float, node, own_models, scene_of_bytes, scene_of_graph, scene_of_text,
    scene_problems,
};

/// A scene with every part of the format.
fn small() -> Scene {
    let mut scene = scene_of_text(
        "<ir_version: 10, opset_import: [\"\" : 21, \"l\" : 1]>
         g (bool c, float[N] x, int64[N] m) => (y, z) <float[1] s = {2}> {
           k = Constant <value_ints = [1, 2]> ()
           [\"/a/b/mul\"] h = Mul(x, s)
           [\"/a/b/add\"] i = Add(h, m)
           [\"/a/c/f\"] j = l.f(h)
           [\"/d\"] z = Cast <to = 10, saturate = 1> (j)
           y = If (c) <then_branch = t () => (a) { a = Add(h, x) }, else_branch = e () => (b) { b = Abs(h) }>
         }
         <domain: \"l\", opset_import: [\"\" : 21]> f (a) => (b) { t = Neg(a)  b = Abs(t) }",
    );
    scene.about.title = "small.onnx".to_owned();
    scene.set_reports(["error: two\n  lines".to_owned()]);
    assert!(!scene.marks[0].report.is_empty() && scene.values.iter().any(|value| value.cause.is_some()));
    add_target(
        &mut scene,
        "device",
        &[Assignment::Device, Assignment::Device, Assignment::Cpu, Assignment::Nowhere],
    );
    scene
}

#[test]
fn a_scene_without_targets_has_no_column_for_them() {
    let mut scene = small();
    let version = encode(&scene)[MAGIC.len()];
    scene.targets.clear();
    let encoded = encode(&scene);
    assert_eq!((version, encoded[MAGIC.len()]), (4, 3));
    assert_eq!(decode(&encoded), Ok(scene));
    let with_column = [&encoded[..MAGIC.len()], &[4], &encoded[MAGIC.len() + 1..]].concat();
    assert_eq!(decode(&with_column), Err(Error::Truncated { column: "scene" }));
}

#[test]
fn every_scene_is_decoded_as_it_was() {
    let mut count = 0;
    // Another test decodes the recorded own_models, too.
    for path in own_models() {
        let bytes = std::fs::read(&path).expect("the model can be read");
        let Some(scene) = scene_of_bytes(&bytes) else { continue };
        count += 1;
        let encoded = encode(&scene);
        assert!(decode(&encoded).as_ref() == Ok(&scene), "{}", path.display());
    }
    assert!(count >= 15, "only {count} models");
    let scene = small();
    assert_eq!(decode(&encode(&scene)), Ok(scene));
    let empty = scene_of_graph(GraphProto::default());
    assert_eq!(decode(&encode(&empty)), Ok(empty));
}

#[test]
fn broken_graphs_and_long_names_are_decoded_as_they_were() {
    let long = |at: usize| format!("{}é{at}", "x".repeat(300 + at));
    let mut nodes = vec![
        node("Relu", "", &["nowhere"], &["a"]),
        node("Add", &long(1), &["a", "c", ""], &["b"]),
        node(&long(2), &long(3), &["b", "b"], &["c", ""]),
        node("Abs", "", &["a"], &["a"]),
    ];
    nodes[1].domain = long(5).into();
    let scene = scene_of_graph(GraphProto {
        node: nodes,
        output: vec![float("b"), float("b"), float(&long(4))],
        ..GraphProto::default()
    });
    assert_eq!(decode(&encode(&scene)), Ok(scene));
}

#[test]
fn types_and_small_tensors_are_decoded_as_they_were() {
    let mut scene = small();
    let first = scene.extents.len();
    scene.extents.extend([
        Extent::Number(i64::MIN),
        Extent::Symbol("é".repeat(MAX_EXTENT / 2)),
        Extent::Expression("2*N".to_owned()),
        Extent::Unknown("? + 1".to_owned()),
        Extent::Rest,
    ]);
    let all: Vec<ExtentId> = (first..scene.extents.len()).map(ExtentId::new).collect();
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let long = format!("composite{{{}: ", "x".repeat(2 * MAX_SHARED));
    scene.types.extend([
        Type { texts: texts(&["float", ""]), shapes: vec![all.clone()] },
        Type { texts: texts(&["float", " | float", ""]), shapes: vec![Vec::new(), all.clone()] },
        Type { texts: texts(&[&long, "}"]), shapes: vec![all.clone()] },
        Type { texts: texts(&[&long, "}"]), shapes: vec![Vec::new()] },
        Type { texts: texts(&["error"]), shapes: Vec::new() },
    ]);
    for form in [Form::Scalar, Form::List, Form::Beginning] {
        scene.previews.push(Preview::Extents { elements: all.clone(), form });
    }
    let decoded = decode(&encode(&scene)).expect("the scene is decoded");
    assert_eq!(decoded.extents, scene.extents);
    assert_eq!(decoded.types, scene.types);
    assert_eq!(decoded.previews, scene.previews);

    let text = "x".repeat(MAX_EXTENT + 1);
    for extent in [Extent::Symbol(text.clone()), Extent::Expression(text.clone()), Extent::Unknown(text)] {
        let mut scene = small();
        scene.extents.push(extent);
        let error = Error::Invalid { column: "extents", reason: "an extent is too long" };
        assert_eq!(decode(&encode(&scene)), Err(error));
    }
    scene.previews.push(Preview::Extents { elements: vec![all[0]; MAX_ELEMENTS + 1], form: Form::List });
    assert!(matches!(decode(&encode(&scene)), Err(Error::Invalid { column: "previews", .. })));
}

/// The budget of a page is 60 bytes for each node.
#[test]
fn a_large_scene_has_few_compressed_bytes_for_each_node() {
    let nodes = number(5_000, 20_000);
    let scene = exporter_like(nodes);
    let encoded = encode(&scene);
    assert!(decode(&encoded).as_ref() == Ok(&scene));
    let size = miniz_oxide::deflate::compress_to_vec(&encoded, 9).len();
    println!("{} bytes, {size} compressed, {} nodes", encoded.len(), scene.nodes.len());
    assert!(size <= 40 * scene.nodes.len(), "{size} bytes for {} nodes", scene.nodes.len());
}

#[test]
fn other_bytes_are_refused() {
    assert_eq!(decode(b""), Err(Error::Magic));
    assert_eq!(decode(b"TLSCx"), Err(Error::Version { found: 120 }));
    let encoded = encode(&small());
    for end in 0..encoded.len() {
        assert!(decode(&encoded[..end]).is_err(), "{end} bytes");
    }
    let surplus = [&encoded[..], &[0]].concat();
    assert_eq!(decode(&surplus), Err(Error::Surplus { column: "scene" }));
    // A column of 2^63 bytes.
    let mut huge = MAGIC.to_vec();
    huge.push(u8::try_from(VERSION).expect("one byte"));
    huge.extend([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
    assert_eq!(decode(&huge), Err(Error::Truncated { column: "scene" }));
}

/// A decoded scene keeps the invariants and can be shown.
#[track_caller]
fn check(bytes: &[u8]) {
    if let Ok(scene) = decode(bytes) {
        assert_eq!(scene_problems(&scene), [""; 0]);
        let again = encode(&scene);
        assert_eq!(decode(&again).as_ref(), Ok(&scene));
        let mut engine = crate::engine::Engine::of(scene);
        for request in [
            "{\"ask\":\"summary\"}",
            "{\"ask\":\"draw\",\"target\":\"device\"}",
            "{\"ask\":\"target\",\"name\":\"device\"}",
            "{\"ask\":\"reveal\",\"item\":\"n2\"}",
        ] {
            engine.answer(request);
        }
    }
}

#[test]
fn every_changed_byte_gives_a_scene_or_an_error() {
    let encoded = encode(&small());
    let mut decoded = 0;
    for at in (0..encoded.len()).step_by(number(15, 1)) {
        for change in [1, 2, 0x80, 0xff] {
            let mut bytes = encoded.clone();
            bytes[at] ^= change;
            decoded += usize::from(decode(&bytes).is_ok());
            check(&bytes);
        }
    }
    assert!(decoded > number(5, 100), "only {decoded} changed scenes were decoded");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_bytes_give_a_scene_or_an_error(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = encode(&small());
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        check(&bytes);
        // Without some bytes in the middle.
        bytes.remove(cut.index(bytes.len()));
        check(&bytes);
    }

    #[test]
    fn any_columns_give_a_scene_or_an_error(columns in prop::collection::vec(prop::collection::vec(0_u8..12, 0..12), COUNT + 1)) {
        let mut bytes = MAGIC.to_vec();
        bytes.push(u8::try_from(VERSION).expect("one byte"));
        for column in columns {
            bytes.push(u8::try_from(column.len()).expect("a short column"));
            bytes.extend(column);
        }
        check(&bytes);
    }
}

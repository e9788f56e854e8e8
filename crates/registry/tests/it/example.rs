//! The worked example of `docs/registry.md`.

use bytes::Bytes;

use crate::support::{memory, push, reference, registry, stores, subject};

const GUIDE: &str = include_str!("../../../../docs/registry.md");

/// The names and contents of the objects in the guide.
fn objects() -> Vec<(&'static str, Bytes)> {
    let (_, example) = GUIDE.split_once("### Example").expect("the guide has an example");
    let block =
        example.split("```").nth(1).and_then(|block| block.strip_prefix("text\n")).expect("a block of text");
    let object = |part: &'static str| {
        let (name, contents) = part.trim_end().split_once('\n').expect("a name and contents");
        let digit = |byte: u8| char::from(byte).to_digit(16).expect("a digit") as u8;
        let bytes = if name.ends_with(".json") {
            Bytes::from(contents)
        } else {
            contents.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
        };
        (name, bytes)
    };
    block.split("\n\n").map(object).collect()
}

#[test]
fn the_example_of_the_guide_is_a_registry() {
    let store = memory();
    let folder = stores().folder_of(store.clone(), "some/folder".into(), "test");
    let objects = objects();
    assert_eq!(objects.len(), 4);
    for (name, bytes) in &objects {
        folder.replace(name, bytes.clone()).unwrap();
    }
    let registry = registry(&store);
    let report = registry.verify(None, None).unwrap();
    assert!(report.all().next().is_none() && report.subjects.len() == 1, "{report:?}");
    let pulled = registry.pull(&reference("ranking/scorer@production")).unwrap();
    assert_eq!((pulled.version, pulled.record.source.name.as_str()), (1, "spec/models/scorer2.onnx"));
    // This version writes entries that extend the example.
    assert_eq!(registry.push(&subject("ranking/scorer"), &push(&pulled.bundle, "again")).unwrap().version, 1);
}

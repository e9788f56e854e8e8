//! Printing and parsing are inverse.

use std::cell::Cell;
use std::path::PathBuf;

use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message;
use typeloom_onnx::messages::{ModelProto, NodeProto};
use typeloom_onnx::text::{
    Loss, PrintOptions, RawData, parse_function, parse_graph, parse_model, parse_node, parse_type,
    print_function, print_graph, print_model, print_node, print_type,
};

use crate::normal::{self, Raw};
use crate::random::{Gen, Kind, runner};

fn hex() -> PrintOptions {
    PrintOptions { raw_data: RawData::Hex, ..PrintOptions::round_trip() }
}

/// Compares encoded bytes, in which a NaN equals itself.
fn same(mut left: ModelProto, mut right: ModelProto, raw: Raw) -> bool {
    normal::model(&mut left, raw);
    normal::model(&mut right, raw);
    left.encode_to_vec() == right.encode_to_vec()
}

#[test]
fn forall_expressible_models_m_parse_of_print_of_m_is_m() {
    runner(400)
        .run(&vec(any::<u8>(), 0..1500), |bytes| {
            let model = Gen::new(&bytes, Kind::Expressible).model();
            for (options, raw) in [(PrintOptions::round_trip(), Raw::Decoded), (hex(), Raw::Kept)] {
                let printed = print_model(&model, &options);
                prop_assert!(printed.losses.is_empty(), "{:?}\n{}", printed.losses, printed.text);
                let read = parse_model(&printed.text);
                prop_assert!(read.is_ok(), "{}\n{}", read.unwrap_err(), printed.text);
                prop_assert!(same(read.unwrap(), model.clone(), raw), "{}", printed.text);
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn forall_models_the_printed_text_parses_and_a_difference_is_reported_as_a_loss() {
    let lossy = Cell::new(0);
    runner(400)
        .run(&vec(any::<u8>(), 0..1500), |bytes| {
            let model = Gen::new(&bytes, Kind::Wild).model();
            let printed = print_model(&model, &PrintOptions::round_trip());
            let read = parse_model(&printed.text);
            prop_assert!(read.is_ok(), "{}\n{}", read.unwrap_err(), printed.text);
            if printed.losses.is_empty() {
                prop_assert!(same(read.unwrap(), model, Raw::Decoded), "{}", printed.text);
            } else {
                lossy.set(lossy.get() + 1);
            }
            Ok(())
        })
        .unwrap();
    assert!((100..400).contains(&lossy.get()), "{} of 400 models are lossy", lossy.get());
}

#[test]
fn forall_graphs_functions_nodes_and_types_parse_of_print_is_the_identity() {
    runner(400)
        .run(&vec(any::<u8>(), 0..800), |bytes| {
            let options = PrintOptions::round_trip();
            let mut source = Gen::new(&bytes, Kind::Expressible);

            let mut ty = source.ty();
            let text = print_type(&ty);
            let mut read = parse_type(&text).expect("a printed type reads");
            normal::ty(&mut ty);
            normal::ty(&mut read);
            prop_assert!(!text.contains('\n'));
            prop_assert!(read == ty || text.contains("\\n"), "{}", text);

            let mut node = source.node();
            let mut read = parse_node(&print_node(&node, &options).text).expect("a printed node reads");
            normal::node(&mut node, Raw::Decoded);
            normal::node(&mut read, Raw::Decoded);
            prop_assert_eq!(read.encode_to_vec(), node.encode_to_vec());

            let mut function = source.function();
            let mut read =
                parse_function(&print_function(&function, &options).text).expect("a printed function reads");
            normal::function(&mut function, Raw::Decoded);
            normal::function(&mut read, Raw::Decoded);
            prop_assert_eq!(read.encode_to_vec(), function.encode_to_vec());

            let mut graph = source.graph();
            let mut read = parse_graph(&print_graph(&graph, &options).text).expect("a printed graph reads");
            normal::graph(&mut graph, Raw::Decoded);
            normal::graph(&mut read, Raw::Decoded);
            prop_assert_eq!(read.encode_to_vec(), graph.encode_to_vec());
            Ok(())
        })
        .unwrap();
}

#[test]
fn forall_models_print_of_parse_of_print_is_print() {
    runner(200)
        .run(&vec(any::<u8>(), 0..1500), |bytes| {
            let model = Gen::new(&bytes, Kind::Wild).model();
            let once = print_model(&model, &PrintOptions::round_trip()).text;
            let read = parse_model(&once).expect("a printed model reads");
            prop_assert_eq!(print_model(&read, &PrintOptions::round_trip()).text, once);
            Ok(())
        })
        .unwrap();
}

/// The recorded models if they are present; required on a build machine.
fn recorded() -> Option<PathBuf> {
    let root = std::env::var_os("TYPELOOM_CONFORMANCE").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance"),
        PathBuf::from,
    );
    if root.is_dir() {
        return Some(root);
    }
    assert_ne!(
        std::env::var("CI").as_deref(),
        Ok("true"),
        "the recorded cases are missing at {}",
        root.display()
    );
    println!("skipped: no recorded cases at {}", root.display());
    None
}

fn model_files(root: PathBuf) -> Vec<PathBuf> {
    let mut folders = vec![root];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder can be listed") {
            let path = entry.expect("the folder can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "onnx") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

#[test]
fn every_recorded_model_round_trips_through_text() {
    let Some(root) = recorded() else { return };
    let mut lossy = Vec::new();
    let files = model_files(root);
    for file in &files {
        let bytes = std::fs::read(file).expect("the file can be read");
        // The text of large weights would not test anything new.
        if bytes.len() > 1 << 20 {
            continue;
        }
        let model =
            typeloom_onnx::messages::read::<ModelProto>(bytes.into()).expect("a recorded model decodes");
        let printed = print_model(&model, &hex());
        let read = parse_model(&printed.text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        if printed.losses.is_empty() {
            assert!(same(read, model, Raw::Kept), "{}", file.display());
        } else {
            lossy.push((file.file_name().unwrap_or_default().to_owned(), printed.losses));
        }
    }
    println!("{} models, {} of them not wholly expressible: {lossy:?}", files.len(), lossy.len());
    assert!(!files.is_empty(), "a folder of recorded cases without a model");
    // One recorded model is malformed on purpose: it has elements of an undefined type.
    assert!(
        lossy.iter().all(|(_, losses)| losses.iter().all(|loss| *loss == Loss::StrayTensorData)),
        "{lossy:?}"
    );
    assert!(lossy.len() <= 1, "{lossy:?}");
}

#[test]
fn an_empty_node_round_trips() {
    let printed = print_node(&NodeProto::default(), &PrintOptions::round_trip());
    assert_eq!(printed.text, "= \"\"()");
    let mut read = parse_node(&printed.text).unwrap();
    normal::node(&mut read, Raw::Kept);
    assert_eq!(read, NodeProto::default());
}

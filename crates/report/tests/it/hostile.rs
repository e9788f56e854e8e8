//! Models with arbitrary text as names: no renderer panics, and every line format stays valid.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use prost::Message;
use typeloom_onnx::messages::{
    GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TypeProto, ValueInfoProto, type_proto,
};
use typeloom_report::human::{self, Color};
use typeloom_report::{concise, github, json, sarif, table};
use typeloom_solver::diagnostic::{diagnose, explain_value};

use crate::support::{checked, traced};

/// A runner with the same cases each time.
fn runner() -> TestRunner {
    let config = Config { cases: 96, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

fn input(name: &str, elem: i32) -> ValueInfoProto {
    let tensor = type_proto::Tensor { elem_type: Some(elem), ..type_proto::Tensor::default() };
    let ty = TypeProto { value: Some(type_proto::Value::TensorType(tensor)), ..TypeProto::default() };
    ValueInfoProto { name: name.into(), r#type: Some(ty), ..ValueInfoProto::default() }
}

/// A model with an error at a node, a value and an operator of these names.
fn model(names: &[String; 5]) -> Vec<u8> {
    let [float, integer, node, operator, undefined] = names;
    let add = NodeProto {
        op_type: "Add".into(),
        name: node.clone().into(),
        input: vec![float.clone(), integer.clone()],
        output: vec!["sum".into()],
        ..NodeProto::default()
    };
    let unknown = NodeProto {
        op_type: operator.clone().into(),
        input: vec![undefined.clone()],
        output: vec![node.clone()],
        ..NodeProto::default()
    };
    let graph = GraphProto {
        node: vec![add, unknown],
        input: vec![input(float, 1), input(integer, 7)],
        output: vec![ValueInfoProto { name: undefined.clone().into(), ..ValueInfoProto::default() }],
        ..GraphProto::default()
    };
    let opset = OperatorSetIdProto { version: Some(21), ..OperatorSetIdProto::default() };
    ModelProto { graph: Some(graph), opset_import: vec![opset], ..ModelProto::default() }.encode_to_vec()
}

#[test]
fn any_name_is_rendered_on_its_line() {
    let names = prop::array::uniform5(prop_oneof![
        any::<String>(),
        "[ -~]{0,200}",
        Just("a\r\n::error::x".to_owned()),
        Just("\u{202e}\u{1b}[2J`\u{e000}:1:2".to_owned()),
    ]);
    runner()
        .run(&names, |names| {
            let bytes = model(&names);
            let mut checked = checked(&bytes, &traced());
            let found = diagnose(&mut checked);
            prop_assert!(!found.is_empty());
            for diagnostic in &found {
                let lines = [
                    concise::diagnostic("m", diagnostic),
                    github::diagnostic("m", diagnostic),
                    json::diagnostic("m", diagnostic),
                ];
                for line in lines {
                    prop_assert!(!line.contains(char::is_control), "{line:?}");
                }
                for snippet in &diagnostic.snippets {
                    prop_assert!(!snippet.text.contains(char::is_control), "{:?}", snippet.text);
                    for label in &snippet.labels {
                        prop_assert!(snippet.text.get(label.span.clone()).is_some());
                    }
                }
            }
            let human = human::diagnostics("m", &found, Color::Never);
            prop_assert!(!human.contains(|c: char| c.is_control() && c != '\n'), "{human:?}");
            prop_assert!(
                serde_json::from_str::<serde_json::Value>(&sarif::document([("m", &found[..])])).is_ok()
            );
            if let Some(explanation) = explain_value(&mut checked, &names[0]) {
                let text = human::explanation("m", &explanation, Color::Never);
                prop_assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
            }
            let table = table::render(&mut checked);
            prop_assert!(!table.contains(|c: char| c.is_control() && c != '\n'), "{table:?}");
            Ok(())
        })
        .unwrap();
}

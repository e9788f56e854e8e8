//! The answers of the engine about hostile models: bounded, escaped, without recursion.

use serde_json::{Value, json};
use typeloom_onnx::messages::GraphProto;
use typeloom_onnx::text::is_unsafe;
use typeloom_testing::number;

use super::HOSTILE;
use crate::engine::Engine;
use crate::scene::Scene;
use crate::testing::{ask, float, node, scene_of_bytes, scene_of_graph, svg_problem};
use crate::wire;

/// Maximum size of an answer in these tests, in bytes.
const MAX_ANSWER: usize = 1 << 20;

/// Texts with unsafe characters in an answer. Links contain names as they are, and some texts have several
/// lines.
fn unsafe_texts(answer: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![("", answer)];
    while let Some((key, value)) = open.pop() {
        match value {
            Value::String(text) => {
                let has_lines = ["svg", "text", "notes", "help"].contains(&key);
                let is_bad = |c: char| is_unsafe(c) && !(has_lines && c == '\n');
                if key != "link" && text.contains(is_bad) {
                    found.push(format!("{key}: {text:?}"));
                }
            }
            Value::Array(items) => open.extend(items.iter().map(|item| (key, item))),
            Value::Object(fields) => open.extend(fields.iter().map(|(key, field)| (key.as_str(), field))),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    found
}

/// Checks the answers about the first and last items of a scene.
#[track_caller]
pub(super) fn check_answers(scene: &Scene) {
    let encoded = wire::encode(scene);
    let decoded = wire::decode(&encoded).expect("the scene is decoded");
    assert!(decoded == *scene, "the scene is decoded as it was");
    let mut engine = Engine::of(decoded);
    let mut requests = vec![
        json!({"ask": "summary"}),
        json!({"ask": "export"}),
        json!({"ask": "groups", "place": ""}),
        json!({"ask": "search", "query": "a"}),
        json!({"ask": "search", "query": HOSTILE}),
        json!({"ask": "find", "link": format!("node/{HOSTILE}")}),
    ];
    let counts = [
        ("g", scene.groups.len()),
        ("n", scene.nodes.len()),
        ("v", scene.values.len()),
        ("d", scene.marks.len()),
    ];
    for (kind, count) in counts {
        for at in [0, 1, count.saturating_sub(1)] {
            let item = format!("{kind}{}", at.min(count.saturating_sub(1)));
            requests.push(json!({"ask": "draw", "selected": item, "highlight": [item, "n0", "v0"]}));
            requests.push(json!({"ask": "details", "item": item}));
            requests.push(json!({"ask": "causes", "item": item}));
            requests.push(json!({"ask": "neighbours", "item": item}));
            requests.push(json!({"ask": "reveal", "item": item}));
        }
    }
    for request in requests {
        let answer = ask(&mut engine, request.clone());
        assert!(answer.to_string().len() < MAX_ANSWER, "{request}: {} bytes", answer.to_string().len());
        assert_eq!(unsafe_texts(&answer), [""; 0], "{request}");
        if let Some(svg) = answer["svg"].as_str() {
            assert_eq!(svg_problem(svg), None);
        }
        if let Some(expanded) = answer["expanded"].as_array().filter(|_| request["ask"] == "reveal") {
            let picture = ask(&mut engine, json!({"ask": "draw", "expanded": expanded}));
            assert_eq!(svg_problem(picture["svg"].as_str().expect("a picture")), None);
            assert!(picture["boxes"].as_array().is_some_and(|boxes| boxes.len() <= 2000));
        }
    }
}

#[test]
fn very_many_edges_at_one_node_have_bounded_answers() {
    let mut names: Vec<String> = (0..1000).map(|at| format!("x{at}")).collect();
    let mut nodes: Vec<_> = names.iter().map(|name| node("Relu", "", &["x"], &[name])).collect();
    let edges = number(10_000, 1_000_000);
    let inputs: Vec<&str> = (0..edges).map(|at| names[at % 1000].as_str()).collect();
    nodes.push(node("Sum", "wide", &inputs, &["y"]));
    names.push("y".to_owned());
    let scene = scene_of_graph(GraphProto {
        node: nodes,
        input: vec![float("x")],
        output: vec![float("y")],
        ..GraphProto::default()
    });
    assert_eq!(scene.nodes.iter().map(|node| node.inputs.len()).max(), Some(edges));
    check_answers(&scene);
}

#[test]
fn a_value_with_very_many_readers_has_bounded_answers() {
    let inputs = vec!["x"; 100];
    let nodes = (0..number(300, 10_000)).map(|at| node("Sum", "", &inputs, &[&format!("y{at}")]));
    let scene = scene_of_graph(GraphProto {
        node: nodes.collect(),
        input: vec![float("x")],
        output: vec![float("y0")],
        ..GraphProto::default()
    });
    check_answers(&scene);
}

/// The check refuses graphs that are nested deeper than its limit; those at the limit are shown.
#[test]
fn nested_graphs_are_shown_up_to_the_limit_of_the_check() {
    let nested = |depth: usize| {
        let mut text = "y = Abs(x)".to_owned();
        for at in 0..depth {
            text = format!(
                "y = If (c) <then_branch = t{at} () => (y) {{ {text} }}, else_branch = e{at} () => (w) {{ w = Neg(x) }}>"
            );
        }
        let text =
            format!("<ir_version: 10, opset_import: [\"\" : 21]> g (bool c, float[N] x) => (y) {{ {text} }}");
        typeloom_onnx::text::model_bytes(&text).ok().and_then(|bytes| scene_of_bytes(&bytes))
    };
    check_answers(&nested(30).expect("the model can be checked"));
    assert!(nested(100).is_none());
}

/// A request with a path of a hundred thousand groups.
#[test]
fn deep_paths_of_requests_are_ignored() {
    let scene = scene_of_graph(GraphProto {
        node: vec![
            node("Relu", "a/b/c", &["x"], &["y"]),
            node("Relu", "a/b/d", &["y"], &["z"]),
            node("Relu", "e", &["z"], &["w"]),
        ],
        input: vec![float("x")],
        output: vec![float("z")],
        ..GraphProto::default()
    });
    let mut engine = Engine::of(scene);
    let deep = "g1/".repeat(100_000);
    let picture = ask(&mut engine, json!({"ask": "draw", "expanded": [deep, "g1"]}));
    assert_eq!(picture["expanded"], json!(["g1"]));
    let many: Vec<String> = (0..100_000).map(|at| format!("g1/n{}", at % 3)).collect();
    let reveal = ask(&mut engine, json!({"ask": "reveal", "item": "n0", "expanded": many}));
    assert!(reveal.to_string().len() < MAX_ANSWER);
}

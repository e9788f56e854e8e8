//! Models that are made to break a viewer.

mod pages;

use typeloom_onnx::messages::GraphProto;
use typeloom_testing::number;

use crate::plan::Options;
use crate::scene::{MAX_SCOPES, Scene};
use crate::testing::{
    dot_problem, float, mermaid_problem, node, scene_of_graph, scene_problems, svg_problem,
};
use crate::{dot, mermaid, svg};

/// Syntax of all formats, control characters, and characters that reverse or hide text.
pub(super) const HOSTILE: &str = "a\"]>--><script>alert(1)</script>&#x41;{{\\\\}}|`;\n\r\t\0\u{1b}[31m\u{202e}\u{200b}\u{feff}\u{fffe}\u{ffff}%%{init}%%\u{2028}end";

#[track_caller]
fn check(scene: &Scene, title: &str) -> String {
    assert_eq!(scene_problems(scene), [""; 0]);
    let options = Options::default();
    let picture = svg::render(scene, title, &options);
    assert_eq!(svg_problem(&picture), None);
    assert_eq!(dot_problem(&dot::render(scene, title, &options)), None);
    assert_eq!(mermaid_problem(&mermaid::render(scene, title, &options)), None);
    let mut titled = scene.clone();
    titled.about.title = title.to_owned();
    pages::check_answers(&titled);
    picture
}

#[test]
fn text_of_a_model_is_escaped_everywhere() {
    let mut made = node(HOSTILE, &format!("{HOSTILE}/{HOSTILE}"), &[HOSTILE], &["y"]);
    made.domain = HOSTILE.into();
    made.overload = HOSTILE.into();
    let mut second = made.clone();
    second.output = vec!["z".to_owned()];
    let scene = scene_of_graph(GraphProto {
        node: vec![made, second],
        input: vec![float(HOSTILE)],
        output: vec![float("y")],
        ..GraphProto::default()
    });
    assert_eq!(scene.operators[0].name, HOSTILE);
    let picture = check(&scene, HOSTILE);
    assert!(!picture.contains("<script") && picture.contains("&lt;"));
}

#[test]
fn long_names_are_shortened() {
    let long = "x".repeat(1 << 20);
    let scene = scene_of_graph(GraphProto {
        node: vec![node("Relu", &long, &[&long], &["y"])],
        input: vec![float(&long)],
        output: vec![float("y")],
        ..GraphProto::default()
    });
    let picture = check(&scene, &long);
    assert!(picture.len() < 16_384, "{} bytes", picture.len());
}

#[test]
fn deeply_nested_names_have_bounded_groups() {
    let deep = "a/".repeat(number(20_000, 100_000));
    let nodes =
        (0..4).map(|at| node("Relu", &format!("{deep}b{}/n{at}", at / 2), &["x"], &[&format!("y{at}")]));
    let mut nodes: Vec<_> = nodes.collect();
    // Scopes that differ at every level, so that no group is collapsed.
    nodes.extend(
        (0..100).map(|at| node("Relu", &format!("{}n", "c/".repeat(at)), &["x"], &[&format!("z{at}")])),
    );
    let scene = scene_of_graph(GraphProto {
        node: nodes,
        input: vec![float("x")],
        output: vec![float("y0")],
        ..GraphProto::default()
    });
    let depth = scene.groups.iter().map(|group| group.depth).max();
    assert_eq!(depth, u32::try_from(MAX_SCOPES).ok());
    check(&scene, "deep");
}

#[test]
fn a_node_with_many_inputs_has_few_ports() {
    let names: Vec<String> = (0..number(5_000, 20_000)).map(|at| format!("x{at}")).collect();
    let mut inputs: Vec<&str> = names.iter().map(String::as_str).collect();
    inputs.extend(vec!["x0"; number(20_000, 200_000)]);
    let scene = scene_of_graph(GraphProto {
        node: vec![node("Sum", "", &inputs, &["y"])],
        input: names.iter().map(|name| float(name)).collect(),
        output: vec![float("y")],
        ..GraphProto::default()
    });
    let picture = check(&scene, "wide");
    assert!(picture.contains(&format!("{} other inputs", names.len() - 16)));
    assert!(picture.len() < 32_768, "{} bytes", picture.len());
}

#[test]
fn broken_graphs_are_drawn() {
    // An undefined value, a cycle, and a value that is defined twice.
    let scene = scene_of_graph(GraphProto {
        node: vec![
            node("Relu", "", &["nowhere"], &["a"]),
            node("Add", "", &["a", "c"], &["b"]),
            node("Relu", "", &["b"], &["c"]),
            node("Relu", "", &["d"], &["d"]),
            node("Abs", "", &["a"], &["a"]),
        ],
        output: vec![float("b"), float("b"), float("undefined")],
        ..GraphProto::default()
    });
    let picture = check(&scene, "broken");
    assert!(picture.contains("node error"));
}

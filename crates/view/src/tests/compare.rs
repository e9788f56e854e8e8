//! Comparisons of recorded, large and hostile models.

use std::path::PathBuf;

use typeloom_onnx::messages::GraphProto;
use typeloom_testing::number;

use crate::changes::Changes;
use crate::engine::Engine;
use crate::matching::matching;
use crate::plan::Options;
use crate::scene::{Change, Scene, compare, union};
use crate::testing::{
    dot_problem, float, mermaid_problem, models, node, scene_of_bytes, scene_of_graph, scene_problems,
    svg_problem,
};
use crate::tests::hostile::HOSTILE;
use crate::wire::{decode, encode};
use crate::{dot, mermaid, svg};

/// Compares two scenes and checks the scene that shows both.
#[track_caller]
fn check(old: &Scene, new: &Scene) -> (Scene, Changes) {
    let (both, changes) = compare(old, new);
    assert_eq!(scene_problems(&both), [""; 0]);
    assert!(decode(&encode(&both)).as_ref() == Ok(&both), "the scene is decoded as another one");
    let removed = changes.nodes.iter().filter(|node| node.change() == Change::Removed).count();
    assert_eq!(both.nodes.len(), new.nodes.len() + removed);
    let options = Options::default();
    assert_eq!(svg_problem(&svg::render(&both, "both", &options)), None);
    assert_eq!(dot_problem(&dot::render(&both, "both", &options)), None);
    assert_eq!(mermaid_problem(&mermaid::render(&both, "both", &options)), None);
    (both, changes)
}

/// The models of the repository, and some recorded ones.
fn scenes() -> (Vec<Scene>, Vec<Scene>) {
    let is_own = |path: &PathBuf| path.starts_with(env!("CARGO_MANIFEST_DIR"));
    let is_recorded = |path: &PathBuf| path.components().any(|part| part.as_os_str() == "conformance");
    let (recorded, own): (Vec<PathBuf>, Vec<PathBuf>) =
        models().into_iter().partition(|path| is_recorded(path) || !is_own(path));
    let scene = |path: &PathBuf| scene_of_bytes(&std::fs::read(path).expect("the model can be read"));
    (own.iter().filter_map(scene).collect(), recorded.iter().step_by(50).filter_map(scene).collect())
}

#[test]
fn every_model_has_no_changes_to_itself() {
    let (own, recorded) = scenes();
    for scene in own.iter().chain(&recorded) {
        let (both, changes) = check(scene, scene);
        assert_eq!(changes.total(), 0, "{}", changes.to_text(scene, scene));
        assert_eq!((both.nodes.len(), both.values.len()), (scene.nodes.len(), scene.values.len()));
    }
}

#[test]
fn any_two_models_can_be_compared() {
    let (own, _) = scenes();
    let scenes: Vec<Scene> = own.into_iter().filter(|scene| scene.nodes.len() < 300).collect();
    assert!(scenes.len() >= 10, "only {} models", scenes.len());
    let pairs = scenes.iter().flat_map(|old| scenes.iter().map(move |new| (old, new)));
    for (old, new) in pairs.step_by(number(20, 1)) {
        let (both, changes) = check(old, new);
        let counts = |change| both.nodes.iter().filter(|node| node.change == change).count();
        // The numbers of nodes add up.
        assert_eq!(old.nodes.len() + counts(Change::Added), new.nodes.len() + counts(Change::Removed));
        let back = Changes::of(new, old, &matching(new, old));
        assert_eq!((changes.nodes.len(), changes.interface.len()), (back.nodes.len(), back.interface.len()));
    }
}

#[test]
fn text_of_two_models_is_escaped_everywhere() {
    let graph = |operator: &str, name: &str| {
        let mut made = node(operator, &format!("{HOSTILE}/{name}"), &[HOSTILE], &[name]);
        made.domain = HOSTILE.into();
        scene_of_graph(GraphProto {
            node: vec![made, node("Relu", HOSTILE, &[name], &["y"])],
            input: vec![float(HOSTILE), float(name)],
            output: vec![float("y")],
            ..GraphProto::default()
        })
    };
    let (old, new) = (graph("a<b", "\u{202e}old"), graph("a&b", "new\u{1b}"));
    let (both, changes) = check(&old, &new);
    assert!(changes.total() > 0);
    let text = changes.to_text(&old, &new);
    let is_safe = |c: char| {
        c == '\n' || !c.is_control() && !matches!(c, '\u{202e}' | '\u{200b}' | '\u{feff}' | '\u{2028}')
    };
    assert!(text.chars().all(is_safe) && text.lines().count() <= changes.total() + 4, "{text}");
    let page = crate::page::render(&both, HOSTILE, crate::page::Delivery::File);
    assert!(!page.contains("<script>alert"));
}

#[test]
fn a_page_lists_changes_and_describes_them() {
    let chain = |operators: &[&str]| {
        let nodes = operators.iter().enumerate();
        let nodes = nodes.map(|(at, it)| node(it, "", &[&format!("v{at}")], &[&format!("v{}", at + 1)]));
        scene_of_graph(GraphProto {
            node: nodes.collect(),
            input: vec![float("v0")],
            output: vec![float(&format!("v{}", operators.len()))],
            ..GraphProto::default()
        })
    };
    let (both, _) = check(&chain(&["Neg", "Exp", "Abs"]), &chain(&["Neg", "Sqrt", "Abs"]));
    let mut engine = Engine::of(both);
    let summary = engine.answer(r#"{"ask":"summary"}"#);
    let listed = r#""changes":{"total":1,"entries":[{"change":"changed","text":"Sqrt of v2: operator Exp -> Sqrt","item":"n1","count":1,"items":[]}]}"#;
    assert!(summary.contains(listed), "{summary}");
    let details = engine.answer(r#"{"ask":"details","item":"n1"}"#);
    assert!(
        details.contains("operator Exp -> Sqrt") && details.contains(r#""title":"Changes""#),
        "{details}"
    );
    assert!(engine.answer(r#"{"ask":"details","item":"g0"}"#).contains("~1"));
    assert!(!engine.answer(r#"{"ask":"details","item":"n0"}"#).contains(r#""title":"Changes","rows":[{"#));
    let one = Engine::of(chain(&["Neg"])).answer(r#"{"ask":"summary"}"#);
    assert!(one.contains(r#""changes":null"#), "{one}");
}

/// The work for each node and port of a comparison.
fn work(old: &Scene, new: &Scene) -> usize {
    let matching = matching(old, new);
    let changes = Changes::of(old, new, &matching);
    let both = union(old, new, &matching, &changes);
    assert!(both.nodes.len() >= new.nodes.len());
    let size = |scene: &Scene| scene.nodes.iter().map(|node| 1 + node.inputs.len()).sum::<usize>();
    matching.work.total() / (size(old) + size(new)).max(1)
}

#[test]
fn a_node_with_many_edges_has_linear_work() {
    let graph = |edges: usize, extra: &str| {
        let names: Vec<String> = (0..edges).map(|at| format!("x{}", at % 1000)).collect();
        let mut inputs: Vec<&str> = names.iter().map(String::as_str).collect();
        inputs.insert(edges / 2, extra);
        let readers = (0..edges / 4).map(|at| node("Relu", "", &["y"], &[&format!("r{at}")]));
        scene_of_graph(GraphProto {
            node: std::iter::once(node("Sum", "", &inputs, &["y"])).chain(readers).collect(),
            input: (0..1000).map(|at| float(&format!("x{at}"))).collect(),
            output: vec![float("y")],
            ..GraphProto::default()
        })
    };
    for edges in [number(5_000, 50_000), number(20_000, 1_000_000)] {
        let (old, new) = (graph(edges, "x1"), graph(edges, "x7"));
        let work = work(&old, &new);
        println!("{edges} edges: {work} steps for each node and port");
        assert!(work <= 100, "{edges} edges: {work} steps for each node and port");
    }
}

#[test]
fn equal_nodes_without_names_have_linear_work() {
    let graph = |count: usize| {
        scene_of_graph(GraphProto {
            node: (0..count).map(|at| node("Relu", "", &["x"], &[&format!("t{at}")])).collect(),
            input: vec![float("x")],
            output: vec![float("t0")],
            ..GraphProto::default()
        })
    };
    for count in [number(2_000, 10_000), number(8_000, 100_000)] {
        let (old, new) = (graph(count), graph(count + 10));
        let matching = matching(&old, &new);
        assert_eq!(matching.nodes.iter().count(), count);
        let work = work(&old, &new);
        println!("{count} nodes: {work} steps for each node and port");
        assert!(work <= 150, "{count} nodes: {work} steps for each node and port");
    }
}

#[test]
fn deep_scopes_and_long_names_are_compared() {
    let deep = "a/".repeat(number(10_000, 50_000));
    let graph = |operator: &str| {
        let nodes = (0..300).map(|at| {
            let name = if at % 2 == 0 { format!("{deep}n{at}") } else { format!("{}n", "c/".repeat(at)) };
            let operator = if at % 50 == 0 { operator } else { "Relu" };
            node(operator, &name, &[&format!("v{at}")], &[&format!("v{}", at + 1)])
        });
        scene_of_graph(GraphProto {
            node: nodes.collect(),
            input: vec![float("v0")],
            output: vec![float("v300")],
            ..GraphProto::default()
        })
    };
    let (_, changes) = check(&graph("Neg"), &graph("Abs"));
    assert_eq!(changes.nodes.len(), 6);
}

#[test]
fn a_large_model_with_few_changes_has_a_scene_of_nearly_its_size() {
    let count = number(5_000, 100_000);
    let graph = |removed: Option<usize>| {
        let nodes = (0..count).filter(|at| Some(at % 5000) != removed).map(|at| {
            let name = format!("/model/layers.{}/{}/n{at}", at / 1000, ["attn", "mlp"][at / 500 % 2]);
            // Values with odd numbers are not read.
            let far = format!("v{}", (at * 7919) % (at + 1) / 2 * 2);
            node("Add", &name, &[&format!("v{}", at / 2 * 2), &far], &[&format!("v{}", at + 1)])
        });
        scene_of_graph(GraphProto {
            node: nodes.collect(),
            input: vec![float("v0")],
            output: vec![float("v2")],
            ..GraphProto::default()
        })
    };
    let (old, new) = (graph(None), graph(Some(4998)));
    let (both, changes) = compare(&old, &new);
    assert_eq!(both.nodes.len(), count);
    let removed = changes.nodes.iter().filter(|node| node.change() == Change::Removed).count();
    assert_eq!(removed, count / 5000);
    assert!(changes.total() < 200, "{} changes", changes.total());
    let work = work(&old, &new);
    assert!(work <= 100, "{work} steps for each node and port");
    let picture = svg::render(&both, "both", &Options::default());
    assert_eq!(svg_problem(&picture), None);
}

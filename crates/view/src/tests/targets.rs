//! Targets: verdicts, places of nodes, and the overlay of a picture.

use serde_json::{Value, json};

use crate::engine::Engine;
use crate::scene::Assignment;
use crate::testing::{add_target, ask, scene_of_text};

/// A chain of four nodes; the third is on the CPU.
fn engine() -> Engine {
    let mut scene = scene_of_text(
        "g (float[N] x) => (y) { [\"s/a\"] a = Relu(x) [\"s/b\"] b = Neg(a) [\"t/c\"] c = Erf(b) [\"t/d\"] y = Abs(c) }",
    );
    add_target(
        &mut scene,
        "npu",
        &[Assignment::Device, Assignment::Device, Assignment::Cpu, Assignment::Unknown],
    );
    Engine::of(scene)
}

fn svg(engine: &mut Engine, request: Value) -> String {
    ask(engine, request)["svg"].as_str().expect("a picture").to_owned()
}

#[test]
fn the_verdict_has_partitions_and_the_other_nodes() {
    let mut engine = engine();
    let summary = ask(&mut engine, json!({"ask": "summary"}));
    assert_eq!(summary["targets"], json!([{"name": "npu", "verdict": "runs with fallback"}]));
    let target = ask(&mut engine, json!({"ask": "target", "name": "npu"}));
    let places: Vec<&str> =
        target["places"].as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap()).collect();
    assert_eq!(places, ["2 nodes on the device", "1 node on the CPU", "1 node undecided"]);
    assert_eq!(target["partitions"], json!([{"nodes": 1, "items": ["n0"]}, {"nodes": 1, "items": ["n1"]}]));
    let rows: Vec<(&str, &str)> = (target["rows"].as_array().unwrap().iter())
        .map(|row| (row["label"].as_str().unwrap(), row["text"].as_str().unwrap()))
        .collect();
    let expected = [
        ("where", "N = 1"),
        ("numbers", "M: measured for fixed extents"),
        ("partitions", "2"),
        ("bytes that cross", "4*N"),
    ];
    assert_eq!(rows, expected);
    assert_eq!((&target["total"], &target["others"][0]["operator"]), (&json!(2), &json!("Erf")));
    let missing = ask(&mut engine, json!({"ask": "target", "name": "gpu"}));
    assert_eq!(missing["error"], "there is no target `gpu`");
}

#[test]
fn the_overlay_marks_nodes_and_collapsed_groups() {
    let mut engine = engine();
    let plain = svg(&mut engine, json!({"ask": "draw", "expanded": []}));
    assert!(!plain.contains("on-") && !plain.contains("letters"));
    let collapsed = svg(&mut engine, json!({"ask": "draw", "expanded": [], "target": "npu"}));
    assert!(collapsed.contains("class=\"group on-device\""), "{collapsed}");
    assert!(
        collapsed.contains("class=\"group on-unknown\"") && collapsed.contains(">C?</text>"),
        "{collapsed}"
    );
    let open = svg(&mut engine, json!({"ask": "draw", "target": "npu"}));
    for (class, letter) in [("on-device", "D"), ("on-cpu", "C"), ("on-unknown", "?")] {
        assert!(open.contains(&format!("class=\"node {class}\"")), "{class}: {open}");
        assert!(open.contains(&format!(">{letter}</text>")), "{letter}");
    }
    assert!(open.contains(", on the CPU\""), "{open}");
    let export = svg(&mut engine, json!({"ask": "export", "target": "npu"}));
    assert!(!export.contains("letters"));
}

#[test]
fn a_node_has_its_place_and_partition() {
    let mut engine = engine();
    let mut row = |item: &str| {
        let details = ask(&mut engine, json!({"ask": "details", "item": item}));
        let section = details["sections"].as_array().unwrap().iter().find(|it| it["title"] == "Targets");
        section.expect("a section")["rows"][0]["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(row("n1"), "D on the device, partition 2");
    assert_eq!(row("n2"), "C on the CPU");
}

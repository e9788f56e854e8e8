//! A generated graph of up to 100,000 nodes: a scene of linear size, with small levels.

use typeloom_onnx::messages::GraphProto;
use typeloom_testing::number;

use crate::level::{Level, MAX_PORTS};
use crate::plan::{Options, Plan};
use crate::scene::{GroupId, MAX_CHILDREN, Scene};
use crate::testing::{float, node, scene_of_graph, svg_problem};
use crate::{mermaid, svg, wire};

/// The number of nodes. Parts of parts need more than a plain run has.
fn count() -> usize {
    number(10_000, 100_000)
}

/// A chain with additional edges to earlier nodes, near and far.
fn graph(name: impl Fn(usize) -> String) -> Scene {
    let nodes = (0..count()).map(|at| {
        let far = format!("v{}", (at * 7919) % (at + 1));
        node("Add", &name(at), &[&format!("v{at}"), &far], &[&format!("v{}", at + 1)])
    });
    scene_of_graph(GraphProto {
        node: nodes.collect(),
        input: vec![float("v0")],
        output: vec![float(&format!("v{}", count()))],
        ..GraphProto::default()
    })
}

#[track_caller]
fn check(scene: &Scene) {
    assert_eq!((scene.nodes.len(), scene.group(scene.main()).total), (count(), count()));
    assert_eq!(scene.values.len(), count() + 1);
    assert!(scene.groups.len() <= count() / 2, "{} groups", scene.groups.len());
    for group in (0..scene.groups.len()).map(GroupId::new) {
        assert!(scene.group(group).children.len() <= MAX_CHILDREN);
    }
    // The levels on the way to a node.
    let mut at = Some(scene.nodes[count() / 2].group);
    while let Some(group) = at {
        let level = Level::of(scene, group);
        assert!(level.items.len() <= MAX_CHILDREN + 2 * (MAX_PORTS + 1));
        at = scene.group(group).parent;
    }
    let encoded = wire::encode(scene);
    assert!(wire::decode(&encoded).as_ref() == Ok(scene));
    let size = miniz_oxide::deflate::compress_to_vec(&encoded, 9).len();
    println!("{} bytes, {size} compressed", encoded.len());
    assert!(size <= 40 * count(), "{size} compressed bytes");
    let options = Options::default();
    let plan = Plan::of(scene, &options);
    assert!(plan.hidden > 0 && plan.frames.iter().map(|it| it.level.items.len()).sum::<usize>() < 1000);
    let picture = svg::render(scene, "large", &options);
    assert_eq!(svg_problem(&picture), None);
    assert!(picture.contains(&format!("of {} nodes are in groups that are not expanded", count())));
    assert!(picture.len() < 1 << 20 && mermaid::render(scene, "large", &options).len() < 1 << 18);
}

#[test]
fn a_large_graph_without_scopes_is_split_into_parts() {
    let scene = graph(|_| String::new());
    // Parts of 200 nodes: 50, or 500 in 3 parts.
    assert_eq!(scene.groups.len(), number(1 + 50, 1 + 3 + 500));
    assert_eq!(scene.group(scene.main()).children.len(), number(50, 3));
    check(&scene);
}

#[test]
fn a_large_graph_with_scopes_has_their_groups() {
    let scene = graph(|at| format!("/model/layers.{}/{}/n{at}", at / 1000, ["attn", "mlp"][at / 500 % 2]));
    assert_eq!(scene.group(scene.main()).children.len(), number(10, 100));
    check(&scene);
}

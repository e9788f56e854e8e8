//! The contents of small scenes.

use crate::level::{Item, Level};
use crate::plan::{Options, Plan};
use crate::scene::{Child, Evidence, GroupKind, Maker, NodeId, Scene, ValueId};
use crate::testing::{float, node, scene_of_graph, scene_of_text, scene_problems};
use typeloom_onnx::messages::{GraphProto, StringStringEntryProto};

fn value(scene: &Scene, name: &str) -> ValueId {
    let at = scene.values.iter().position(|value| value.name == name).expect("the value exists");
    ValueId::new(at)
}

fn operators(scene: &Scene) -> Vec<&str> {
    (0..scene.nodes.len()).map(|at| scene.operator(NodeId::new(at)).name.as_str()).collect()
}

/// A chain of `Relu` nodes with these names.
fn chain(names: &[&str]) -> Scene {
    let nodes = names.iter().enumerate();
    let nodes = nodes.map(|(at, name)| node("Relu", name, &[&format!("v{at}")], &[&format!("v{}", at + 1)]));
    scene_of_graph(GraphProto {
        node: nodes.collect(),
        input: vec![float("v0")],
        output: vec![float(&format!("v{}", names.len()))],
        ..GraphProto::default()
    })
}

fn groups(scene: &Scene) -> Vec<(&str, usize)> {
    scene.groups.iter().skip(1).map(|group| (group.label.as_str(), group.children.len())).collect()
}

#[test]
fn values_have_types_in_the_symbols_of_the_model() {
    let scene = scene_of_text("g (float[N, 3] x, float[3, 4] w) => (y) { h = MatMul(x, w)  y = Relu(h) }");
    assert_eq!(operators(&scene), ["MatMul", "Relu"]);
    let h = value(&scene, "h");
    assert_eq!((scene.type_text(h), scene.value(h).evidence), ("float[N, 4]", Evidence::Proven));
    assert_eq!(scene.readers(h), [NodeId::new(1)]);
    assert!(scene.value(value(&scene, "y")).is_output && !scene.value(h).is_output);
}

#[test]
fn stored_tensors_are_no_nodes() {
    let scene = scene_of_text(
        "g (float[4] x) => (y) <float[1] s = {2.5}, float[9] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> {
           c = Constant <value_float = 0.5> ()
           a = Mul(x, s)  y = Sum(a, c, w)
         }",
    );
    assert_eq!(operators(&scene), ["Mul", "Sum"]);
    let previews: Vec<_> =
        ["s", "c", "w"].map(|name| scene.preview_text(value(&scene, name)).map(str::to_owned)).into();
    assert_eq!(previews, [Some("[2.5]".to_owned()), Some("0.5".to_owned()), None]);
    assert_eq!(scene.value(value(&scene, "c")).maker, Maker::Stored);
    let weights: Vec<_> = scene.weights(NodeId::new(1)).collect();
    assert_eq!(weights, [(1, value(&scene, "c")), (2, value(&scene, "w"))]);
}

#[test]
fn scopes_become_groups_and_chains_of_groups_are_one() {
    let scene = chain(&["/a/b/x", "/a/b/y", "/c/z", "/d/e/u", "/d/f/v", "/d/e/w", "t"]);
    // `c` has one node, `a` one group.
    assert_eq!(groups(&scene), [("a/b", 2), ("d", 2), ("e", 2)]);
    assert_eq!(scene_problems(&scene), [""; 0]);
    let main = Level::of(&scene, scene.main());
    assert_eq!(main.items.len(), 1 + 4 + 1);
    // `e` reads from `f`, which is one node, and is read by it.
    let d = scene.groups.iter().position(|group| group.label == "d").expect("the group exists");
    let level = Level::of(&scene, crate::scene::GroupId::new(d));
    let ends: Vec<_> = level.links.iter().map(|link| (link.from, link.to)).collect();
    assert_eq!(ends, [(0, 1), (2, 1), (1, 2), (1, 3)]);
}

#[test]
fn scopes_of_the_exporter_are_preferred() {
    let with = |name: &str, scopes: &str, classes: &str| {
        let entry = |key: &str, text: &str| StringStringEntryProto {
            key: key.into(),
            value: text.into(),
            ..StringStringEntryProto::default()
        };
        let mut made = node("Relu", "x/y/z", &["v0"], &[name]);
        made.metadata_props = vec![
            entry("pkg.torch.onnx.name_scopes", scopes),
            entry("pkg.torch.onnx.class_hierarchy", classes),
        ];
        made
    };
    let classes = "['m.Net', 'torch.nn.Block', 'torch.nn.Attention', 'op']";
    let scene = scene_of_graph(GraphProto {
        node: vec![
            with("a", "['', 'layers.0', 'layers.0.attn', 'relu']", classes),
            with("b", "['', 'layers.0', 'layers.0.attn', 'relu_1']", classes),
            with("c", "['', 'layers.0', 'relu_2']", "['m.Net', 'torch.nn.Block', 'op']"),
            with("d", "['', 'relu_3']", "['m.Net', 'op']"),
        ],
        input: vec![float("v0")],
        output: vec![float("a")],
        ..GraphProto::default()
    });
    assert_eq!(groups(&scene), [("layers.0", 2), ("attn", 2)]);
    let class = |at: usize| match &scene.groups[at].kind {
        GroupKind::Scope { class } => class.as_str(),
        kind => panic!("{kind:?}"),
    };
    assert_eq!([class(1), class(2)], ["Block", "Attention"]);
    assert_eq!(scene.path(NodeId::new(0)), ["layers.0", "attn"]);
}

#[test]
fn nested_graphs_are_groups_of_their_node_which_reads_their_captures() {
    let scene = scene_of_text(
        "g (bool c, float[N] x, float[N] z) => (y) {
           h = Neg(x)
           y = If (c) <then_branch = t () => (a) { a = Mul(h, z) }, else_branch = e () => (b) { b = Abs(h) }>
         }",
    );
    assert_eq!(scene_problems(&scene), [""; 0]);
    let branch = scene.nodes.iter().find(|node| !node.bodies.is_empty()).expect("a node has graphs");
    let labels: Vec<_> = branch.bodies.iter().map(|body| scene.group(*body).label.as_str()).collect();
    assert_eq!(labels, ["then_branch", "else_branch"]);
    let captured: Vec<_> = branch.captures.iter().map(|it| scene.value(*it).name.as_str()).collect();
    assert_eq!(captured, ["h", "z"]);
    assert_eq!(scene.group(scene.main()).total, 4);
    let level = Level::of(&scene, branch.bodies[0]);
    let items: Vec<_> = level.items.iter().map(|item| matches!(item, Item::Input(_))).collect();
    assert_eq!(items, [true, true, false, false]);
}

#[test]
fn a_function_has_one_group_and_is_not_expanded_in_itself() {
    let scene = scene_of_text(
        "<ir_version: 10, opset_import: [\"\" : 21, \"l\" : 1]>
         g (float[N] x) => (z) { y = l.f(x)  z = l.f(y) }
         <domain: \"l\", opset_import: [\"\" : 21]> f (a) => (b) { t = Neg(a)  b = Abs(t) }",
    );
    assert_eq!(scene_problems(&scene), [""; 0]);
    assert_eq!(scene.functions.len(), 1);
    let callees: Vec<_> = scene.nodes.iter().filter_map(|node| node.callee).collect();
    assert_eq!(callees, [scene.functions[0]; 2]);
    assert_eq!(scene.type_text(value(&scene, "t")), "float[N]");
    assert_eq!(Plan::of(&scene, &Options::default()).frames.len(), 3);
    assert_eq!(Plan::of(&scene, &Options::to_depth(0)).frames.len(), 1);
}

#[test]
fn diagnostics_are_at_their_nodes_and_counted_in_groups() {
    let scene = scene_of_text(
        "g (float[N] x, int64[N] m, bool c) => (y) {
           y = If (c) <then_branch = t () => (a) { a = Add(x, m) }, else_branch = e () => (b) { b = Abs(x) }>
         }",
    );
    let marked: Vec<_> = scene.nodes.iter().filter(|node| !node.marks.is_empty()).collect();
    let codes: Vec<_> =
        marked.iter().flat_map(|node| &node.marks).map(|mark| scene.mark(*mark).code).collect();
    assert_eq!(codes, ["element-type-mismatch"]);
    assert_eq!(scene.group(scene.main()).errors, 1);
    assert_eq!(scene.group(marked[0].group).errors, 1);
}

#[test]
fn a_level_has_the_children_of_its_group_only() {
    let names: Vec<String> = (0..500).map(|at| format!("/s{}/n{at}", at / 10)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let scene = chain(&names);
    let main = Level::of(&scene, scene.main());
    assert_eq!(main.items.len(), 1 + 50 + 1);
    assert!(main.items[1..51].iter().all(|item| matches!(item, Item::Child(Child::Group(_)))));
    assert_eq!(main.links.len(), 51);
}

#[test]
fn problems_are_at_the_edges_that_their_reports_point_at() {
    let scene = scene_of_text(
        "g (float[2] x, float[2] y) => (z) { h = Cast <to = 10> (x)  k = Identity(h)  z = Add(y, k) }",
    );
    let k = value(&scene, "k");
    assert_eq!(scene.marks[0].values, [k]);
    assert_eq!(scene.value(k).marks.len(), 1);
    assert!(scene.value(value(&scene, "y")).marks.is_empty());
    let picture = crate::svg::render(&scene, "x", &Options::default());
    assert_eq!(picture.matches("class=\"link error\"").count(), 1);
    assert!(picture.contains("float16[2] (element-type-mismatch)"));
}

#[test]
fn stored_tensors_that_old_models_list_as_inputs_are_no_ports() {
    let text = |version: u8| {
        format!(
            "<ir_version: {version}, opset_import: [\"\" : 9]> g (float[2] x, float[2] w) => (float[2] y) \
             <float[2] w = {{1, 2}}> {{ y = Add(x, w) }}"
        )
    };
    for (version, ports) in [(3, 1), (8, 2)] {
        let scene = scene_of_text(&text(version));
        assert_eq!(scene.group(scene.main()).inputs.len(), ports, "IR version {version}");
    }
}

#[test]
fn element_types_in_attributes_have_names() {
    let scene = scene_of_text("g (float[N] x) => (z) { y = Cast <to = 10> (x)  z = Cast <to = 1> (y) }");
    let text = |at: usize| scene.nodes[at].attributes[0].text.as_str();
    assert_eq!([text(0), text(1)], ["float16", "float"]);
}

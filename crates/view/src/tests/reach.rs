//! Every item of every model can be described, found by its link and made visible.

use serde_json::{Value, json};
use typeloom_testing::number;

use crate::engine::Engine;
use crate::engine::paths::{Paths, selection};
use crate::map::Map;
use crate::plan::Plan;
use crate::scene::{Maker, Scene};
use crate::testing::{ask, models, own_models, scene_of_bytes, scene_of_text};
use crate::wire;

/// The maximum number of items of each kind that are tested for one model.
fn max_items() -> usize {
    number(50, 200)
}

/// The paths of the boxes of pictures, by expanded groups.
#[derive(Default)]
struct Pictures {
    known: Map<String, Vec<String>>,
}

impl Pictures {
    fn has(&mut self, scene: &Scene, expanded: &Value, place: &str) -> bool {
        let boxes = self.known.entry(expanded.to_string()).or_insert_with(|| {
            let paths: Vec<String> = serde_json::from_value(expanded.clone()).expect("a list of paths");
            let plan = Plan::selected(scene, &selection(scene, &paths), 2000);
            let own = Paths::of(&plan);
            assert_eq!(own.expanded().len(), paths.len(), "every path is expanded");
            let frames = plan.frames.iter().enumerate();
            let boxes = frames.flat_map(|(at, frame)| frame.level.items.iter().map(move |item| (at, *item)));
            boxes.map(|(at, item)| own.of_box(at, item)).collect()
        });
        boxes.iter().any(|other| other == place)
    }
}

/// The problems of the answers about the items of a scene.
fn problems(scene: &Scene) -> Vec<String> {
    let decoded = wire::decode(&wire::encode(scene)).expect("the scene is decoded");
    assert!(decoded == *scene, "the scene is decoded as it was");
    let mut engine = Engine::of(decoded);
    let mut pictures = Pictures::default();
    let mut found = Vec::new();
    let items = |kind: char, count: usize| {
        let step = count.div_ceil(max_items()).max(1);
        (0..count).step_by(step).map(move |at| format!("{kind}{at}"))
    };
    let nodes = items('n', scene.nodes.len()).chain(items('v', scene.values.len()));
    let others = items('g', scene.groups.len()).chain(items('d', scene.marks.len()));
    for item in nodes.chain(others) {
        let details = ask(&mut engine, json!({"ask": "details", "item": item}));
        let title =
            [&details["operator"], &details["title"]].map(|text| text.as_str().unwrap_or_default()).concat();
        let is_described = details["sections"].as_array().is_some_and(|sections| !sections.is_empty())
            || !details["message"].is_null();
        if !is_described || (title.is_empty() && !item.starts_with('v')) {
            found.push(format!("{item} has no details"));
        }
        let link = ask(&mut engine, json!({"ask": "find", "link": details["link"]}));
        if link["item"] != json!(item) {
            found.push(format!("the link of {item} is {}, which is {}", details["link"], link["item"]));
        }
        let reveal = ask(&mut engine, json!({"ask": "reveal", "item": item, "expanded": []}));
        let place = reveal["place"].as_str().unwrap_or_default();
        // The model's graph has no box, and a nested graph is a frame in the box of its node.
        let is_frame = reveal["expanded"].as_array().is_some_and(|paths| paths.contains(&reveal["place"]));
        let is_graph = reveal["shown"].as_str().is_some_and(|shown| shown.starts_with('g'));
        let is_shown =
            (is_graph && (is_frame || place.is_empty())) || pictures.has(scene, &reveal["expanded"], place);
        // Functions that no node calls are not drawn.
        let is_unreachable = place.is_empty() && !scene.functions.is_empty();
        if !is_shown && !is_unreachable {
            found.push(format!("{item} is not shown: {reveal}"));
        }
    }
    found
}

#[test]
fn every_item_of_a_model_is_described_found_and_revealed() {
    let (mut count, mut wrong) = (0, Vec::new());
    for path in models() {
        let bytes = std::fs::read(&path).expect("the model can be read");
        let Some(scene) = scene_of_bytes(&bytes) else { continue };
        count += 1;
        wrong.extend(problems(&scene).into_iter().map(|problem| format!("{}: {problem}", path.display())));
    }
    assert!(count >= 15, "only {count} models");
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn every_named_node_and_value_is_the_result_of_a_search() {
    for path in own_models() {
        let bytes = std::fs::read(&path).expect("the model can be read");
        let Some(scene) = scene_of_bytes(&bytes) else { continue };
        let engine = Engine::of(scene.clone());
        let names = scene.nodes.iter().map(|it| &it.name).chain(scene.values.iter().map(|it| &it.name));
        for name in names.filter(|name| !name.is_empty() && !name.contains(['"', '[', ']'])).step_by(7) {
            let results = engine.search_counted(&format!("\"{name}\""), Some(1)).0;
            let first = &results.results[0].item;
            let at: usize = first[1..].parse().expect("an item has a number");
            let own = if first.starts_with('n') { &scene.nodes[at].name } else { &scene.values[at].name };
            assert_eq!(own.to_ascii_lowercase(), name.to_ascii_lowercase(), "{}", path.display());
        }
    }
}

#[test]
fn items_of_nested_graphs_and_functions_are_revealed() {
    let deep = (0..12).fold("z = Abs(x)".to_owned(), |inner, at| {
        let inner = if at == 0 { inner } else { format!("{inner} z = Abs(y{at})") };
        let next = at + 1;
        format!("y{next} = If (c) <then_branch = t{at} () => (z) {{ {inner} }}, else_branch = e{at} () => (w) {{ w = Neg(x) }}>")
    });
    let scene = scene_of_text(&format!("g (bool c, float[N] x) => (y12) {{ {deep} }}"));
    assert_eq!(problems(&scene), [""; 0]);
    let twice = scene_of_text(
        "<ir_version: 10, opset_import: [\"\" : 21, \"l\" : 1]>
         g (float[N] x) => (z) { y = l.f(x)  z = l.f(y) }
         <domain: \"l\", opset_import: [\"\" : 21, \"l\" : 1]> f (a) => (b) { t = l.h(a)  b = Abs(t) }
         <domain: \"l\", opset_import: [\"\" : 21]> h (a) => (b) { b = Neg(a) }",
    );
    assert_eq!(twice.functions.len(), 2);
    assert!(twice.values.iter().any(|value| matches!(value.maker, Maker::Input)));
    assert_eq!(problems(&twice), [""; 0]);
}

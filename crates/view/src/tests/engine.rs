//! The answers of the engine on small models.

use serde_json::{Value, json};

use crate::engine::Engine;
use crate::testing::{ask, scene_of_text, svg_problem};

const BRANCH: &str = "g (bool c, float[N] x, float[N] m) => (y) <float[1] s = {2}> {
   h = Mul(x, s)
   y = If (c) <then_branch = t () => (a) { a = Add(h, m) }, else_branch = e () => (b) { b = Abs(h) }>
 }";

const TWICE: &str = "<ir_version: 10, opset_import: [\"\" : 21, \"l\" : 1]>
   g (float[N] x) => (z) { y = l.f(x)  z = l.f(y) }
   <domain: \"l\", opset_import: [\"\" : 21]> f (a) => (b) { t = Neg(a)  b = Abs(t) }";

fn engine(text: &str) -> Engine {
    Engine::of(scene_of_text(text))
}

/// The strings at a key of the objects of a list.
fn texts<'v>(list: &'v Value, key: &str) -> Vec<&'v str> {
    list.as_array().into_iter().flatten().filter_map(|it| it[key].as_str()).collect()
}

#[test]
fn a_summary_has_counts_and_the_interface() {
    let summary = ask(&mut engine(BRANCH), json!({"ask": "summary"}));
    assert_eq!((&summary["nodes"], &summary["errors"]), (&json!(4), &json!(0)));
    assert_eq!(texts(&summary["inputs"], "name"), ["c", "x", "m"]);
    assert_eq!(texts(&summary["outputs"], "type"), ["float[N]"]);
    assert_eq!(summary["coverage"]["proven"], summary["values"]);
}

#[test]
fn a_summary_has_the_size_of_the_model_and_its_operators() {
    let mut scene = scene_of_text(
        "g (float[4] x) => (y) <float[3, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float[1] s = {2}> {
           c = Constant <value_float = 0.5> ()  a = Mul(x, s)  b = Mul(a, c)  d = Add(b, w)  y = Relu(d)
         }",
    );
    scene.about.title = "folder/m.onnx".to_owned();
    scene.about.unreported = "2 known".to_owned();
    let summary = ask(&mut Engine::of(scene), json!({"ask": "summary"}));
    assert_eq!([&summary["name"], &summary["path"]], ["m.onnx", "folder/m.onnx"]);
    assert_eq!([&summary["unreported"], &summary["has_groups"]], [&json!("2 known"), &json!(false)]);
    let sizes = json!({"file": 0, "parameters": 13, "initializers": 2, "constants": 1, "functions": 0});
    assert_eq!(summary["sizes"], sizes);
    assert_eq!(texts(&summary["operators"], "operator"), ["Mul", "Add", "Relu"]);
    assert_eq!(summary["operators"][0]["count"], 2);
    // Nodes of functions are not counted.
    let functions = ask(&mut engine(TWICE), json!({"ask": "summary"}));
    assert_eq!(functions["operators"], json!([{"operator": "l.f", "count": 2}]));
    assert_eq!(functions["has_groups"], true);
}

#[test]
fn the_tree_of_groups_has_one_level_for_each_request() {
    let mut engine = engine(BRANCH);
    let top = ask(&mut engine, json!({"ask": "groups", "place": ""}));
    assert_eq!((texts(&top["groups"], "operator"), texts(&top["groups"], "place")), (vec!["If"], vec!["n1"]));
    let graphs = ask(&mut engine, json!({"ask": "groups", "place": "n1"}));
    assert_eq!(texts(&graphs["groups"], "title"), ["then_branch", "else_branch"]);
    assert_eq!(texts(&graphs["groups"], "place"), ["n1/g1", "n1/g2"]);
    assert_eq!(graphs["groups"][0]["has_groups"], false);
    for place in ["n1/g1", "v0", "x", "n99", &"g0/".repeat(1000)] {
        assert_eq!(
            ask(&mut engine, json!({"ask": "groups", "place": place})),
            json!({"groups": []}),
            "{place}"
        );
    }
    // Both calls of a function have its groups.
    let calls = ask(&mut self::engine(TWICE), json!({"ask": "groups", "place": "n1"}));
    assert_eq!(texts(&calls["groups"], "place"), ["n1/g1"]);
}

#[test]
fn a_message_has_its_inputs_in_lines_with_their_labels_and_types() {
    let mut engine = engine("g (float[N] query, int64[N] mask) => (y) { [\"add\"] y = Add(query, mask) }");
    let details = ask(&mut engine, json!({"ask": "details", "item": "d0"}));
    let message = &details["message"];
    assert_eq!([&message["code"], &message["severity"]], ["element-type-mismatch", "error"]);
    assert!(
        message["uri"].as_str().is_some_and(|uri| uri.ends_with("/element-type-mismatch.md")),
        "{message}"
    );
    let excerpt = &message["excerpts"][0];
    assert_eq!([&excerpt["operator"], &excerpt["name"], &excerpt["item"]], ["Add", "add", "n0"]);
    let lines = excerpt["lines"].as_array().expect("the excerpt has lines");
    let printed: Vec<String> = lines.iter().map(|line| texts(&line["parts"], "text").concat()).collect();
    assert_eq!(printed, ["y = Add(", "query,", "mask)"]);
    assert_eq!(texts(&excerpt["lines"], "type"), ["", "float[N]", "int64[N]"]);
    assert_eq!([&lines[1]["item"], &lines[2]["item"]], ["v0", "v1"]);
    let label = &lines[2]["parts"][0];
    assert!(label["label"].as_str().is_some_and(|text| text.starts_with("int64")), "{label}");
    assert!(texts(&message["names"], "name").contains(&"mask"), "{message}");
    // All other items have no message.
    assert_eq!(ask(&mut engine, json!({"ask": "details", "item": "n0"}))["message"], Value::Null);
}

#[test]
fn a_picture_names_the_item_and_path_of_each_box() {
    let mut engine = engine(BRANCH);
    let picture = ask(&mut engine, json!({"ask": "draw", "expanded": [], "selected": "n1"}));
    let svg = picture["svg"].as_str().expect("the picture has a text");
    assert_eq!(svg_problem(svg), None);
    let places = texts(&picture["boxes"], "place");
    assert_eq!(places.len(), 3 + 2 + 1);
    for place in &places {
        assert_eq!(svg.matches(&format!("data-place=\"{place}\"")).count(), 1, "{place}");
    }
    assert!(svg.contains("aria-expanded=\"false\"") && !svg.contains("<style"));
    assert_eq!(svg.matches("tabindex=\"0\"").count(), 1);
    assert!(svg.contains("class=\"node selected\" data-item=\"n1\" data-place=\"n1\" tabindex=\"0\""));
}

#[test]
fn the_path_of_a_node_expands_its_graphs_and_that_of_a_graph_one() {
    let mut engine = engine(BRANCH);
    let both = ask(&mut engine, json!({"ask": "draw", "expanded": ["n1"]}));
    let paths: Vec<String> = serde_json::from_value(both["expanded"].clone()).expect("a list");
    assert_eq!(paths, ["n1/g1", "n1/g2"]);
    let one = ask(&mut engine, json!({"ask": "draw", "expanded": ["n1/g2"]}));
    assert_eq!(one["expanded"], json!(["n1/g2"]));
    assert!(texts(&one["boxes"], "place").contains(&"n1/g2/n3"));
    // Without the groups around it, a path has no effect.
    let none = ask(&mut engine, json!({"ask": "draw", "expanded": ["n0/g2", "g2", "", "n1/g9", "x"]}));
    assert_eq!(none["expanded"], json!([]));
}

#[test]
fn a_function_is_expanded_in_one_of_its_calls() {
    let mut engine = engine(TWICE);
    let second = ask(&mut engine, json!({"ask": "draw", "expanded": ["n1/g1"]}));
    assert_eq!(second["expanded"], json!(["n1/g1"]));
    let reveal = ask(&mut engine, json!({"ask": "reveal", "item": "n2", "expanded": []}));
    assert_eq!(reveal, json!({"expanded": ["n0/g1"], "shown": "n2", "place": "n0/g1/n2"}));
}

#[test]
fn details_describe_nodes_values_groups_and_diagnostics() {
    let mut engine = engine("g (float[N] query, int64[N] mask) => (y) { [\"add\"] y = Add(query, mask) }");
    let node = ask(&mut engine, json!({"ask": "details", "item": "n0"}));
    assert_eq!([&node["operator"], &node["title"], &node["link"]], ["Add", "add", "node/add"]);
    assert_eq!(texts(&node["sections"], "title"), ["Diagnostics", "Node", "Inputs", "Outputs"]);
    assert_eq!(texts(&node["sections"][2]["rows"], "text"), ["query", "mask"]);
    assert_eq!(texts(&node["sections"][2]["rows"], "type"), ["float[N]", "int64[N]"]);
    let text = node["text"].as_str().unwrap_or_default();
    assert!(text.starts_with("Add add\n") && text.contains("  0: query: float[N]\n"), "{text}");
    assert_eq!(node["sections"][0]["rows"][0]["severity"], "error");
    let value = ask(&mut engine, json!({"ask": "details", "item": "v1"}));
    assert_eq!((&value["kind"], &value["title"]), (&json!("value"), &json!("mask")));
    let text = value["text"].as_str().unwrap_or_default();
    assert!(text.contains("type: int64[N]") && text.contains("Read by\n  Add add"), "{text}");
    let mark = ask(&mut engine, json!({"ask": "details", "item": "d0"}));
    assert_eq!(mark["link"], "diagnostic/element-type-mismatch");
    let group = ask(&mut engine, json!({"ask": "details", "item": "g0"}));
    assert_eq!(group["title"], "graph");
}

#[test]
fn links_find_their_items() {
    let mut engine = engine(
        "g (float[N] x) => (y) { [\"a/b\"] h = Relu(x)  [\"a/c\"] i = Relu(h)  [\"d\"] j = Relu(i)  [\"d\"] y = Relu(j) }",
    );
    for (link, item) in [
        ("node/a/b", "n0"),
        ("node/d", "n2"),
        ("node~2/d", "n3"),
        ("value/h", "v1"),
        ("group/a", "g1"),
        ("n3", "n3"),
    ] {
        assert_eq!(ask(&mut engine, json!({"ask": "find", "link": link}))["item"], item, "{link}");
        let details = ask(&mut engine, json!({"ask": "details", "item": item}));
        assert!(link == item || details["link"] == link, "{details}");
    }
    for link in
        ["node/x", "node~3/d", "node~0/d", "node~x/d", "group/", "code/2", "code/0", "n9", "q", "", "/"]
    {
        assert_eq!(ask(&mut engine, json!({"ask": "find", "link": link}))["item"], Value::Null, "{link}");
    }
}

#[test]
fn neighbours_continue_outside_of_an_expanded_group() {
    let mut engine = engine(BRANCH);
    let expanded = json!(["n1/g1"]);
    let add = json!({"ask": "neighbours", "item": "n2", "place": "n1/g1/n2", "expanded": expanded});
    let add = ask(&mut engine, add);
    let ports = texts(&add["inputs"], "place");
    assert_eq!(ports, ["n1/g1/in-v4", "n1/g1/in-v2"]);
    let port = json!({"ask": "neighbours", "item": "v4", "place": ports[0], "expanded": expanded});
    let port = ask(&mut engine, port);
    assert_eq!(texts(&port["inputs"], "place"), ["n0"]);
    assert_eq!(texts(&port["outputs"], "place"), ["n1/g1/n2"]);
}

#[test]
fn malformed_requests_have_an_answer() {
    let mut engine = engine(BRANCH);
    let long = format!("{{\"ask\": \"find\", \"link\": \"{}\"}}", "x".repeat(crate::engine::MAX_REQUEST));
    let deep = "[".repeat(100_000);
    for request in [
        "",
        "{}",
        "null",
        "{\"ask\": \"unknown\"}",
        "{\"ask\": \"details\"}",
        "{\"ask\": \"details\", \"item\": 3}",
        "{\"ask\": \"details\", \"item\": \"n99\"}",
        "{\"ask\": \"details\", \"item\": \"n-1\"}",
        "{\"ask\": \"details\", \"item\": \"n+1\"}",
        "{\"ask\": \"details\", \"item\": \"n99999999999999999999999\"}",
        "{\"ask\": \"details\", \"item\": \"\u{e9}1\"}",
        "{\"ask\": \"causes\", \"item\": \"n1\"}",
        "{\"ask\": \"draw\", \"unknown\": 1}",
        "{\"ask\": \"summary\", \"item\": 1}",
        "{\"ask\": \"draw\", \"expanded\": [1]}",
        &long,
        &deep,
    ] {
        let answer: Value = serde_json::from_str(&engine.answer(request)).expect("the answer is JSON");
        let error = answer["error"].as_str().unwrap_or_default();
        assert!(!error.is_empty() && error.len() < 1000, "{answer}");
    }
}

#[test]
fn a_picture_does_not_depend_on_earlier_ones() {
    let requests = [
        json!({"ask": "draw"}),
        json!({"ask": "draw", "expanded": []}),
        json!({"ask": "draw", "expanded": ["n1"]}),
        json!({"ask": "draw", "expanded": ["n1/g2"], "selected": "n3"}),
        json!({"ask": "draw", "expanded": ["n1"], "highlight": ["v4", "n2"]}),
        json!({"ask": "draw", "expanded": ["n1"], "max_items": 7}),
        json!({"ask": "export", "expanded": ["n1"]}),
        json!({"ask": "draw", "expanded": []}),
        json!({"ask": "draw"}),
    ];
    let mut used = engine(BRANCH);
    for request in requests {
        let fresh = ask(&mut engine(BRANCH), request.clone());
        assert_eq!(ask(&mut used, request.clone()), fresh, "{request}");
    }
}

#[test]
fn groups_beyond_the_maximum_number_of_items_are_refused() {
    let picture = ask(&mut engine(BRANCH), json!({"ask": "draw", "expanded": ["n1"], "max_items": 9}));
    assert_eq!((&picture["expanded"], picture["boxes"].as_array().map(Vec::len)), (&json!([]), Some(6)));
    let notes = [
        "2 of 4 nodes are in groups that are not expanded",
        "2 groups not expanded, because the picture is large",
    ];
    assert_eq!(
        [&picture["drawn"], &picture["nodes"], &picture["notes"]],
        [&json!(2), &json!(4), &json!(notes)]
    );
    let both = ask(&mut engine(BRANCH), json!({"ask": "draw", "expanded": ["n1"], "max_items": 13}));
    assert_eq!(both["boxes"].as_array().map(Vec::len), Some(13));
}

#[test]
fn highlighted_items_inside_of_a_closed_group_mark_its_box() {
    let mut engine = engine(BRANCH);
    let closed = ask(&mut engine, json!({"ask": "draw", "expanded": [], "highlight": ["n2", "v4"]}));
    let svg = closed["svg"].as_str().unwrap_or_default();
    assert!(svg.contains("class=\"node around\" data-item=\"n1\""), "{svg}");
    assert!(svg.contains("class=\"wire highlighted\" data-item=\"v4\""), "{svg}");
    let open = ask(&mut engine, json!({"ask": "draw", "expanded": ["n1"], "highlight": ["n2"]}));
    let svg = open["svg"].as_str().unwrap_or_default();
    assert!(svg.contains("class=\"node highlighted\" data-item=\"n2\"") && !svg.contains("around"), "{svg}");
}

#[test]
fn a_scene_without_groups_has_an_empty_graph() {
    let mut engine = Engine::of(crate::scene::Scene::default());
    assert_eq!(ask(&mut engine, json!({"ask": "summary"}))["nodes"], 0);
    assert_eq!(ask(&mut engine, json!({"ask": "draw"}))["boxes"], json!([]));
}

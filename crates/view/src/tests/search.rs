//! Searches.

use serde_json::json;
use typeloom_testing::number;

use crate::engine::Engine;
use crate::testing::{ask, exporter_like, scene_of_text};

fn engine() -> Engine {
    Engine::of(scene_of_text(
        "g (float[N, 3] x, float16[N, seq, 8] big, int64[N, 3] mask) => (y, z) <float[1] s = {2}> {
           [\"/block/up/Mul\"] h = Mul(x, s)
           [\"/block/up/Relu\"] i = Relu(h)
           [\"add\"] y = Add(i, mask)
           [\"cast\"] z = Cast <to = 1> (big)
         }",
    ))
}

fn found(engine: &mut Engine, query: &str) -> Vec<String> {
    let answer = ask(engine, json!({"ask": "search", "query": query}));
    assert_eq!(answer["error"], "", "{query}");
    let results = answer["results"].as_array().into_iter().flatten();
    results.filter_map(|hit| hit["item"].as_str().map(str::to_owned)).collect()
}

#[test]
fn queries_find_items_by_name_operator_type_and_code() {
    let mut engine = engine();
    for (query, items) in [
        ("block", &["n0", "n1", "g1"][..]),
        ("RELU", &["n1"]),
        ("op:mul", &["n0", "v4"]),
        ("op:Mu type:float", &["n0", "v4"]),
        ("float16", &["v1"]),
        ("[*, seq, *]", &["v1", "v7"]),
        ("float16[*, seq, 8]", &["v1"]),
        ("type:[N, ~seq, ...]", &["v1", "v7"]),
        ("is:input name:mask", &["v2"]),
        ("is:stored", &["v3"]),
        ("has:error", &["n2", "v2", "d0"]),
        ("code:element-type", &["n2", "v2", "d0"]),
        ("element-type", &["d0"]),
        ("is:group up", &["g1"]),
        ("\"one element type\"", &["d0"]),
        ("is:incomplete", &["v6"]),
        ("missing", &[]),
        ("", &[]),
    ] {
        assert_eq!(found(&mut engine, query), items, "{query}");
    }
}

#[test]
fn an_exact_name_is_the_first_result() {
    let mut engine = engine();
    assert_eq!(found(&mut engine, "add")[0], "n2");
    assert_eq!(found(&mut engine, "i")[0], "v5");
}

#[test]
fn malformed_queries_have_an_error() {
    let mut engine = engine();
    for query in ["float[1", "has:x", "[..., ...]", &"a ".repeat(40), &"a".repeat(5000)] {
        let answer = ask(&mut engine, json!({"ask": "search", "query": query}));
        assert!(!answer["error"].as_str().unwrap_or_default().is_empty() && answer["total"] == 0, "{query}");
    }
}

/// The number of compared items and bytes is at most a small multiple of the items and their names.
#[test]
fn a_search_is_linear() {
    let engine = Engine::of(exporter_like(number(10_000, 100_000)));
    let scene = engine.scene();
    let names = scene.nodes.iter().map(|it| it.name.len()).chain(scene.values.iter().map(|it| it.name.len()));
    let labels = scene.groups.iter().map(|it| it.label.len());
    let size: usize = names.chain(labels).map(|length| length + 1).sum();
    for query in
        ["a", "layers.77 q_proj", "op:MatMul type:float[..., 2] has:error", "[*, 2]", "is:node is:value x"]
    {
        let (results, work) = engine.search_counted(query, Some(20));
        let terms = query.split(' ').count();
        assert!(results.results.len() <= 20 && results.total >= results.results.len());
        assert!(work <= terms * size + 10_000, "{query}: {work} of {size}");
    }
    // 77, 770 to 779 and, of all cases, 7700 to 7799.
    assert_eq!(engine.search_counted("layers.77 is:group", None).0.total, number(11, 111));
}

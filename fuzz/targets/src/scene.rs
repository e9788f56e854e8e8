//! Encoded scenes and the engine of pages.

use typeloom_solver::model::Options;
use typeloom_view::engine::Engine;
use typeloom_view::scene::{Scene, scene as scene_of};
use typeloom_view::wire;

/// Requests for every kind of answer, for the items of small scenes.
const REQUESTS: [&str; 14] = [
    r#"{"ask":"summary"}"#,
    r#"{"ask":"draw","selected":"n0","highlight":["v0","g1","d0"]}"#,
    r#"{"ask":"draw","expanded":["g1","n0","g1/n1","n1/g2","g1/g2/g3"]}"#,
    r#"{"ask":"export"}"#,
    r#"{"ask":"details","item":"n0"}"#,
    r#"{"ask":"details","item":"v1"}"#,
    r#"{"ask":"details","item":"g1"}"#,
    r#"{"ask":"details","item":"d0"}"#,
    r#"{"ask":"causes","item":"v1"}"#,
    r#"{"ask":"reveal","item":"n2"}"#,
    r#"{"ask":"reveal","item":"v2","expanded":["g1"]}"#,
    r#"{"ask":"search","query":"float[*, N] a"}"#,
    r#"{"ask":"find","link":"group/a/b"}"#,
    r#"{"ask":"neighbours","item":"n1"}"#,
];

/// Decodes the bytes as a scene, checks them as a model, and answers requests about both; also sends them as
/// a request.
///
/// # Panics
/// If a scene is not decoded as it was encoded.
pub fn scene(bytes: &[u8]) {
    if let Ok(decoded) = wire::decode(bytes) {
        let again = wire::decode(&wire::encode(&decoded));
        assert!(again.as_ref() == Ok(&decoded), "a scene is decoded as it was encoded");
        answer(decoded, "");
    }
    let options = Options { functions: true, trace: true, ..Options::default() };
    let Ok(mut checked) = typeloom_ops::check::check(bytes, &options) else {
        answer(Scene::default(), std::str::from_utf8(bytes).unwrap_or_default());
        return;
    };
    let diagnostics = checked.diagnostics();
    let made = scene_of(&mut checked, &diagnostics);
    assert!(wire::decode(&wire::encode(&made)).as_ref() == Ok(&made), "a scene is decoded as it was encoded");
    answer(made, "");
}

fn answer(scene: Scene, request: &str) {
    let mut engine = Engine::of(scene);
    for request in REQUESTS.iter().chain([&request]) {
        let _ = engine.answer(request);
    }
}

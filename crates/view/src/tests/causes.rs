//! The causes of types in scenes, compared with the explanations of the solver.

use serde_json::{Value, json};
use typeloom_solver::diagnostic::text::quote;
use typeloom_solver::diagnostic::{Explanation, explain_value};
use typeloom_solver::model::Options;
use typeloom_testing::number;

use crate::engine::Engine;
use crate::scene::{Cause, Maker, Scene};
use crate::testing::{ask, own_models};
use crate::wire;

fn texts(list: &Value, key: &str) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(|it| it[key].as_str().map(str::to_owned)).collect()
}

/// A sentence of an explanation in the form of a scene, in which a `Constant` is no node.
fn adapted(sentence: &str, scene: &Scene) -> String {
    let is_constant = |name: &str| {
        let mut named = scene.values.iter().filter(|value| quote(&value.name) == name);
        named.next().is_some_and(|value| value.maker == Maker::Stored)
    };
    let is_declared = |name: &str| {
        let mut named = scene.values.iter().filter(|value| quote(&value.name) == name);
        named.any(|value| {
            !matches!(value.cause, None | Some(Cause::Stored | Cause::Input | Cause::Rule { .. }))
        })
    };
    if let Some((before, name)) = sentence.split_once(", from initializer ")
        && let Some((name, way)) = name.split_once(" through ")
        && is_declared(name)
    {
        return format!("{before}, from stored tensor {name} through {way}");
    }
    if let Some((before, _)) = sentence.split_once(", made by ") {
        let (name, _) = before.split_once(" is ").unwrap_or((before, ""));
        if is_constant(name) {
            return format!("{before}, stored in the file");
        }
        if let Some((axis, name)) = before.split_once(", from ")
            && is_constant(name)
        {
            let way = sentence.split_once(" through ").map_or("", |(_, way)| way);
            let noun = if is_declared(name) { "stored tensor" } else { "constant" };
            return format!("{axis}, from {noun} {name} through {way}");
        }
    }
    sentence.to_owned()
}

/// The differences of the chain and the extents of a value.
fn differences(scene: &Scene, at: usize, explanation: &Explanation, own: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let reasons = explanation.reasons.iter().map(|reason| adapted(&reason.text, scene));
    // A scene does not have the reasons for unknown extents.
    let is_shown = |text: &&String| text.starts_with("axis") && !text.contains(" is not known: ");
    let axes = explanation.extents.iter().filter(is_shown);
    let axes = axes.map(|text| adapted(text, scene));
    let mut lists = vec![(reasons.collect::<Vec<_>>(), texts(&own["steps"], "text"))];
    // A scene does not have the shape of a value in error.
    let has_shapes = scene.types.iter().all(|ty| ty.texts != ["error"]);
    if scene.values[at].maker != Maker::Stored && has_shapes {
        lists.push((axes.collect(), texts(&own["axes"], "text")));
    }
    for (expected, own) in lists {
        if expected != own {
            found.push(format!("{}: {expected:#?} {own:#?}", explanation.value));
        }
    }
    found
}

#[test]
fn chains_of_causes_are_those_of_explanations() {
    let (mut links, mut extents, mut wrong) = (0, 0, Vec::new());
    for (model, path) in own_models().iter().enumerate() {
        let bytes = std::fs::read(path).expect("the model can be read");
        let options = Options { trace: true, functions: true, ..Options::default() };
        let Ok(mut checked) = typeloom_ops::check::check(&bytes, &options) else { continue };
        let diagnostics = checked.diagnostics();
        let scene = crate::scene::scene(&mut checked, &diagnostics);
        let scene = wire::decode(&wire::encode(&scene)).expect("the scene is decoded");
        let mut engine = Engine::of(scene.clone());
        let values = scene.values.iter().enumerate().filter(|(_, value)| value.graph == scene.main());
        // Other positions in each model.
        let (first, step) = (number(model % 6, 0), number(6, 1));
        for (at, value) in values.skip(first).step_by(step) {
            let Some(explanation) = explain_value(&mut checked, &value.name) else { continue };
            let own = ask(&mut engine, json!({"ask": "causes", "item": format!("v{at}")}));
            links += explanation.reasons.len();
            extents += explanation.extents.len();
            let found = differences(&scene, at, &explanation, &own);
            wrong.extend(found.into_iter().map(|text| format!("{}: {text}", path.display())));
        }
    }
    let least = number(20, 500);
    assert!(links > least && extents > least, "only {links} links and {extents} extents");
    let shown = wrong[..wrong.len().min(12)].join("\n");
    assert!(wrong.is_empty(), "{} of {} differ: {shown}", wrong.len(), links + extents);
}

/// The sentences about the extents of a value, of the solver and of a scene.
fn sentences(graph: &str, value: &str) -> [Vec<String>; 2] {
    let text = format!("<ir_version: 10, opset_import: [\"\" : 21]>\n{graph}");
    let bytes = typeloom_onnx::text::model_bytes(&text).expect("the text is a model");
    let options = Options { trace: true, ..Options::default() };
    let mut checked = typeloom_ops::check::check(&bytes, &options).expect("the model can be checked");
    let scene = crate::scene::scene(&mut checked, &[]);
    let at = scene.values.iter().position(|it| it.name == value).expect("the value exists");
    let own = ask(&mut Engine::of(scene), json!({"ask": "causes", "item": format!("v{at}")}));
    let explanation = explain_value(&mut checked, value).expect("the value exists");
    [explanation.extents, texts(&own["axes"], "text")]
}

#[test]
fn elements_of_floats_are_no_extents() {
    let [expected, own] = sentences(
        "g (float[1, N] x) => (y) { k = Constant <value_float = 1.0> ()  t = Relu (x)  y = Mul (t, k) }",
        "y",
    );
    assert_eq!(own, expected);
    assert!(own[0].starts_with("axis 0 is 1, from graph input `x` through "), "{own:?}");
}

#[test]
fn elements_are_compared_in_full() {
    let symbols = ["a", "b", "c"].map(|symbol| symbol.repeat(30)).join(", ");
    let graph = format!("g (float[{symbols}] x) => (y) {{ s = Shape (x)  y = ConstantOfShape (s) }}");
    let [expected, own] = sentences(&graph, "y");
    assert_eq!(own, expected);
    assert!(own.iter().all(|text| text.contains(", from graph input `x` through ")), "{own:?}");
}

//! Checks for types only: the types are those of a full check without cases, and without a proof no type
//! counts as proved.

use typeloom_onnx::messages::{ModelProto, read};
use typeloom_ops::catalogue::Standard;
use typeloom_rewrite::reference::{self, InferenceOptions};
use typeloom_solver::model::{Checked, Detail, Mode, Options, check};
use typeloom_solver::program::ValueId;
use typeloom_solver::solution::Type;

use crate::support::{graph, model, model_files, universe};

fn options(detail: Detail) -> Options {
    Options { mode: Mode::Permissive, detail, ..Options::default() }
}

/// Whether a value belongs to a graph that FlexAttention applies to its scores.
fn is_in_modifier(checked: &Checked<'_>, value: ValueId) -> bool {
    let body = checked.body();
    let mut graph = body.value(value).graph;
    while let Some(owner) = &body.graph(graph).owner {
        if body.op_name(owner.step) == "FlexAttention" {
            return true;
        }
        graph = body.step(owner.step).graph;
    }
    false
}

/// The types of all values as text, without those in graphs that only a full check types.
fn types(checked: &mut Checked<'_>) -> Vec<String> {
    let values: Vec<ValueId> =
        checked.body().values().filter(|value| !is_in_modifier(checked, *value)).collect();
    let mut shown = Vec::with_capacity(values.len());
    for value in values {
        let ty = checked.display_type(value);
        shown.push(format!("{}: {ty}", checked.body().value_name(value)));
    }
    shown
}

#[test]
fn types_are_those_of_a_full_check() {
    let mut compared = 0;
    for path in model_files() {
        let bytes = std::fs::read(&path).expect("the file can be read");
        let [full, only] = [Detail::Full, Detail::Types]
            .map(|detail| check(&bytes, &Standard, universe(), &options(detail)));
        let (Ok(mut full), Ok(mut only)) = (full, only) else { continue };
        // The recovery from an error depends on its causes.
        if !full.is_ok() {
            continue;
        }
        let expected = types(&mut full);
        // The outputs of branches are not solved for each case.
        if expected.iter().any(|ty| ty.contains('|')) {
            continue;
        }
        assert_eq!(types(&mut only), expected, "{}", path.display());
        compared += 1;
    }
    assert!(compared > 0);
}

#[test]
fn outputs_of_branches_are_joined() {
    let bytes = graph(
        "g (bool c, float[2] x, float[3] w) => (y) {
            y = If(c) <then_branch = a () => (p) { p = Relu(x) }, else_branch = b () => (q) { q = Relu(w) }>
        }",
    );
    let found = [Detail::Full, Detail::Types].map(|detail| {
        let mut checked = check(&bytes, &Standard, universe(), &options(detail)).expect("a model");
        types(&mut checked).into_iter().find(|ty| ty.starts_with("y: ")).expect("a value")
    });
    assert_eq!(found, ["y: float[2|3]", "y: float[?]"]);
}

#[test]
fn a_graph_that_decides_no_type_of_its_node_is_not_typed_and_not_written() {
    let bytes = model(
        r#"<ir_version: 13, opset_import: ["" : 26, "ai.onnx.preview" : 1]>
        g (float[1, 2, 4, 8] q, float[1, 2, 4, 8] k, float[1, 2, 4, 8] v) => (y) {
            y = ai.onnx.preview.FlexAttention (q, k, v) <score_mod = m (s) => (t) { r = Relu (s) t = Neg (r) }>
        }"#,
    );
    for (detail, inner) in [(Detail::Full, "float[1, 2, 4, 4]"), (Detail::Types, "?")] {
        let mut checked = check(&bytes, &Standard, universe(), &options(detail)).expect("a model");
        let [y, r] = ["y", "r"].map(|name| {
            let mut values = checked.body().values();
            let value = values.find(|value| checked.body().value_name(*value) == name).expect("a value");
            drop(values);
            checked.display_type(value)
        });
        assert_eq!([y.as_str(), r.as_str()], ["float[1, 2, 4, 8]", inner], "{detail:?}");
        let inferred = reference::infer(&mut checked, InferenceOptions::default()).expect("a model");
        let written = read::<ModelProto>(inferred.file.to_vec().into()).expect("a model");
        let graph = written.graph.expect("a graph");
        let modifier = graph.node[0].attribute[0].g.as_ref().expect("a graph");
        assert_eq!(modifier.value_info, [], "{detail:?}");
        assert_eq!(modifier.input[0].r#type, None, "{detail:?}");
    }
}

#[test]
fn a_type_that_needs_an_assumption_is_not_proved() {
    let bytes = graph("g (float[N] x, int64[M] s) => (float[2] z) { y = Reshape(x, s) z = Relu(y) }");
    let mut only = check(&bytes, &Standard, universe(), &options(Detail::Types)).expect("a model");
    let z = only.body().values().last().expect("a value");
    assert!(matches!(only.type_of(z), Type::Tensor(_)));
    assert_eq!(only.proven_type_of(z), Type::Unknown(None));
}

#[test]
fn nodes_in_error_are_found_without_causes() {
    let bytes = graph("g (float[2] x, float[3] w) => (y) { y = Add(x, w) }");
    for detail in [Detail::Full, Detail::Types] {
        let checked = check(&bytes, &Standard, universe(), &options(detail)).expect("a model");
        assert_eq!(checked.all_errors().count(), 1, "{detail:?}");
    }
}

#[test]
fn a_condition_on_symbols_is_not_decided() {
    let bytes = graph("g (float[N] x, float[N + 1] w) => (y) { y = Add(x, w) }");
    let found = [Detail::Full, Detail::Types]
        .map(|detail| check(&bytes, &Standard, universe(), &options(detail)).expect("a model").is_ok());
    assert_eq!(found, [false, true]);
}

#[test]
fn errors_that_change_no_type_are_left_out() {
    let bytes = graph("g (float[4294967296, 4294967296] x) => (y) { y = Relu(x) }");
    let [full, only] = [Detail::Full, Detail::Types]
        .map(|detail| check(&bytes, &Standard, universe(), &options(detail)).expect("a model"));
    assert_eq!([full.is_ok(), only.is_ok()], [false, true]);
}

//! Causes in diagnostics: the origins of extents, and errors attributed to seeds.

use typeloom_solver::diagnostic::{Code, Diagnostic, diagnose};
use typeloom_solver::model::{Options, Seed};

fn found(graph: &str, seeds: &[(&str, &str)]) -> Vec<Diagnostic> {
    let text = format!("<ir_version: 10, opset_import: [\"\" : 21]>\n{graph}");
    let bytes = typeloom_onnx::text::model_bytes(&text).expect("the text is a model");
    let seeds =
        seeds.iter().map(|(name, ty)| ((*name).to_owned(), Seed::parse(ty).expect("a type"))).collect();
    let options = Options { seeds, ..Options::default() };
    let mut checked = typeloom_ops::check::check(&bytes, &options).expect("the model can be read");
    diagnose(&mut checked)
}

/// The labels of the only diagnostic.
fn labels(graph: &str) -> Vec<String> {
    let found = found(graph, &[]);
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].snippets[0].labels.iter().map(|label| label.text.clone()).collect()
}

#[test]
fn dims_that_differ_are_traced_to_their_origin() {
    let graph = "g (float[2, 3] x, float[4, 5] w) => (y) {
        h = Relu(x)  k = Abs(h)  t = Transpose(w)  y = MatMul(k, t)
    }";
    assert_eq!(
        labels(graph),
        [
            "float[2, 3], its 3 from graph input `x` through `Relu` (#0) and `Abs` (#1)",
            "float[5, 4], its 5 from graph input `w` through `Transpose` (#2)"
        ]
    );
}

#[test]
fn an_extent_is_followed_through_the_computation_of_a_shape() {
    let graph = "g (float[N, 4] x, float[N + 1, 4] w) => (y) <int64[1] zero = {0}, int64[1] one = {1}, int64[2] rest = {2, 2}> {
        s = Shape(x)  n = Slice(s, zero, one)  t = Concat <axis = 0> (n, rest)
        r = Reshape(x, t)  f = Flatten(r)  y = Concat <axis = 1> (f, w)
    }";
    assert_eq!(
        labels(graph),
        [
            "float[N, 4], its N from graph input `x` through `Reshape` (#3) and `Flatten` (#4)",
            "float[N + 1, 4], from graph input `w`"
        ]
    );
}

#[test]
fn a_number_that_two_inputs_have_is_not_traced_to_either() {
    let graph = "g (float[3, 3] x, float[3, 3] w, float[4] b) => (y) { p = MatMul(x, w)  y = Add(p, b) }";
    assert_eq!(labels(graph)[0], "float[3, 3], made by `MatMul` (#0)");
}

#[test]
fn a_shape_that_contradicts_a_rule_is_shown_above_the_requirement_of_the_rule() {
    let training = "<ir_version: 11, opset_import: [\"\": 23, \"ai.onnx.preview.training\": 1]>
        g (float r, int64 t, float[4, 5] x, float[4, 6] dx, float[4, 5] h) => (y, k) {
            y, k = \"ai.onnx.preview.training\".Adagrad(r, t, x, dx, h)
        }";
    let bytes = typeloom_onnx::text::model_bytes(training).expect("the text is a model");
    let mut checked = typeloom_ops::check::check(&bytes, &Options::default()).expect("the model can be read");
    let found = diagnose(&mut checked);
    assert_eq!(found[0].notes[0], "known   [4, 6]\nneeded  [4, 5]\n            ^");
}

#[test]
fn a_seed_that_contradicts_a_node_is_one_error_and_the_rest_is_checked_without_it() {
    let graph = "g (float[2, 3] x) => (float[2, 3] y) { h = Relu(x)  k = Abs(h)  y = Neg(k) }";
    for seed in [
        ("h", "float[5, 3]"),
        ("h", "int64[2, 3]"),
        ("k", "float[2]"),
        ("y", "double[2, 3]"),
        ("y", "float[2, 2]"),
    ] {
        let found = found(graph, &[seed]);
        assert_eq!(found.len(), 1, "{seed:?}: {found:?}");
        assert_eq!(found[0].code, Code::SeedContradiction);
        assert!(found[0].message.contains(&format!("`{}` is {}", seed.0, seed.1)), "{}", found[0].message);
    }
    assert!(found(graph, &[("h", "float[N, 3]"), ("k", "float[2, M]")]).is_empty());
    let two = found(graph, &[("h", "float[7, 3]"), ("y", "float[2, 2]"), ("k", "float[2, 3]")]);
    assert_eq!(two.len(), 2, "{two:?}");
}

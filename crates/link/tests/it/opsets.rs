//! Versions of operator sets.

use typeloom_link::LinkError;

use crate::support::{join, joined, mapped, model};

fn at(version: i64, graph: &str) -> bytes::Bytes {
    model(&format!("<ir_version: 8, opset_import: [\"\" : {version}]>\n{graph}"))
}

const RELU: &str = "a (float[N] x) => (float[N] y) { y = Relu(x) }";
const SOFTMAX: &str = "b (float[K] x) => (float[K] z) { z = Softmax(x) }";

fn version(first: &bytes::Bytes, second: &bytes::Bytes) -> i64 {
    joined(first, second, &mapped("y=x")).1.opset_import[0].version.unwrap()
}

#[test]
fn the_newest_version_that_suits_both_models_is_used() {
    // `Relu` has not changed since 14, `Softmax` since 13.
    assert_eq!(version(&at(14, RELU), &at(18, SOFTMAX)), 18);
    assert_eq!(version(&at(18, RELU), &at(14, SOFTMAX)), 18);
    // `Celu` has not changed between 12 and 25; `Softmax` changes in 13.
    let celu = "a (float[N] x) => (float[N] y) { y = Celu(x) }";
    assert_eq!(version(&at(18, celu), &at(12, SOFTMAX)), 12);
}

#[test]
fn changed_operators_are_a_conflict_with_both_versions() {
    let error = join(&at(18, RELU), &at(12, SOFTMAX), &mapped("y=x")).unwrap_err();
    let LinkError::Opsets(conflicts) = &error else { panic!("{error}") };
    let operators = ["Relu (since 14 and since 6)", "Softmax (since 13 and since 11)"];
    assert_eq!(conflicts[0].operators, operators);
    assert_eq!(conflicts[0].imports, [("a.onnx".to_owned(), 18), ("b.onnx".to_owned(), 12)]);
}

#[test]
fn operators_in_nested_graphs_and_functions_count() {
    let nested = "b (float[K] x, bool c) => (float[K] z) { z = If (c) < \
        then_branch = t () => (float[K] p) { p = Softmax(x) }, else_branch = e () => (float[K] q) { q = Exp(x) } > }";
    assert!(matches!(join(&at(18, RELU), &at(12, nested), &mapped("y=x")), Err(LinkError::Opsets(_))));
}

#[test]
fn versions_of_unknown_domains_must_be_equal() {
    let other = |version: i64| {
        model(&format!(
            "<ir_version: 8, opset_import: [\"\" : 18, \"com.other\" : {version}]>\n\
             b (float[K] x) => (float[K] z) {{ z = com.other.Op(x) }}"
        ))
    };
    let options =
        typeloom_link::LinkOptions { mode: typeloom_solver::model::Mode::Permissive, ..mapped("z=x") };
    assert!(matches!(join(&other(1), &other(2), &options), Err(LinkError::Opsets(_))));
    let typed = join(&other(1), &other(1), &options);
    assert!(!matches!(typed, Err(LinkError::Opsets(_))), "{typed:?}");
}

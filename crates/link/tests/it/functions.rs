//! Functions of both models.

use typeloom_link::LinkOptions;

use crate::support::{joined, mapped, model};

fn with(graph: &str, functions: &str) -> bytes::Bytes {
    model(&format!("<ir_version: 10, opset_import: [\"\" : 21, \"local\" : 1]>\n{graph}\n{functions}"))
}

const DOUBLE: &str = "<domain: \"local\", opset_import: [\"\" : 21]>\nF (x) => (y) { y = Add(x, x) }";
const TRIPLE: &str =
    "<domain: \"local\", opset_import: [\"\" : 21]>\nF (x) => (y) { t = Add(x, x) y = Add(t, x) }";
const FIRST: &str = "a (float[N] x) => (float[N] y) { y = local.F(x) }";
const SECOND: &str = "b (float[N] x) => (float[N] z) { z = local.F(x) }";

/// The names of the functions, and the operators of the nodes of the main graph.
fn linked(first: &bytes::Bytes, second: &bytes::Bytes, options: &LinkOptions) -> (Vec<String>, Vec<String>) {
    let (_, model) = joined(first, second, options);
    let functions = model.functions.iter().map(|function| function.name().to_owned()).collect();
    let nodes = model.graph.unwrap().node;
    (functions, nodes.iter().map(|node| node.op_type().to_owned()).collect())
}

#[test]
fn equal_functions_are_shared() {
    let found = linked(&with(FIRST, DOUBLE), &with(SECOND, DOUBLE), &mapped("y=x"));
    assert_eq!(found, (vec!["F".to_owned()], vec!["F".to_owned(), "F".to_owned()]));
}

#[test]
fn different_functions_of_one_name_are_kept_apart() {
    let (functions, nodes) = linked(&with(FIRST, DOUBLE), &with(SECOND, TRIPLE), &mapped("y=x"));
    assert_eq!(functions, ["F", "F_2"]);
    assert_eq!(nodes, ["F", "F_2"]);
}

#[test]
fn callers_of_different_functions_differ_too() {
    let caller =
        "<domain: \"local\", opset_import: [\"\" : 21, \"local\" : 1]>\nG (x) => (y) { y = local.F(x) }";
    let first = with("a (float[N] x) => (float[N] y) { y = local.G(x) }", &format!("{DOUBLE}\n{caller}"));
    let second = with("b (float[N] x) => (float[N] z) { z = local.G(x) }", &format!("{TRIPLE}\n{caller}"));
    let (functions, nodes) = linked(&first, &second, &mapped("y=x"));
    assert_eq!(functions, ["F", "G", "F_2", "G_2"]);
    assert_eq!(nodes, ["G", "G_2"]);
}

#[test]
fn a_function_does_not_capture_an_operator_of_the_other_model() {
    // The second model has a function with the name of an ONNX operator.
    let own = "<domain: \"\", opset_import: [\"\" : 21]>\nCelu (x) => (y) { y = Neg(x) }";
    let first =
        model("<ir_version: 10, opset_import: [\"\" : 21]>\na (float[N] x) => (float[N] y) { y = Celu(x) }");
    let second = model(&format!(
        "<ir_version: 10, opset_import: [\"\" : 21]>\nb (float[N] x) => (float[N] z) {{ z = Celu(x) }}\n{own}"
    ));
    let (functions, nodes) = linked(&first, &second, &mapped("y=x"));
    assert_eq!(
        (functions.as_slice(), nodes),
        (&["Celu_2".to_owned()][..], vec!["Celu".to_owned(), "Celu_2".to_owned()])
    );
    let (functions, nodes) = linked(&second, &first, &mapped("z=x"));
    assert_eq!(
        (functions.as_slice(), nodes),
        (&["Celu_2".to_owned()][..], vec!["Celu_2".to_owned(), "Celu".to_owned()])
    );
}

#[test]
fn functions_of_other_imports_are_kept_apart() {
    let older = DOUBLE.replace(": 21", ": 20");
    let (functions, _) = linked(&with(FIRST, DOUBLE), &with(SECOND, &older), &mapped("y=x"));
    assert_eq!(functions, ["F", "F_2"]);
}

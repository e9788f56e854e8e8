//! Promises about the type tree, storage, relations, the solver and the operators of modules.
//!
//! | file | promises |
//! |---|---|
//! | `tree` | nodes, lattices, Rust types that store tensors |
//! | `relations` | declared operators and their relations, checked in whole models |
//! | `solver` | the solver of graph messages |
//! | `checked` | unknown types, shapes, attributes, declarations, diagnostics |
//! | `modules` | relations, custom leaves and side effects in compiled modules |

mod checked;
mod modules;
mod relations;
mod solver;
mod tree;

use typeloom::check::{Checked, Operators, Options, check_with};
use typeloom::onnx::{GraphProto, NodeProto, model_from_text};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A node of a graph message.
fn node(op_type: &str, input: &[&str], output: &[&str]) -> NodeProto {
    NodeProto {
        op_type: op_type.into(),
        input: input.iter().map(|name| (*name).to_owned()).collect(),
        output: output.iter().map(|name| (*name).to_owned()).collect(),
        ..Default::default()
    }
}

fn graph(nodes: Vec<NodeProto>) -> GraphProto {
    GraphProto { node: nodes, ..Default::default() }
}

/// A model of a graph in ONNX's syntax.
fn model(graph: &str) -> Vec<u8> {
    let header =
        r#"<ir_version: 10, opset_import: ["" : 21, "org.example.audit" : 1, "com.example.audit" : 1]>"#;
    model_from_text(&format!("{header} {graph}")).unwrap_or_else(|error| panic!("{graph}: {error}"))
}

/// Checks a graph with operators and passes the result on.
fn checked<T>(operators: &Operators, text: &str, look: impl FnOnce(&mut Checked<'_>) -> T) -> T {
    let bytes = model(text);
    let mut checked = check_with(&bytes, &Options::default(), operators).expect("the bytes are a model");
    look(&mut checked)
}

/// The texts of the diagnostics of a graph.
fn problems(operators: &Operators, text: &str) -> Vec<String> {
    checked(operators, text, |checked| checked.diagnostics().iter().map(ToString::to_string).collect())
}

/// The type of a value as text, in both forms: these are equal.
fn type_of(operators: &Operators, text: &str, value: &str) -> String {
    checked(operators, text, |checked| {
        let value = checked.value(value).expect("the graph has the value");
        let text = value.to_string();
        let text = text.split_once(": ").expect("a name and a type").1.to_owned();
        assert_eq!(text, value.ty().to_string());
        text
    })
}

//! Test support for rules: models in ONNX's textual syntax, and their inferred types and errors.

use std::collections::BTreeMap;
use std::sync::Arc;

use prost::Message;
use typeloom_dim::Condition;
use typeloom_solver::model::{Mode, Options, check};
use typeloom_solver::program::ValueId;
use typeloom_solver::rule::{Extent, Port, RuleError};
use typeloom_solver::solution::Equation;
use typeloom_solver::solve_error::SolveErrorKind;
use typeloom_solver::universe::Universe;

use crate::catalogue::Standard;

/// The bytes of `<ir_version: 10, opset_import: ["": opset]> graph`.
fn model(opset: u32, graph: &str) -> Vec<u8> {
    let text = format!("<ir_version: 10, opset_import: [\"\": {opset}]> {graph}");
    let model = typeloom_onnx::text::parse_model(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    model.encode_to_vec()
}

fn universe() -> Arc<Universe> {
    Universe::standard().clone()
}

/// The inferred type of every value of a valid graph (`g (float[N, 2] x) => (y) { y = Relu(x) }`) as text, by
/// name.
///
/// Panics if the graph is invalid.
pub(super) fn infer(opset: u32, graph: &str) -> BTreeMap<String, String> {
    let bytes = model(opset, graph);
    let options = Options { mode: Mode::Permissive, ..Options::default() };
    let mut checked = check(&bytes, &Standard, &universe(), &options).unwrap();
    assert!(checked.is_ok(), "{graph}: {:?}", checked.errors());
    let values: Vec<ValueId> = checked.body().values().collect();
    let mut types = BTreeMap::new();
    for value in values {
        let name = checked.body().value_name(value).to_owned();
        types.insert(name, checked.display_type(value));
    }
    types
}

/// The inferred type of the value `y` of a graph.
pub(super) fn infer_y(opset: u32, graph: &str) -> String {
    infer(opset, graph).remove("y").unwrap()
}

/// The inferred types of the outputs of an invalid model with its own imports.
///
/// Panics if the model is valid.
pub(super) fn outputs_despite_errors(text: &str) -> Vec<String> {
    let model = typeloom_onnx::text::parse_model(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let bytes = model.encode_to_vec();
    let mut checked = check(&bytes, &Standard, &universe(), &Options::default()).unwrap();
    assert!(!checked.is_ok(), "{text}");
    let outputs = checked.body().graph(checked.body().root()).outputs.to_vec();
    outputs.into_iter().map(|value| checked.display_type(value)).collect()
}

/// The errors of the rules in a graph, one per line.
pub(super) fn errors(opset: u32, graph: &str) -> Vec<String> {
    let bytes = model(opset, graph);
    let options = Options { mode: Mode::Permissive, ..Options::default() };
    let checked = check(&bytes, &Standard, &universe(), &options).unwrap();
    let message = |kind: &SolveErrorKind<'_>| match kind {
        SolveErrorKind::Rule { rule, failure } => format!("{rule}: {}", rule_error(failure)),
        SolveErrorKind::AttributeChoice { name, found, choices } => {
            format!("attribute {name} is `{found}`, not one of {}", choices.values.join(", "))
        }
        other => format!("{other:?}"),
    };
    checked.errors().iter().map(|error| message(&error.kind)).collect()
}

/// The conditions of a graph on its symbols, in order of discovery.
pub(super) fn conditions(opset: u32, graph: &str) -> Vec<String> {
    let bytes = model(opset, graph);
    let options = Options { mode: Mode::Permissive, ..Options::default() };
    let checked = check(&bytes, &Standard, &universe(), &options).unwrap();
    let dims = checked.dims();
    let text = |equation: &Equation| {
        let Equation { left, right, need: relation, .. } = *equation;
        dims.display_condition(Condition { relation, left, right }).to_string()
    };
    checked.equations().iter().map(text).collect()
}

/// The only error of a graph.
pub(super) fn error(opset: u32, graph: &str) -> String {
    let found = errors(opset, graph);
    assert_eq!(found.len(), 1, "{graph}: {found:?}");
    found.into_iter().next().unwrap()
}

fn rule_error(error: &RuleError) -> String {
    match error {
        RuleError::Attribute { name, message } => format!("{name} {message}"),
        RuleError::Value { port, message } => format!("{} {message}", port_name(*port)),
        RuleError::Shapes { message, .. }
        | RuleError::Contradiction { message, .. }
        | RuleError::Body { message, .. } => message.clone(),
        RuleError::Dims { left, right, relation } => {
            let has_axis = |extent: &&Extent| left.port != right.port || extent.axis.is_some();
            let names: Vec<String> = [left, right].into_iter().filter(has_axis).map(extent_name).collect();
            format!("{} {relation}", names.join(" and "))
        }
        RuleError::Rank { port, found, least, most } => {
            let expected = match most {
                Some(most) if most == least => least.to_string(),
                Some(most) => format!("{least} to {most}"),
                None => format!("{least} or more"),
            };
            format!("{} has rank {found}, not {expected}", port_name(*port))
        }
        RuleError::Types { .. }
        | RuleError::Element { .. }
        | RuleError::Kind { .. }
        | RuleError::Relation(_)
        | RuleError::Malformed(_) => {
            format!("{error:?}")
        }
    }
}

fn port_name(port: Port) -> String {
    match port {
        Port::In(at) => format!("input {at}"),
        Port::Out(at) => format!("output {at}"),
        Port::BodyIn(_, at) => format!("body input {at}"),
        Port::BodyOut(_, at) => format!("body output {at}"),
    }
}

fn extent_name(extent: &Extent) -> String {
    let port = port_name(extent.port);
    extent.axis.map_or(port.clone(), |axis| format!("axis {axis} of {port}"))
}

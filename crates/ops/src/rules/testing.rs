//! What the tests of rules share: models in ONNX's textual syntax, and what is inferred for them.

use std::collections::BTreeMap;
use std::sync::Arc;

use prost::Message;
use typeloom_solver::dim::Condition;
use typeloom_solver::model::{Mode, Options, check};
use typeloom_solver::program::ValueId;
use typeloom_solver::rule::RuleError;
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
    Universe::of_default_lattice().unwrap()
}

/// The type of every value of a graph (`g (float[N, 2] x) => (y) { y = Relu(x) }`), as text, by name.
///
/// Panics where something is wrong with it.
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

/// The type of the value `y` of a graph.
pub(super) fn infer_y(opset: u32, graph: &str) -> String {
    infer(opset, graph).remove("y").unwrap()
}

/// What the rules find wrong with a graph, one line a fault.
pub(super) fn faults(opset: u32, graph: &str) -> Vec<String> {
    let bytes = model(opset, graph);
    let options = Options { mode: Mode::Permissive, ..Options::default() };
    let checked = check(&bytes, &Standard, &universe(), &options).unwrap();
    let words = |kind: &SolveErrorKind<'_>| match kind {
        SolveErrorKind::Rule { rule, failure } => format!("{rule}: {}", failure_words(failure)),
        SolveErrorKind::AttributeChoice { name, found, choices } => {
            format!("attribute {name} is `{found}`, not one of {}", choices.values.join(", "))
        }
        other => format!("{other:?}"),
    };
    checked.errors().iter().map(|fault| words(&fault.kind)).collect()
}

/// The conditions that a graph places on its symbols, in the order in which they are found.
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

/// The only fault of a graph.
pub(super) fn fault(opset: u32, graph: &str) -> String {
    let found = faults(opset, graph);
    assert_eq!(found.len(), 1, "{graph}: {found:?}");
    found.into_iter().next().unwrap()
}

fn failure_words(failure: &RuleError) -> String {
    match failure {
        RuleError::Attribute { name, message } => format!("{name} {message}"),
        RuleError::Value { port, message } => format!("{port:?} {message}"),
        RuleError::Shapes { message, .. }
        | RuleError::Contradiction { message, .. }
        | RuleError::Body { message, .. } => message.clone(),
        RuleError::Dims { left, right, relation } => {
            format!(
                "{:?} axis {:?} and {:?} axis {:?} {relation}",
                left.port, left.axis, right.port, right.axis
            )
        }
        RuleError::Rank { port, found, least, most } => {
            format!("{port:?} has rank {found}, not {least}..={most:?}")
        }
        RuleError::Types { .. }
        | RuleError::Element { .. }
        | RuleError::Kind { .. }
        | RuleError::Relation(_)
        | RuleError::Malformed(_) => {
            format!("{failure:?}")
        }
    }
}

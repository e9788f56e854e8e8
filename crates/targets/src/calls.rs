//! Model-local functions: their imports, and their calls.
//!
//! The loader reads domains literally there: `ai.onnx` in a node is not the domain `""` that a function
//! imports.

use std::collections::BTreeSet;

use typeloom_onnx::domain::{LONG_NAME, canonical, shown};
use typeloom_onnx::view::{FunctionView, ModelView};
use typeloom_solver::diagnostic::{TargetIssue, TargetSite};
use typeloom_solver::elem::Elem;
use typeloom_solver::model::Checked;
use typeloom_solver::model::bodies::SolvedBody;
use typeloom_solver::program::{Body, BodySource, StepId, ValueId};

use crate::facts::Facts;
use crate::node::{operator, undecided};

/// The issues of the functions of the model, called or not: a function imports the domains of all its nodes.
pub(crate) fn functions<'a>(checked: &Checked<'a>, issues: &mut Vec<(TargetSite<'a>, TargetIssue)>) {
    let Some(model) = checked.model() else { return };
    for function in model.functions().flatten() {
        let name = function.name().unwrap_or_default();
        if let Some(domain) = missing_import(function) {
            let shown = shown(domain);
            let reason = format!("the function `{name}` does not import the domain `{shown}` of its nodes");
            issues.push((TargetSite::Model, operator(reason)));
        } else if domains(function).any(|domain| domain == LONG_NAME) {
            let reason =
                format!("nodes of the function `{name}` have the domain `{LONG_NAME}` by its long name");
            issues.push((TargetSite::Model, undecided(&reason)));
        }
    }
}

fn domains<'a>(function: FunctionView<'a>) -> impl Iterator<Item = &'a str> {
    function.nodes().flatten().filter_map(|node| node.domain().ok())
}

fn missing_import(function: FunctionView<'_>) -> Option<&str> {
    let imported: BTreeSet<&str> = function.opset_imports().flatten().map(|import| import.domain).collect();
    domains(function).find(|domain| !imported.contains(domain))
}

/// The issue of a call of a model-local function.
pub(crate) fn call<'a>(
    facts: &'static Facts<'static>,
    checked: &mut Checked<'a>,
    solved: &SolvedBody<'a>,
    step: StepId,
) -> Option<TargetIssue> {
    let body: &Body<'a> = &solved.body;
    let node = body.step(step).node;
    let overload = node.overload().unwrap_or_default();
    let key = (checked.domain_of(body, step), body.op_name(step), overload);
    let model = *checked.model()?;
    let is_imported = |domain: &str| model.opset_imports().flatten().any(|it| canonical(it.domain) == domain);
    if !is_imported(key.0) && !facts.has_domain(key.0) {
        return Some(operator(format!("the model does not import the domain `{}`", key.0)));
    }
    if !overload.is_empty() && matches!(body.source(), BodySource::Function(_)) {
        return Some(operator("a function cannot call an overload of a function".to_owned()));
    }
    let mut functions = model.functions().flatten();
    let function = functions.find(|function| {
        let domain = function.domain().map(canonical);
        (domain, function.name(), function.overload()) == (Ok(key.0), Ok(key.1), Ok(key.2))
    })?;
    if facts.needs_all_outputs {
        let (given, all) = (node.outputs().count(), function.outputs().count());
        if given < all {
            let reason =
                format!("a call of a function with {all} outputs must name all of them, not {given}");
            return Some(operator(reason));
        }
    }
    if calls_functions(model, function) && has_rare_element(checked, solved, step) {
        return Some(undecided(
            "the function calls another one, whose inputs may not have this element type",
        ));
    }
    let inputs: BTreeSet<&str> = function.inputs().flatten().collect();
    let graphs = function.nodes().flatten().filter_map(|node| node.graphs().ok()).flatten();
    let initializers = graphs.flat_map(|graph| graph.initializers().flatten());
    let mut names = initializers.filter_map(|tensor| tensor.header().ok()).map(|header| header.name());
    names
        .any(|name| inputs.contains(name))
        .then(|| undecided("an initializer in the function has the name of an input of the function"))
}

/// Whether a node of the function calls a function of the model.
fn calls_functions<'a>(model: ModelView<'a>, function: FunctionView<'a>) -> bool {
    let functions =
        || model.functions().flatten().filter_map(|one| Some((one.domain().ok()?, one.name().ok()?)));
    let nodes = function.nodes().flatten();
    let mut named = nodes.filter_map(|node| Some((node.domain().ok()?, node.op_type().ok()?)));
    named.any(|(domain, name)| functions().any(|key| key == (domain, name)))
}

/// Whether an input of the node has one of the element types that the first versions of ONNX do not have.
fn has_rare_element<'a>(checked: &mut Checked<'a>, solved: &SolvedBody<'a>, step: StepId) -> bool {
    let inputs: Vec<ValueId> = solved.body.inputs(step).iter().flatten().copied().collect();
    inputs.into_iter().any(|input| {
        let ty = checked.type_within(solved, input);
        let mut elements = ty.tensors().flat_map(|tensor| tensor.elem.iter()).filter_map(Elem::onnx_name);
        elements.any(|name| RARE.iter().any(|rare| name.starts_with(rare)))
    })
}

/// The starts of the names of these element types.
const RARE: &[&str] = &["float4", "float6", "float8", "int2", "int4", "uint2", "uint4"];

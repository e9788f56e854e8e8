//! The issues of one body: the element types of its values, then its nodes.

use std::collections::{BTreeMap, BTreeSet};

use typeloom_onnx::view::TypeKindView;
use typeloom_solver::diagnostic::{TargetIssue, TargetSite};
use typeloom_solver::elem::Elem;
use typeloom_solver::model::Checked;
use typeloom_solver::model::bodies::SolvedBody;
use typeloom_solver::program::{Body, GraphId, Initializer, Origin, StepId, StepKind, ValueId};

use crate::calls;
use crate::facts::Facts;
use crate::fold::{Branch, Branches, Inputs};
use crate::node::{self, NodeCx, undecided};
use crate::side::SideArguments;

/// The last IR version in which initializers are inputs.
const INITIALIZERS_ARE_INPUTS: i64 = 3;

/// The issues of a body with the nodes of nested graphs.
pub(crate) fn issues<'a>(
    facts: &'static Facts<'static>,
    checked: &mut Checked<'a>,
    solved: &SolvedBody<'a>,
    versions: &BTreeMap<&'a str, i64>,
    side: &SideArguments<'a>,
    issues: &mut Vec<(TargetSite<'a>, TargetIssue)>,
) {
    values(facts, checked, solved, issues);
    graph(checked, solved, issues);
    nodes(facts, checked, solved, versions, side, issues);
}

fn values<'a>(
    facts: &'static Facts<'static>,
    checked: &mut Checked<'a>,
    solved: &SolvedBody<'a>,
    issues: &mut Vec<(TargetSite<'a>, TargetIssue)>,
) {
    let body = &solved.body;
    let used = used(body);
    let mut reported = BTreeSet::new();
    for value in body.values() {
        let is_constant = body.maker(value).is_some_and(|step| facts.removed.contains(&body.op_name(step)));
        let is_dropped = is_constant || (body.is_stored(value) && !used.contains(&value));
        let ty = checked.type_within(solved, value);
        let elements =
            ty.tensors().filter(|tensor| tensor.elem.len() == 1).flat_map(|tensor| tensor.elem.iter());
        let names = elements.filter_map(Elem::onnx_name).filter(|name| facts.unknown.contains(name));
        if has_undefined_element(body, value) && reported.insert("undefined") {
            let element = Some("undefined".to_owned());
            issues.push((TargetSite::Body(solved.clone()), TargetIssue::ElementType { value, element }));
        }
        for element in names.collect::<Vec<_>>() {
            if reported.insert(element) {
                let issue = match is_dropped {
                    true => {
                        undecided("the loader drops constants that nothing reads, except those of some types")
                    }
                    false => TargetIssue::ElementType { value, element: Some(element.to_owned()) },
                };
                issues.push((TargetSite::Body(solved.clone()), issue));
            }
        }
    }
}

/// The values that a node reads or a graph returns.
fn used(body: &Body<'_>) -> BTreeSet<ValueId> {
    let (from, to) = body.graph(body.root()).steps;
    let read = (from..to).map(StepId::new).flat_map(|step| body.inputs(step)).flatten().copied();
    let mut used: BTreeSet<ValueId> = read.collect();
    let mut graphs: Vec<GraphId> = vec![body.root()];
    while let Some(graph) = graphs.pop() {
        used.extend(&body.graph(graph).outputs);
        graphs.extend(body.children(graph));
    }
    used
}

/// The issues of the inputs, outputs and initializers of the outermost graph.
fn graph<'a>(
    checked: &Checked<'a>,
    solved: &SolvedBody<'a>,
    issues: &mut Vec<(TargetSite<'a>, TargetIssue)>,
) {
    if !solved.is_main() {
        return;
    }
    let body = &solved.body;
    let root = body.graph(body.root());
    let is_input = |value: &ValueId| body.value(*value).origin == Origin::Input;
    let untyped = |value: &&ValueId| is_input(value) && !has_type(body, **value);
    for value in root.inputs.iter().filter(untyped) {
        let issue = TargetIssue::ElementType { value: *value, element: None };
        issues.push((TargetSite::Body(solved.clone()), issue));
    }
    if root.outputs.is_empty() && !root.inputs.iter().any(is_input) {
        let reason = "the graph has no outputs, and all inputs are constants";
        issues.push((TargetSite::Model, undecided(reason)));
    }
    if checked.model().is_some_and(|model| model.ir_version() <= INITIALIZERS_ARE_INPUTS) {
        let (from, to) = root.steps;
        let own = (from..to).map(StepId::new).filter(|step| body.step(*step).graph == body.root());
        let mut used: BTreeSet<ValueId> = own.flat_map(|step| body.inputs(step)).flatten().copied().collect();
        used.extend(&root.outputs);
        // A model can define a name twice.
        let names: BTreeSet<&str> =
            used.iter().chain(&root.inputs).map(|value| body.value_name(*value)).collect();
        let is_lost = |value: ValueId| {
            let own = body.value(value);
            matches!(own.origin, Origin::Initializer(_))
                && own.graph == body.root()
                && !used.contains(&value)
                && !names.contains(body.value_name(value))
        };
        if let Some(value) = body.values().find(|value| is_lost(*value)) {
            let name = body.value_name(value);
            let reason = format!("the initializer `{name}` is no input, which the IR version requires");
            issues.push((TargetSite::Model, node::operator(reason)));
        }
    }
}

fn nodes<'a>(
    facts: &'static Facts<'static>,
    checked: &mut Checked<'a>,
    solved: &SolvedBody<'a>,
    versions: &BTreeMap<&'a str, i64>,
    side: &SideArguments<'a>,
    issues: &mut Vec<(TargetSite<'a>, TargetIssue)>,
) {
    let body = &solved.body;
    let inputs = if solved.is_main() { Inputs::Variable } else { Inputs::MaybeConstant };
    let mut branches = Branches::new(body, inputs);
    let (from, to) = body.graph(body.root()).steps;
    for step in (from..to).map(StepId::new) {
        if matches!(body.step(step).kind, StepKind::Exit(_)) {
            continue;
        }
        let mut report = |issue| issues.push((TargetSite::Node(solved.clone(), step), issue));
        if checked.is_call(body, step) {
            calls::call(facts, checked, solved, step).into_iter().for_each(report);
            continue;
        }
        if body.op_name(step) == "If" && branches.may_fail(step) {
            report(undecided("the loader decides its condition, and computes in the other branch too"));
        }
        let mut cx = NodeCx { facts, checked, body: solved, step, versions, side };
        for issue in node::issues(&mut cx) {
            let issue = match (branches.of(step).max(branches.condition(step)), issue.code()) {
                // The loader removes a branch that is never taken before it looks for kernels.
                (Branch::Dropped, code) if node::is_of_kernel(code) => continue,
                (Branch::Unknown, code) if node::is_of_kernel(code) => {
                    undecided("the loader may remove it, or the branch that contains it")
                }
                (Branch::Taken | Branch::Dropped | Branch::Unknown, _) => issue,
            };
            report(issue);
        }
    }
}

/// Whether a graph of the body has a sparse initializer. The loader stores them densely, so types are not
/// those that are solved.
pub(crate) fn has_sparse_initializer(body: &Body<'_>) -> bool {
    let constants = body.values().filter_map(|value| body.value(value).origin.initializer());
    constants.map(|constant| body.initializer(constant)).any(|it| matches!(it, Initializer::Sparse(_)))
}

/// Whether a declaration of a value has a tensor type without an element type.
fn has_undefined_element(body: &Body<'_>, value: ValueId) -> bool {
    body.declarations(value).any(|declaration| {
        let kind = declaration.ty.parse().map(|ty| ty.kind);
        matches!(kind, Ok(TypeKindView::Tensor { elem: 0, .. } | TypeKindView::Sparse { elem: 0, .. }))
    })
}

/// Whether a value has a declared type.
fn has_type(body: &Body<'_>, value: ValueId) -> bool {
    body.declarations(value)
        .any(|declaration| declaration.ty.parse().is_ok_and(|ty| ty.kind != TypeKindView::None))
}

//! The verdict about a model: what the loader checks in the file as a whole, and all nodes of all bodies.
//!
//! The loader inserts the bodies of model-local functions into the graph and reads their nodes with the versions that the
//! *model* imports. It validates the imports of every function, called or not.

use std::collections::{BTreeMap, BTreeSet};

use typeloom_onnx::view::TypeKindView;
use typeloom_solver::diagnostic::{Diagnostic, MAX_LISTED, TargetIssue, TargetSite, diagnose_target};
use typeloom_solver::model::Checked;
use typeloom_solver::model::bodies::SolvedBody;
use typeloom_solver::program::{Body, Origin, StepId, StepKind, ValueId};

use crate::fold::{Branch, Branches};
use crate::node::{self, NodeCx, text_of};
use crate::target::Target;

/// Whether a target loads a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It does.
    Runs,
    /// It does not.
    Rejected,
    /// Unknown.
    Undecided,
}

/// The reasons why a target does not load a model, or why that is undecided.
pub struct Verdict<'a> {
    /// The reasons, those of the whole model first, then by body and node.
    pub issues: Vec<(TargetSite<'a>, TargetIssue)>,
}

impl<'a> Verdict<'a> {
    /// The verdict in short. It is meaningful for a model without errors.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        if self.issues.iter().any(|(_, issue)| issue.is_rejection()) {
            Outcome::Rejected
        } else if self.issues.is_empty() {
            Outcome::Runs
        } else {
            Outcome::Undecided
        }
    }

    /// The issues as diagnostics, each once, at most [`MAX_LISTED`].
    #[must_use]
    pub fn diagnostics(&self, target: &str, checked: &mut Checked<'a>) -> Vec<Diagnostic> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        for (site, issue) in &self.issues {
            if found.len() == MAX_LISTED {
                break;
            }
            let diagnostic = diagnose_target(checked, target, site, issue);
            if seen.insert((diagnostic.location.to_string(), diagnostic.message.clone())) {
                found.push(diagnostic);
            }
        }
        found
    }
}

pub(crate) fn verdict<'a>(target: &Target, checked: &mut Checked<'a>) -> Verdict<'a> {
    let mut issues = Vec::new();
    let versions = file(target, checked, &mut issues);
    for body in checked.bodies() {
        body_issues(target, checked, &body, &versions, &mut issues);
    }
    Verdict { issues }
}

/// Checks the IR version and the imports. Returns the imported version of each domain.
fn file<'a>(
    target: &Target,
    checked: &Checked<'a>,
    issues: &mut Vec<(TargetSite<'a>, TargetIssue)>,
) -> BTreeMap<&'a str, i64> {
    let facts = target.facts();
    let mut versions = BTreeMap::new();
    let Some(model) = checked.model() else { return versions };
    let found = model.ir_version();
    if found > facts.ir {
        issues.push((TargetSite::Model, TargetIssue::IrVersion { found, newest: facts.ir }));
    }
    let mut newer: Vec<(&str, i64)> = Vec::new();
    let mut check = |domain: &'a str, version: i64| {
        if facts.domains.get(domain).is_some_and(|newest| version > *newest) {
            newer.push((domain, version));
        }
    };
    for import in model.opset_imports().flatten() {
        let domain = canonical(import.domain);
        check(domain, import.version);
        // The last of several imports of a domain counts.
        versions.insert(domain, import.version);
    }
    for function in model.functions().flatten() {
        for import in function.opset_imports().flatten() {
            check(canonical(import.domain), import.version);
        }
    }
    newer.sort_unstable();
    newer.dedup();
    for (domain, imported) in newer {
        let newest = facts.domains.get(domain).copied().unwrap_or_default();
        issues.push((TargetSite::Model, TargetIssue::Opset { domain: domain.to_owned(), imported, newest }));
    }
    versions
}

fn canonical(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}

fn body_issues<'a>(
    target: &Target,
    checked: &mut Checked<'a>,
    solved: &SolvedBody<'a>,
    versions: &BTreeMap<&'a str, i64>,
    issues: &mut Vec<(TargetSite<'a>, TargetIssue)>,
) {
    let facts = target.facts();
    let body = &solved.body;
    let mut reported = BTreeSet::new();
    for value in body.values() {
        let ty = checked.type_within(solved, value);
        let elements =
            ty.tensors().filter(|tensor| tensor.elem.len() == 1).flat_map(|tensor| tensor.elem.iter());
        let names = elements.filter_map(|elem| elem.onnx_name()).filter(|name| facts.unknown.contains(name));
        if has_undefined_element(body, value) && reported.insert("undefined") {
            let element = Some("undefined".to_owned());
            issues.push((TargetSite::Body(solved.clone()), TargetIssue::ElementType { value, element }));
        }
        for element in names.collect::<Vec<_>>() {
            if reported.insert(element) {
                let issue = TargetIssue::ElementType { value, element: Some(element.to_owned()) };
                issues.push((TargetSite::Body(solved.clone()), issue));
            }
        }
    }
    if solved.is_main() {
        let untyped =
            |value: &&ValueId| body.value(**value).origin == Origin::Input && !has_type(body, **value);
        for value in body.graph(body.root()).inputs.iter().filter(untyped) {
            let issue = TargetIssue::ElementType { value: *value, element: None };
            issues.push((TargetSite::Body(solved.clone()), issue));
        }
    }
    let root = body.graph(body.root());
    if solved.is_main() && root.inputs.is_empty() && root.outputs.is_empty() {
        let reason = "the graph has neither inputs nor outputs".to_owned();
        issues.push((TargetSite::Model, TargetIssue::Undecided { reason }));
    }
    let mut branches = Branches::new(body);
    let (from, to) = body.graph(body.root()).steps;
    for step in (from..to).map(StepId::new) {
        if matches!(body.step(step).kind, StepKind::Exit(_)) {
            continue;
        }
        if checked.is_call(body, step) {
            issues.extend(
                call(target, checked, body, step)
                    .map(|issue| (TargetSite::Node(solved.clone(), step), issue)),
            );
            continue;
        }
        if body.op_name(step) == "If" && branches.may_fail(step) {
            let reason = "the loader decides its condition, and computes in the other branch too".to_owned();
            issues.push((TargetSite::Node(solved.clone(), step), TargetIssue::Undecided { reason }));
        }
        let mut cx = NodeCx { facts, checked, body: solved, step, versions };
        for issue in node::issues(&mut cx) {
            let issue = match (branches.of(step), issue.code()) {
                // The loader removes a branch that is never taken before it looks for kernels.
                (Branch::Dropped, code) if node::is_of_kernel(code) => continue,
                (Branch::Unknown, code) if node::is_of_kernel(code) => TargetIssue::Undecided {
                    reason: "the loader may remove the branch that contains it".to_owned(),
                },
                (Branch::Taken | Branch::Dropped | Branch::Unknown, _) => issue,
            };
            issues.push((TargetSite::Node(solved.clone(), step), issue));
        }
    }
}

/// The issue of a call of a model-local function.
fn call<'a>(target: &Target, checked: &Checked<'a>, body: &Body<'a>, step: StepId) -> Option<TargetIssue> {
    let node = body.step(step).node;
    let overload = node.overload().unwrap_or_default();
    let key = (checked.domain_of(body, step), body.op_name(step), overload);
    let mut functions = checked.model()?.functions().flatten();
    let function = functions.find(|function| {
        let domain = function.domain().map(canonical);
        (domain, function.name(), function.overload()) == (Ok(key.0), Ok(key.1), Ok(key.2))
    })?;
    if target.facts().needs_all_outputs {
        let (given, all) = (node.outputs().count(), function.outputs().count());
        if given < all {
            let reason =
                format!("a call of a function with {all} outputs must name all of them, not {given}");
            return Some(TargetIssue::Operator { reason });
        }
    }
    let inputs: BTreeSet<&str> = function.inputs().flatten().collect();
    let graphs = function.nodes().flatten().filter_map(|node| node.graphs().ok()).flatten();
    let initializers = graphs.flat_map(|graph| graph.initializers().flatten());
    let mut names = initializers.filter_map(|tensor| tensor.header().ok()).map(|header| header.name);
    names.any(|name| inputs.contains(name)).then(|| {
        let reason = "an initializer in the function has the name of an input of the function".to_owned();
        TargetIssue::Undecided { reason }
    })
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

/// The type of a value in the notation of the facts, if it is solved.
pub(crate) fn solved_type<'a>(
    checked: &mut Checked<'a>,
    body: &SolvedBody<'a>,
    value: ValueId,
) -> Option<String> {
    text_of(&checked.type_within(body, value))
}

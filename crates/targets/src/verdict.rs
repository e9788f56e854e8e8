//! The verdict about a model: what the loader checks in the file as a whole, and all nodes of all bodies.
//!
//! The loader inserts the bodies of model-local functions into the graph and reads their nodes with the
//! versions that the *model* imports. It validates the imports of every function, called or not.

use std::collections::{BTreeMap, BTreeSet};

use typeloom_onnx::domain::canonical;
use typeloom_solver::diagnostic::{Code, Diagnostic, MAX_LISTED, TargetIssue, TargetSite, diagnose_target};
use typeloom_solver::model::Checked;

use crate::facts::Facts;
use crate::measured::placement::{Placement, placement, source};
use crate::target::{Known, Target};
use crate::{body, calls, node, side};

/// Whether a target loads a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It does.
    Runs,
    /// It does, with some nodes on the CPU instead of the device.
    RunsWithFallback,
    /// It does not.
    Rejected,
    /// Unknown.
    Undecided,
}

/// The reasons why a target does not load a model, or why that is undecided.
pub struct Verdict<'a> {
    /// The reasons, those of the whole model first, then by body and node.
    pub issues: Vec<(TargetSite<'a>, TargetIssue)>,
    /// The assignment of the nodes, for a measured target.
    pub placement: Option<Placement>,
}

impl<'a> Verdict<'a> {
    /// The verdict in short. It is meaningful for a model without errors.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let mut outcome = Outcome::Runs;
        for (_, issue) in &self.issues {
            outcome = match issue {
                issue if issue.is_rejection() => return Outcome::Rejected,
                TargetIssue::Undecided { .. } => Outcome::Undecided,
                TargetIssue::Fallback { .. } if outcome == Outcome::Runs => Outcome::RunsWithFallback,
                _ => outcome,
            };
        }
        outcome
    }

    /// The issues as diagnostics, each once. Of more than [`MAX_LISTED`], rejections are kept first.
    ///
    /// Those of a target with kernels are in their order. Those of a measured target begin with rejections,
    /// and nodes of an operator with the same reason are one diagnostic.
    #[must_use]
    pub fn diagnostics(&self, target: &str, checked: &mut Checked<'a>) -> Vec<Diagnostic> {
        let groups = match self.placement {
            None => self.issues.iter().map(|issue| vec![issue]).collect(),
            Some(_) => groups(&self.issues),
        };
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        let mut groups: Vec<(usize, Group<'_, 'a>)> = groups.into_iter().enumerate().collect();
        groups.sort_by_key(|(_, group)| !group.iter().any(|(_, issue)| issue.is_rejection()));
        for (position, group) in groups {
            if found.len() == MAX_LISTED {
                break;
            }
            let Some(diagnostic) = of_group(target, checked, &group) else { continue };
            if seen.insert((diagnostic.location.to_string(), diagnostic.message.clone())) {
                found.push((position, diagnostic));
            }
        }
        if self.placement.is_none() {
            found.sort_by_key(|(position, _)| *position);
        }
        found.into_iter().map(|(_, diagnostic)| diagnostic).collect()
    }
}

/// The number of nodes that a diagnostic about several nodes names after its first one.
const MAX_NAMED: usize = 3;

/// Issues that are one diagnostic.
type Group<'v, 'a> = Vec<&'v (TargetSite<'a>, TargetIssue)>;

/// The issues by operator and reason, in the order of their first nodes. A node of a function that is called
/// several times counts once.
fn groups<'v, 'a>(issues: &'v [(TargetSite<'a>, TargetIssue)]) -> Vec<Group<'v, 'a>> {
    let mut all: Vec<Group<'v, 'a>> = Vec::new();
    let mut known: BTreeMap<(&str, &str, Code, &str), usize> = BTreeMap::new();
    let mut nodes = BTreeSet::new();
    for issue in issues {
        let (TargetSite::Node(body, step), Some(reason)) = (&issue.0, reason(&issue.1)) else {
            all.push(vec![issue]);
            continue;
        };
        let (body, code) = (&body.body, issue.1.code());
        if !nodes.insert((source(body), *step, code, reason)) {
            continue;
        }
        let domain = canonical(body.step(*step).node.domain().unwrap_or_default());
        let at = *known.entry((domain, body.op_name(*step), code, reason)).or_insert(all.len());
        match all.get_mut(at) {
            Some(group) => group.push(issue),
            None => all.push(vec![issue]),
        }
    }
    all
}

/// The reason of an issue with a measured node.
fn reason(issue: &TargetIssue) -> Option<&str> {
    match issue {
        TargetIssue::Measured { reason, .. }
        | TargetIssue::Fallback { reason, .. }
        | TargetIssue::Undecided { reason, .. } => Some(reason),
        TargetIssue::IrVersion { .. }
        | TargetIssue::Opset { .. }
        | TargetIssue::ElementType { .. }
        | TargetIssue::Operator { .. }
        | TargetIssue::Kernel { .. }
        | TargetIssue::Attribute { .. }
        | TargetIssue::Condition { .. } => None,
    }
}

/// The diagnostic of a group: that of its first node, with the number of nodes and the names of some others.
fn of_group<'a>(target: &str, checked: &mut Checked<'a>, group: &Group<'_, 'a>) -> Option<Diagnostic> {
    let ((site, issue), others) = group.split_first()?;
    let mut diagnostic = diagnose_target(checked, target, site, issue);
    if others.is_empty() {
        return Some(diagnostic);
    }
    diagnostic.message.push_str(&format!(" ({} nodes)", group.len()));
    let names: Vec<String> = others
        .iter()
        .take(MAX_NAMED)
        .map(|(site, issue)| diagnose_target(checked, target, site, issue).location.to_string())
        .collect();
    let mut note = format!("also {}", names.join(", "));
    if others.len() > names.len() {
        note.push_str(&format!(" and {} more", others.len() - names.len()));
    }
    Some(diagnostic.with_notes(vec![note]))
}

pub(crate) fn verdict<'a>(target: &'static Target, checked: &mut Checked<'a>) -> Verdict<'a> {
    let mut issues = Vec::new();
    let facts = match target.facts() {
        Known::Kernels(facts) => facts,
        Known::Measured(table) => {
            let placement = placement(table, checked, &mut issues);
            return Verdict { issues, placement: Some(placement) };
        }
    };
    let versions = file(facts, checked, &mut issues);
    calls::functions(checked, &mut issues);
    let bodies = checked.bodies();
    let side = side::arguments(checked);
    let is_sparse = bodies.iter().any(|body| body::has_sparse_initializer(&body.body));
    for body in bodies {
        body::issues(facts, checked, &body, &versions, &side, &mut issues);
    }
    if is_sparse {
        issues.retain(|(_, issue)| !node::is_of_kernel(issue.code()));
        issues.push((TargetSite::Model, node::undecided("the loader makes its sparse initializers dense")));
    }
    Verdict { issues, placement: None }
}

/// Checks the IR version and the imports. Returns the imported version of each domain.
fn file<'a>(
    facts: &Facts<'_>,
    checked: &Checked<'a>,
    issues: &mut Vec<(TargetSite<'a>, TargetIssue)>,
) -> BTreeMap<&'a str, i64> {
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

#[cfg(test)]
mod tests;

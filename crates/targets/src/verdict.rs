//! The verdict about a model: what the loader checks in the file as a whole, and all nodes of all bodies.
//!
//! The loader inserts the bodies of model-local functions into the graph and reads their nodes with the
//! versions that the *model* imports. It validates the imports of every function, called or not.

use std::collections::{BTreeMap, BTreeSet};

use typeloom_onnx::domain::canonical;
use typeloom_solver::diagnostic::{Diagnostic, MAX_LISTED, TargetIssue, TargetSite, diagnose_target};
use typeloom_solver::model::Checked;

use crate::target::Target;
use crate::{body, calls, node};

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

    /// The issues as diagnostics in their order, each once. Of more than [`MAX_LISTED`], rejections are kept
    /// first.
    #[must_use]
    pub fn diagnostics(&self, target: &str, checked: &mut Checked<'a>) -> Vec<Diagnostic> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        let mut issues: Vec<(usize, &(TargetSite<'a>, TargetIssue))> =
            self.issues.iter().enumerate().collect();
        issues.sort_by_key(|(_, (_, issue))| !issue.is_rejection());
        for (position, (site, issue)) in issues {
            if found.len() == MAX_LISTED {
                break;
            }
            let diagnostic = diagnose_target(checked, target, site, issue);
            if seen.insert((diagnostic.location.to_string(), diagnostic.message.clone())) {
                found.push((position, diagnostic));
            }
        }
        found.sort_by_key(|(position, _)| *position);
        found.into_iter().map(|(_, diagnostic)| diagnostic).collect()
    }
}

pub(crate) fn verdict<'a>(target: &Target, checked: &mut Checked<'a>) -> Verdict<'a> {
    let mut issues = Vec::new();
    let versions = file(target, checked, &mut issues);
    calls::functions(checked, &mut issues);
    let bodies = checked.bodies();
    let is_sparse = bodies.iter().any(|body| body::has_sparse_initializer(&body.body));
    for body in bodies {
        body::issues(target, checked, &body, &versions, &mut issues);
    }
    if is_sparse {
        issues.retain(|(_, issue)| !node::is_of_kernel(issue.code()));
        issues.push((TargetSite::Model, node::undecided("the loader makes its sparse initializers dense")));
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

#[cfg(test)]
mod tests;

//! Errors that occur in some branches only.
//!
//! The message is that of the same problem in the case in which it was found. The branch and its result are
//! added.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::{Code, Diagnostic, Mark, Part, Scope, Severity, list};
use crate::model::Mode;
use crate::model::case::Leaf;
use crate::program::{GraphId, StepId, ValueId};
use crate::solve_error::{CaseOwner, Reach, SolveError, SolveErrorKind};
use crate::state::cases::{Literal, Question};

/// The maximum number of outputs of a node that are shown with their types in a branch.
const MAX_OUTPUTS: usize = 3;

/// The diagnostic of an error of one case; `None` for other errors. `varying` are the values whose shape
/// depends on the case.
pub(super) fn in_case<'a>(
    plain: Scope<'_, 'a>,
    leaf: &mut Leaf<'a>,
    error: &SolveError<'a>,
    varying: &BTreeSet<ValueId>,
    mode: Mode,
) -> Option<Diagnostic> {
    let SolveErrorKind::InCase { case: _, branches, error: kind, owner, reach } = &error.kind else {
        return None;
    };
    let Scope { core, operators, content, budget, .. } = plain;
    // The cases share the dims of the model.
    std::mem::swap(&mut core.dims, &mut leaf.core.dims);
    let Leaf { core: own, frame, erroneous, literals, .. } = leaf;
    let inner = SolveError { site: error.site, kind: (**kind).clone() };
    let is_error = *reach == Reach::Free && inner.is_error(mode);
    let mut diagnostic = match owner {
        CaseOwner::Node | CaseOwner::Value(_) => {
            let value = match owner {
                CaseOwner::Value(value) => Some(*value),
                CaseOwner::Node | CaseOwner::Instance(_) => None,
            };
            Scope { core: own, frame, operators, function: None, content, budget, named: RefCell::default() }
                .describe(&inner, value, mode)
        }
        CaseOwner::Instance(at) => {
            let instance = &erroneous[*at];
            let own_error = instance.frame.all_errors().next();
            let mut scope = Scope {
                core: own,
                frame: &instance.frame,
                operators,
                function: Some(instance.function),
                content,
                budget,
                named: RefCell::default(),
            };
            let diagnostic = scope.describe(own_error.unwrap_or(&inner), None, mode);
            diagnostic.with_notes(scope.call_notes(instance))
        }
    };
    // A condition of a branch on symbols keeps its code if the caller can avoid the branch.
    if !is_error
        && matches!(inner.kind, SolveErrorKind::ForcedSymbol { .. } | SolveErrorKind::ForcedSymbols { .. })
    {
        diagnostic.severity = Severity::Warning;
    }
    let mut scope =
        Scope { core: own, frame, operators, function: None, content, budget, named: RefCell::default() };
    let assumptions: Vec<String> = literals.iter().filter_map(|literal| scope.assumption(literal)).collect();
    match branches.as_deref() {
        None => {}
        Some([]) => {
            let conditions: Vec<String> =
                literals.iter().filter_map(|literal| scope.condition(literal)).collect();
            // A branch of a called function.
            if !conditions.is_empty() {
                name_branch(&mut diagnostic);
            }
            let assumptions: Vec<String> = assumptions.into_iter().chain(conditions).collect();
            if !assumptions.is_empty() {
                diagnostic.message = format!("{}, {}", diagnostic.message, list(&assumptions, "and"));
            }
            limit_to_case(&mut diagnostic);
        }
        Some(branches) => {
            scope.in_branches(&mut diagnostic, branches, varying);
            name_branch(&mut diagnostic);
            limit_to_case(&mut diagnostic);
            diagnostic.notes.extend(assumptions);
        }
    }
    if !is_error {
        diagnostic.severity = Severity::Warning;
    }
    std::mem::swap(&mut core.dims, &mut leaf.core.dims);
    Some(diagnostic)
}

/// Turns an error into one about a branch.
fn name_branch(diagnostic: &mut Diagnostic) {
    if diagnostic.severity == Severity::Error {
        diagnostic.code = Code::BranchMismatch;
    }
}

/// Removes the proposals of a diagnostic that holds in one case only.
fn limit_to_case(diagnostic: &mut Diagnostic) {
    // A fix of one case may break another.
    diagnostic.fix = None;
    diagnostic.help = None;
}

impl<'a> Scope<'_, 'a> {
    /// Adds the branches that cause a problem.
    fn in_branches(
        &mut self,
        diagnostic: &mut Diagnostic,
        branches: &[(StepId, GraphId)],
        varying: &BTreeSet<ValueId>,
    ) {
        let text: Vec<String> = branches
            .iter()
            .map(|(step, graph)| format!("{} of {}", self.graph_text(*graph), self.op_text(*step)))
            .collect();
        let verb = if text.len() == 1 { "runs" } else { "run" };
        diagnostic.message = format!("{}, if {} {verb}", diagnostic.message, list(&text, "and"));
        for (step, graph) in branches {
            let Some(owner) = self.body().graph(*graph).owner else { continue };
            let text = self.given(*step, varying);
            let mark: Mark<'a> = Mark::context(Part::AttributeName(owner.attribute), text);
            let snippet = self.other_snippet(*step, &[mark]);
            diagnostic.snippets.extend(snippet);
        }
    }

    /// The types of the outputs of a node with branches in this case.
    fn given(&mut self, step: StepId, varying: &BTreeSet<ValueId>) -> String {
        let body = self.body();
        let outputs: Vec<ValueId> = body.outputs(body.last_step(step)).iter().flatten().copied().collect();
        let depends: Vec<ValueId> = outputs.iter().copied().filter(|value| varying.contains(value)).collect();
        let shown = if depends.is_empty() { outputs } else { depends };
        let shown: Vec<String> = shown
            .into_iter()
            .take(MAX_OUTPUTS)
            .map(|value| {
                let ty = self.core.snapshot(self.frame, value);
                format!("{} is {}", self.name(value), self.show(&ty))
            })
            .collect();
        shown.join(", ")
    }

    /// The assumption of a case about a condition of the main graph.
    fn condition(&self, literal: &Literal) -> Option<String> {
        let Question::Condition(value) = literal.request.question else { return None };
        Some(format!("if {} is {}", self.name(value), literal.holds))
    }

    /// The assumption of a case about symbols.
    fn assumption(&self, literal: &Literal) -> Option<String> {
        let dims = &self.core.dims;
        let holds = literal.holds;
        Some(match literal.request.question {
            Question::Equal(a, b) => {
                let sign = if holds { "=" } else { "!=" };
                format!("in the case `{} {sign} {}`", dims.display(a), dims.display(b))
            }
            Question::NonNegative(dim) => {
                let sign = if holds { ">=" } else { "<" };
                format!("in the case `{} {sign} 0`", dims.display(dim))
            }
            Question::Condition(_) => return None,
        })
    }
}

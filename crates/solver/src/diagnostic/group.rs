//! Errors with one cause as one diagnostic.
//!
//! A value of the wrong type or shape causes an error at every node that reads it. Such errors form one group, whose first
//! is shown with the number of the others. If an error concerns two values, the cause is the value with more
//! errors of the same code, unless the solver found which of the two element types contradicts the rest of the model. False
//! declarations that an exporter writes systematically form one group for the whole body.

use std::collections::{BTreeMap, HashMap};

use smallvec::SmallVec;

use super::{Code, Diagnostic, Fix, Location, MAX_LISTED, Reader, Scope, count};
use crate::program::{Body, StepId, ValueId};
use crate::rule::{Port, RuleError};
use crate::solve_error::{ErrorSite, SolveError, SolveErrorKind};
use crate::state::frame::Frame;

/// The common cause of a group of errors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Cause {
    /// A value that nodes read.
    Value(ValueId, Code),
    /// Declarations that an exporter writes systematically.
    Systematic(Code),
}

/// The errors of each group except the first, by the site and code of the first.
pub(super) struct Groups<'f, 'a> {
    others: BTreeMap<(ErrorSite, Code), Vec<&'f SolveError<'a>>>,
}

impl<'f, 'a> Groups<'f, 'a> {
    /// Groups errors. Returns the first error of each group, and the groups.
    pub(super) fn of(frame: &Frame<'_>, errors: Vec<&'f SolveError<'a>>) -> (Vec<&'f SolveError<'a>>, Self) {
        let mut groups = Self { others: BTreeMap::new() };
        if errors.len() < 2 {
            return (errors, groups);
        }
        let mut uses: HashMap<(ValueId, Code), usize> = HashMap::new();
        for error in &errors {
            for value in candidates(frame, error) {
                *uses.entry((value, error.kind.code())).or_insert(0) += 1;
            }
        }
        let mut first: HashMap<Cause, (ErrorSite, Code)> = HashMap::new();
        let mut kept = Vec::with_capacity(errors.len());
        for error in errors {
            let code = error.kind.code();
            let Some(cause) = cause(frame, error, &uses) else {
                kept.push(error);
                continue;
            };
            match first.get(&cause) {
                Some(group) => groups.others.entry(*group).or_default().push(error),
                None => {
                    first.insert(cause, (error.site, code));
                    kept.push(error);
                }
            }
        }
        (kept, groups)
    }

    /// Adds the other errors of a group to the diagnostic of its first.
    pub(super) fn add_to(
        &mut self,
        error: &SolveError<'_>,
        mut diagnostic: Diagnostic,
        scope: &Scope<'_, '_>,
    ) -> Diagnostic {
        let Some(others) = self.others.remove(&(error.site, error.kind.code())) else {
            return diagnostic;
        };
        let what = match error.kind {
            SolveErrorKind::NegativeDim { .. } | SolveErrorKind::EmptyShape { .. } => "more declaration",
            _ => "more node",
        };
        diagnostic.message.push_str(&format!(" (and {})", count(others.len(), what)));
        if let (Some(Fix::InsertCast { input: at, readers, .. }), ErrorSite::Step(step)) =
            (&mut diagnostic.fix, error.site)
            && let Some(value) = input(scope.body(), step, Port::In(*at))
        {
            for step in others.iter().filter_map(|error| error.site.step()) {
                let inputs = scope.body().inputs(scope.body().first_step(step));
                let reads = inputs.iter().enumerate().filter(|(_, read)| **read == Some(value));
                let location = scope.location_of_step(step);
                readers.extend(reads.map(|(input, _)| Reader { location: location.clone(), input }));
            }
        }
        let also = others.into_iter().take(MAX_LISTED);
        diagnostic.also = also
            .map(|error| Location { subjects: scope.subjects(error, None), ..scope.location(error.site) })
            .collect();
        diagnostic
    }
}

fn cause(frame: &Frame<'_>, error: &SolveError<'_>, uses: &HashMap<(ValueId, Code), usize>) -> Option<Cause> {
    let code = error.kind.code();
    match &error.kind {
        SolveErrorKind::NegativeDim { declared_in: Some(_), .. } | SolveErrorKind::EmptyShape { .. } => {
            return Some(Cause::Systematic(code));
        }
        _ => {}
    }
    let used = |value: &ValueId| uses.get(&(*value, code)).copied().unwrap_or(0);
    let mut best: Option<ValueId> = None;
    for value in candidates(frame, error) {
        if best.is_none_or(|best| used(&value) > used(&best)) {
            best = Some(value);
        }
    }
    best.filter(|value| used(value) > 1).map(|value| Cause::Value(value, code))
}

/// The values that may be the cause of an error of a node.
fn candidates(frame: &Frame<'_>, error: &SolveError<'_>) -> SmallVec<[ValueId; 4]> {
    let ErrorSite::Step(step) = error.site else { return SmallVec::new() };
    let elements = matches!(error.kind, SolveErrorKind::Disagree { .. } | SolveErrorKind::NotAllowed { .. });
    if elements && let Some(culprit) = frame.rare.culprits.get(&step) {
        return SmallVec::from_slice(&[*culprit]);
    }
    let ports: SmallVec<[Port; 4]> = match &error.kind {
        SolveErrorKind::Disagree { left, right, .. } => SmallVec::from_slice(&[left.0, right.0]),
        SolveErrorKind::NotAllowed { port, .. } => SmallVec::from_slice(&[*port]),
        SolveErrorKind::Rule {
            failure: RuleError::Contradiction { .. } | RuleError::Relation(_), ..
        } => SmallVec::new(),
        SolveErrorKind::Rule { failure, .. } => failure.ports(),
        _ => SmallVec::new(),
    };
    let mut values: SmallVec<[ValueId; 4]> = SmallVec::new();
    for value in ports.into_iter().filter_map(|port| input(&frame.body, step, port)) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

fn input(body: &Body<'_>, step: StepId, port: Port) -> Option<ValueId> {
    match port {
        Port::In(at) => body.inputs(step).get(at).copied().flatten(),
        Port::Out(_) | Port::BodyIn(..) | Port::BodyOut(..) => None,
    }
}

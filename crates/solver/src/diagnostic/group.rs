//! Errors with one cause as one diagnostic.
//!
//! A value of the wrong type or shape causes an error at every node that reads it. Such errors form one
//! group, whose first is shown with the number of the others. If an error concerns two values, the cause is
//! the value with more errors of the same code, unless the solver found which of the two element types
//! contradicts the rest of the model. These also form one group:
//!
//! - a false declaration of an element type, and the readers of the value that need the declared type;
//! - declarations of one dim for extents that are equal;
//! - false declarations that an exporter writes systematically.

use std::collections::{BTreeMap, HashMap};

use smallvec::SmallVec;
use typeloom_dim::DimId;

use super::{Code, Diagnostic, Fix, Location, MAX_LISTED, Reader, Scope, count, list};
use crate::analysis::recovery::variable_of;
use crate::elem::ElemSet;
use crate::operators::Operators;
use crate::program::{Body, DeclarationKind, StepId, ValueId};
use crate::rule::{Port, RuleError};
use crate::solution::Type;
use crate::solve_error::{ClaimWeight, ErrorSite, SolveError, SolveErrorKind};
use crate::state::frame::Frame;

/// The maximum number of nodes that are searched for the origin of a type.
const MAX_STEPS: usize = 64;

/// The common cause of a group of errors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Cause {
    /// A value that nodes read.
    Value(ValueId, Code),
    /// A declared dim, and the derived extent that it contradicts.
    Dim(DimId, DimId),
    /// Declarations that an exporter writes systematically.
    Systematic(Code),
}

/// An error with the other errors of its group.
pub(super) struct ErrorGroup<'f, 'a> {
    pub(super) first: &'f SolveError<'a>,
    others: Vec<&'f SolveError<'a>>,
}

impl<'f, 'a> ErrorGroup<'f, 'a> {
    /// Groups errors.
    pub(super) fn of(
        operators: &Operators<'_>,
        frame: &Frame<'_>,
        errors: Vec<&'f SolveError<'a>>,
    ) -> Vec<Self> {
        if errors.len() < 2 {
            return errors.into_iter().map(|first| Self { first, others: Vec::new() }).collect();
        }
        let mut uses: HashMap<(ValueId, Code), usize> = HashMap::new();
        for error in &errors {
            for value in candidates(operators, frame, error) {
                *uses.entry((value, error.kind.code())).or_insert(0) += 1;
            }
        }
        let mut first: HashMap<Cause, usize> = HashMap::new();
        let mut groups: Vec<Self> = Vec::with_capacity(errors.len());
        // The groups of false declarations. Nodes follow the values that they read.
        let mut declarations: BTreeMap<ErrorSite, Vec<usize>> = BTreeMap::new();
        for error in errors {
            let group = refuted_declaration(frame, error).and_then(|declared| {
                let mut known = declarations.get(&declared.site)?.iter().copied();
                known.find(|group| groups[*group].first.kind == declared.kind)
            });
            let cause = cause(operators, frame, error, &uses);
            match group.or_else(|| first.get(&cause?).copied()) {
                Some(group) => groups[group].others.push(error),
                None => {
                    first.extend(cause.map(|cause| (cause, groups.len())));
                    if matches!(error.kind, SolveErrorKind::Contradiction { .. }) {
                        declarations.entry(error.site).or_default().push(groups.len());
                    }
                    groups.push(Self { first: error, others: Vec::new() });
                }
            }
        }
        groups
    }

    /// Adds the other errors of the group to the diagnostic of the first. `value` is the value that it
    /// concerns.
    pub(super) fn complete(
        self,
        mut diagnostic: Diagnostic,
        value: Option<ValueId>,
        scope: &Scope<'_, '_>,
    ) -> Diagnostic {
        let Self { first: error, others } = self;
        if others.is_empty() {
            return diagnostic;
        }
        let what = match &error.kind {
            SolveErrorKind::NegativeDim { .. } | SolveErrorKind::EmptyShape { .. } => {
                Some("more declaration")
            }
            SolveErrorKind::RefutedClaim(claim) => match claim.declared_in {
                DeclarationKind::Output => Some("more output"),
                DeclarationKind::Input | DeclarationKind::Value => Some("more declaration"),
            },
            SolveErrorKind::Contradiction { declared, inferred, .. } => {
                let readers = others.iter().filter_map(|error| Some(scope.node_text(error.site.step()?)));
                let readers: Vec<String> = readers.collect();
                let verb = if readers.len() == 1 { "needs" } else { "need" };
                let note =
                    format!("{} {verb} {}, as declared", list(&readers, "and"), scope.show_elem(declared));
                diagnostic = diagnostic.with_notes([note]);
                if let Some(value) = value {
                    diagnostic =
                        diagnostic.with_help(scope.correction(value, (declared, inferred), &readers));
                }
                None
            }
            _ => Some("more node"),
        };
        if let Some(what) = what {
            diagnostic.message.push_str(&format!(" (and {})", count(others.len(), what)));
        }
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

/// The error of a false declaration, if an error of a reader of the value follows from it: the reader needs
/// the declared element type.
fn refuted_declaration<'f, 'a>(frame: &'f Frame<'a>, error: &SolveError<'_>) -> Option<&'f SolveError<'a>> {
    let ErrorSite::Step(step) = error.site else { return None };
    let (port, needed) = match &error.kind {
        SolveErrorKind::Disagree { left, right, .. } => {
            let of = |found: &(Port, Type), other: &(Port, Type)| Some((found.0, elements(&other.1)?));
            let declared = |found: &Option<(Port, ElemSet)>| {
                found.and_then(|(port, _)| contradicted(frame, step, port)).is_some()
            };
            [of(left, right), of(right, left)].into_iter().find(declared)??
        }
        SolveErrorKind::NotAllowed { port, allowed, .. } => (*port, allowed.tensor),
        _ => return None,
    };
    let found = contradicted(frame, step, port)?;
    let SolveErrorKind::Contradiction { declared, inferred, .. } = &found.kind else { return None };
    let (declared, inferred) = (elements(declared)?, elements(inferred)?);
    let fits = declared != inferred && !needed.intersect(declared).is_empty();
    fits.then_some(found)
}

/// The error of the declaration of the value that a node reads at a port.
fn contradicted<'f, 'a>(frame: &'f Frame<'a>, step: StepId, port: Port) -> Option<&'f SolveError<'a>> {
    let value = input(&frame.body, step, port)?;
    let error = frame.rare.value_errors.get(&value)?;
    matches!(error.kind, SolveErrorKind::Contradiction { .. }).then_some(error)
}

fn elements(ty: &Type) -> Option<ElemSet> {
    Some(ty.tensor()?.elem)
}

fn cause(
    operators: &Operators<'_>,
    frame: &Frame<'_>,
    error: &SolveError<'_>,
    uses: &HashMap<(ValueId, Code), usize>,
) -> Option<Cause> {
    let code = error.kind.code();
    match &error.kind {
        SolveErrorKind::NegativeDim { declared_in: Some(_), .. } | SolveErrorKind::EmptyShape { .. } => {
            return Some(Cause::Systematic(code));
        }
        SolveErrorKind::RefutedClaim(claim) if claim.weight == ClaimWeight::Label => {
            return Some(Cause::Systematic(code));
        }
        SolveErrorKind::RefutedClaim(claim) => return Some(Cause::Dim(claim.declared, claim.derived)),
        _ => {}
    }
    let used = |value: &ValueId| uses.get(&(*value, code)).copied().unwrap_or(0);
    let mut best: Option<ValueId> = None;
    for value in candidates(operators, frame, error) {
        if best.is_none_or(|best| used(&value) > used(&best)) {
            best = Some(value);
        }
    }
    best.filter(|value| used(value) > 1).map(|value| Cause::Value(value, code))
}

/// The values that may be the cause of an error of a node.
fn candidates(
    operators: &Operators<'_>,
    frame: &Frame<'_>,
    error: &SolveError<'_>,
) -> SmallVec<[ValueId; 4]> {
    let ErrorSite::Step(step) = error.site else { return SmallVec::new() };
    let elements = matches!(error.kind, SolveErrorKind::Disagree { .. } | SolveErrorKind::NotAllowed { .. });
    if elements && let Some(culprit) = frame.rare.culprits.get(&step) {
        return SmallVec::from_slice(&[type_origin(operators, &frame.body, *culprit)]);
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

/// The value from which another one has its element type: the first one backward through type variables of
/// signatures.
fn type_origin(operators: &Operators<'_>, body: &Body<'_>, value: ValueId) -> ValueId {
    let mut at = value;
    for _ in 0..MAX_STEPS {
        let Some(step) = body.maker(at).filter(|step| body.first_step(*step) == body.last_step(*step)) else {
            break;
        };
        let Some(schema) = operators.op(body.step(step).op).kind.schema() else { break };
        let output = body.outputs(step).iter().position(|output| *output == Some(at));
        let Some(variable) = output.and_then(|output| variable_of(schema, Port::Out(output))) else { break };
        let mut inputs = body.inputs(step).iter().enumerate();
        let tied = inputs.find(|(input, _)| variable_of(schema, Port::In(*input)) == Some(variable));
        let Some((_, Some(next))) = tied else { break };
        at = *next;
    }
    at
}

fn input(body: &Body<'_>, step: StepId, port: Port) -> Option<ValueId> {
    match port {
        Port::In(at) => body.inputs(step).get(at).copied().flatten(),
        Port::Out(_) | Port::BodyIn(..) | Port::BodyOut(..) => None,
    }
}

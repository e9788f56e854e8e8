//! Faults with one cause as one diagnostic.
//!
//! A value of the wrong type or shape is a fault at every node that reads it. Such faults are one group, whose first is shown
//! with the number of the others. Where a fault is between two values, the cause is the one that is in more faults of the
//! same code; what the solver found to be the odd one out among element types counts before that. Declarations that one
//! habit of an exporter makes false are one group for the whole body.

use std::collections::{BTreeMap, HashMap};

use smallvec::SmallVec;

use super::dispatch::code_of;
use super::scope::Scope;
use super::words::count;
use super::{Code, Diagnostic, Fix, MAX_LISTED, Reader};
use crate::fault::{Fault, FaultKind, Place};
use crate::frame::Frame;
use crate::program::{Body, StepId, ValueId};
use crate::rule::{Failure, Port};

/// The shared cause of a group of faults.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Cause {
    /// A value that nodes read.
    Value(ValueId, Code),
    /// A habit of the exporter.
    Habit(Code),
}

/// The faults of each group but the first, by the first one's place and code.
pub(super) struct Groups {
    others: BTreeMap<(Place, Code), Vec<Place>>,
}

impl Groups {
    /// The first fault of each group, and the groups.
    pub(super) fn of<'f, 'a>(frame: &Frame<'_>, faults: Vec<&'f Fault<'a>>) -> (Vec<&'f Fault<'a>>, Self) {
        let mut groups = Self { others: BTreeMap::new() };
        if faults.len() < 2 {
            return (faults, groups);
        }
        let mut uses: HashMap<(ValueId, Code), usize> = HashMap::new();
        for fault in &faults {
            for value in candidates(frame, fault) {
                *uses.entry((value, code_of(&fault.kind))).or_insert(0) += 1;
            }
        }
        let mut first: HashMap<Cause, (Place, Code)> = HashMap::new();
        let mut kept = Vec::with_capacity(faults.len());
        for fault in faults {
            let code = code_of(&fault.kind);
            let Some(cause) = cause(frame, fault, &uses) else {
                kept.push(fault);
                continue;
            };
            match first.get(&cause) {
                Some(group) => groups.others.entry(*group).or_default().push(fault.place),
                None => {
                    first.insert(cause, (fault.place, code));
                    kept.push(fault);
                }
            }
        }
        (kept, groups)
    }

    /// Adds the others of its group to a diagnostic.
    pub(super) fn add_to(
        &mut self,
        fault: &Fault<'_>,
        mut diagnostic: Diagnostic,
        scope: &Scope<'_, '_>,
    ) -> Diagnostic {
        let Some(others) = self.others.remove(&(fault.place, code_of(&fault.kind))) else {
            return diagnostic;
        };
        let what = match fault.kind {
            FaultKind::NegativeDim { .. } | FaultKind::EmptyShape { .. } => "more declaration",
            _ => "more node",
        };
        diagnostic.message.push_str(&format!(" (and {})", count(others.len(), what)));
        if let (Some(Fix::InsertCast { input: at, readers, .. }), Place::Step(step)) =
            (&mut diagnostic.fix, fault.place)
            && let Some(value) = input(scope.body(), step, Port::In(*at))
        {
            let steps = others.iter().filter_map(|place| match place {
                Place::Step(step) => Some(*step),
                Place::Body | Place::Graph(_) | Place::Value(_) => None,
            });
            for step in steps {
                let inputs = scope.body().inputs(scope.body().first_step(step));
                let reads = inputs.iter().enumerate().filter(|(_, read)| **read == Some(value));
                let place = scope.place_of_step(step);
                readers.extend(reads.map(|(input, _)| Reader { place: place.clone(), input }));
            }
        }
        diagnostic.also = others.into_iter().take(MAX_LISTED).map(|place| scope.place(place)).collect();
        diagnostic
    }
}

fn cause(frame: &Frame<'_>, fault: &Fault<'_>, uses: &HashMap<(ValueId, Code), usize>) -> Option<Cause> {
    let code = code_of(&fault.kind);
    match &fault.kind {
        FaultKind::NegativeDim { declared_in: Some(_), .. } | FaultKind::EmptyShape { .. } => {
            return Some(Cause::Habit(code));
        }
        _ => {}
    }
    let used = |value: &ValueId| uses.get(&(*value, code)).copied().unwrap_or(0);
    let mut best: Option<ValueId> = None;
    for value in candidates(frame, fault) {
        if best.is_none_or(|best| used(&value) > used(&best)) {
            best = Some(value);
        }
    }
    best.filter(|value| used(value) > 1).map(|value| Cause::Value(value, code))
}

/// The values that may be the cause of a fault of a node.
fn candidates(frame: &Frame<'_>, fault: &Fault<'_>) -> SmallVec<[ValueId; 4]> {
    let Place::Step(step) = fault.place else { return SmallVec::new() };
    let elements = matches!(fault.kind, FaultKind::Disagree { .. } | FaultKind::NotAllowed { .. });
    if elements && let Some(culprit) = frame.culprits.get(&step) {
        return SmallVec::from_slice(&[*culprit]);
    }
    let ports: SmallVec<[Port; 4]> = match &fault.kind {
        FaultKind::Disagree { left, right, .. } => SmallVec::from_slice(&[left.0, right.0]),
        FaultKind::NotAllowed { port, .. } => SmallVec::from_slice(&[*port]),
        FaultKind::Rule { failure, .. } => match failure {
            Failure::Types { left, right } => SmallVec::from_slice(&[*left, *right]),
            Failure::Element { port, .. }
            | Failure::Kind { port, .. }
            | Failure::Rank { port, .. }
            | Failure::Value { port, .. } => SmallVec::from_slice(&[*port]),
            Failure::Dims { left, right, .. } => SmallVec::from_slice(&[left.port, right.port]),
            Failure::Shapes { ports, .. } => ports.clone(),
            Failure::Attribute { .. }
            | Failure::Contradiction { .. }
            | Failure::Body { .. }
            | Failure::Relation(_)
            | Failure::Malformed(_) => SmallVec::new(),
        },
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

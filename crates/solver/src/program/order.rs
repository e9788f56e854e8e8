//! Errors in the order of nodes: a value that is read before the node that defines it, or a cycle.
//!
//! ONNX requires topological order. A body that is out of order has one error, and each cycle has one. Cycles
//! are the strongly connected components (Tarjan, 1972, with an explicit stack) of the nodes from the first
//! late reader to the last late maker.

use std::collections::BTreeSet;

use super::{Body, StepId, ValueId};
use crate::solve_error::{ErrorSite, SolveError, SolveErrorKind};

/// An input that was read before its value was defined.
#[derive(Clone, Copy, Debug)]
pub(super) struct Late {
    pub(super) value: ValueId,
    pub(super) reader: StepId,
    pub(super) input: usize,
}

/// Adds one error for each cycle, and one for all late inputs outside cycles.
pub(super) fn report(body: &mut Body<'_>, late: &[Late]) {
    let late: Vec<(Late, StepId)> =
        late.iter().filter_map(|late| Some((*late, body.maker(late.value)?))).collect();
    if late.is_empty() {
        return;
    }
    let mut in_cycle = BTreeSet::new();
    for cycle in cycles(body) {
        in_cycle.extend(cycle.iter().map(|(step, _)| *step));
        let site =
            ErrorSite::Step(cycle.iter().map(|(step, _)| *step).min().unwrap_or_else(|| StepId::new(0)));
        body.errors.push(SolveError { site, kind: SolveErrorKind::Cycle { steps: cycle } });
    }
    let is_merely_late =
        |(late, maker): &&(Late, StepId)| !(in_cycle.contains(&late.reader) && in_cycle.contains(maker));
    let merely: Vec<&(Late, StepId)> = late.iter().filter(is_merely_late).collect();
    body.is_unsorted = true;
    let Some((Late { value, reader, input }, maker)) = merely.iter().min_by_key(|(late, _)| late.reader)
    else {
        return;
    };
    let readers: BTreeSet<StepId> = merely.iter().map(|(late, _)| late.reader).collect();
    let kind = SolveErrorKind::UsedBeforeMade {
        value: *value,
        input: *input,
        maker: *maker,
        others: readers.len() - 1,
    };
    body.errors.push(SolveError { site: ErrorSite::Step(*reader), kind });
}

/// One cycle of each strongly connected component: its nodes, each with an input from the next one.
fn cycles(body: &Body<'_>) -> Vec<Vec<(StepId, ValueId)>> {
    let components = components(body);
    let mut members: std::collections::BTreeMap<usize, Vec<StepId>> = std::collections::BTreeMap::new();
    for (at, component) in components.iter().enumerate() {
        members.entry(*component).or_default().push(StepId::new(at));
    }
    members.into_values().filter_map(|steps| one_cycle(body, &components, &steps)).collect()
}

fn makers<'b>(body: &'b Body<'_>, step: StepId) -> impl Iterator<Item = (StepId, ValueId)> + 'b {
    body.inputs(step).iter().flatten().filter_map(|value| Some((body.maker(*value)?, *value)))
}

/// Follows inputs inside a component from its first node until a node repeats.
fn one_cycle(body: &Body<'_>, components: &[usize], steps: &[StepId]) -> Option<Vec<(StepId, ValueId)>> {
    let first = *steps.first()?;
    let component = components[first.index()];
    let mut path: Vec<(StepId, ValueId)> = Vec::new();
    let mut seen = std::collections::BTreeMap::new();
    let mut at = first;
    loop {
        if let Some(start) = seen.insert(at, path.len()) {
            return Some(path.split_off(start));
        }
        let (next, value) = makers(body, at).find(|(maker, _)| components[maker.index()] == component)?;
        if steps.len() == 1 && next != at {
            return None;
        }
        path.push((at, value));
        at = next;
    }
}

/// The number of the strongly connected component of each step.
fn components(body: &Body<'_>) -> Vec<usize> {
    const UNSEEN: usize = usize::MAX;
    let count = body.steps.len();
    let (mut index, mut low, mut component) = (vec![UNSEEN; count], vec![0; count], vec![UNSEEN; count]);
    let (mut next_index, mut next_component) = (0, 0);
    let mut open: Vec<usize> = Vec::new();
    let mut calls: Vec<(usize, usize)> = Vec::new();
    for root in 0..count {
        if index[root] != UNSEEN {
            continue;
        }
        calls.push((root, 0));
        while let Some((at, edge)) = calls.pop() {
            if edge == 0 {
                index[at] = next_index;
                low[at] = next_index;
                next_index += 1;
                open.push(at);
            }
            let inputs = body.inputs(StepId::new(at));
            let mut edge = edge;
            let mut descended = false;
            while edge < inputs.len() {
                let maker = inputs[edge].and_then(|value| body.maker(value)).map(StepId::index);
                edge += 1;
                match maker {
                    Some(maker) if index[maker] == UNSEEN => {
                        // Return to the same edge, to use the result of its target.
                        calls.push((at, edge));
                        calls.push((maker, 0));
                        descended = true;
                        break;
                    }
                    Some(maker) if component[maker] == UNSEEN => low[at] = low[at].min(index[maker]),
                    Some(_) | None => {}
                }
            }
            if descended {
                continue;
            }
            if low[at] == index[at] {
                while let Some(member) = open.pop() {
                    component[member] = next_component;
                    if member == at {
                        break;
                    }
                }
                next_component += 1;
            }
            if let Some((caller, _)) = calls.last() {
                low[*caller] = low[*caller].min(low[at]);
            }
        }
    }
    component
}

//! Errors in the order of nodes: a value that is read before the node that defines it, or a cycle.
//!
//! ONNX requires topological order. A body that is out of order has one error, and each cycle has one. Cycles
//! are the strongly connected components of the nodes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use petgraph::algo::kosaraju_scc;
use petgraph::graph::DiGraph;

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
    let steps = (0..body.steps.len()).map(StepId::new);
    let edges =
        steps.flat_map(|step| makers(body, step).map(move |(maker, _)| (step.index(), maker.index())));
    let components = kosaraju_scc(&DiGraph::<(), (), usize>::from_edges(edges)).into_iter();
    let members = components.map(|nodes| nodes.into_iter().map(|node| StepId::new(node.index())).collect());
    members.filter_map(|steps| one_cycle(body, &steps)).collect()
}

fn makers<'b>(body: &'b Body<'_>, step: StepId) -> impl Iterator<Item = (StepId, ValueId)> + 'b {
    body.inputs(step).iter().flatten().filter_map(|value| Some((body.maker(*value)?, *value)))
}

/// Follows inputs inside a component from its first node until a node repeats.
fn one_cycle(body: &Body<'_>, steps: &BTreeSet<StepId>) -> Option<Vec<(StepId, ValueId)>> {
    let mut at = *steps.first()?;
    let mut path: Vec<(StepId, ValueId)> = Vec::new();
    let mut seen = BTreeMap::new();
    loop {
        if let Some(start) = seen.insert(at, path.len()) {
            return Some(path.split_off(start));
        }
        let (next, value) = makers(body, at).find(|(maker, _)| steps.contains(maker))?;
        path.push((at, value));
        at = next;
    }
}

/// Nodes in topological order, each with the nodes that it needs: repeatedly the first node whose needs
/// precede it (Kahn's algorithm). `None` if there is a cycle.
#[must_use]
pub fn topological_order(needs: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut missing: Vec<usize> = needs.iter().map(Vec::len).collect();
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); needs.len()];
    for (at, needs) in needs.iter().enumerate() {
        for need in needs {
            readers[*need].push(at);
        }
    }
    let mut ready: BinaryHeap<Reverse<usize>> =
        (0..needs.len()).filter(|at| missing[*at] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(needs.len());
    while let Some(Reverse(at)) = ready.pop() {
        order.push(at);
        for reader in &readers[at] {
            missing[*reader] -= 1;
            if missing[*reader] == 0 {
                ready.push(Reverse(*reader));
            }
        }
    }
    (order.len() == needs.len()).then_some(order)
}

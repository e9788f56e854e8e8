//! Order of the steps of a part.
//!
//! The depth of a step is the number of receives that happen before it; steps are sorted by depth. A receive
//! has a greater depth than the last send to its class, a step at least the depth of the values that it
//! reads, and a step on a module slot at least the depth of the earlier steps on that slot.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use typeloom_types::tree::builtin::TYPE_TRIGGER;

use super::{ClassId, PartPlan};
use crate::plan::{Action, ModuleNode, Plan, PlanStep, SlotId, WireValue};
use crate::prepare::WireValues;
use crate::session::Port;

fn module_node(step: &PlanStep) -> Option<&ModuleNode> {
    if let Action::Module(node) = &step.action { Some(node) } else { None }
}

/// The value that a step receives.
pub(super) fn received(step: &PlanStep) -> Option<&WireValue> {
    if let ModuleNode::Receive(wire) = module_node(step)? { Some(wire) } else { None }
}

/// The value that a step sends.
pub(super) fn sent(step: &PlanStep) -> Option<&WireValue> {
    if let ModuleNode::Send(wire) = module_node(step)? { Some(wire) } else { None }
}

/// The module slots of a step, including those of its nested graphs and functions.
fn module_slots(step: &PlanStep) -> BTreeSet<&str> {
    let mut slots = BTreeSet::new();
    let mut open = vec![step];
    while let Some(step) = open.pop() {
        slots.extend(step.info.on_slot.as_deref());
        open.extend(step.action.bodies().flat_map(|body| &body.written.steps));
        if let Action::Function(body) = &step.action {
            open.extend(&body.written.steps);
        }
    }
    slots
}

/// Sorts the steps of a part, and computes the classes whose messages each depends on.
pub(super) fn schedule(
    mut body: Plan,
    wires: &WireValues,
    inputs: Arc<[Port]>,
    outputs: Vec<String>,
) -> PartPlan {
    let mut classes: Vec<String> = wires.values().map(|wire| wire.from.clone()).collect();
    classes.sort();
    classes.dedup();
    let (origins, joined) = (Vec::new(), BTreeSet::new());
    let mut plan = PartPlan { body: Plan::default(), origins, joined, classes, inputs, outputs };
    let is_trigger = |slot: SlotId| body.slot(slot).ty.node.is_some_and(|node| node.id == TYPE_TRIGGER.id);
    let mut origin_of: HashMap<SlotId, BTreeSet<ClassId>> = HashMap::new();
    let mut depth_of: HashMap<SlotId, usize> = HashMap::new();
    let mut depth_on: HashMap<String, usize> = HashMap::new();
    let mut depth_sent: HashMap<String, usize> = HashMap::new();
    let mut order: Vec<(usize, BTreeSet<ClassId>)> = Vec::with_capacity(body.written.steps.len());
    for step in &body.written.steps {
        let mut depth = step.reads().filter_map(|slot| depth_of.get(&slot)).max().copied().unwrap_or(0);
        let mut origin: BTreeSet<ClassId> = step
            .reads()
            .filter(|slot| !is_trigger(*slot))
            .filter_map(|slot| origin_of.get(&slot))
            .flatten()
            .copied()
            .collect();
        if let Some(wire) = received(step) {
            depth = depth_sent.get(&wire.from).map_or(0, |sent| sent + 1);
            origin.extend(plan.class(&wire.from));
        }
        let slots = module_slots(step);
        depth = slots.iter().filter_map(|slot| depth_on.get(*slot)).copied().fold(depth, usize::max);
        for slot in slots {
            depth_on.insert(slot.to_owned(), depth);
        }
        if let Some(wire) = sent(step) {
            let sent = depth_sent.entry(wire.port.peer_class.clone()).or_default();
            *sent = (*sent).max(depth);
        }
        for slot in step.outputs.iter().flatten() {
            if is_trigger(*slot) && !origin.is_empty() {
                plan.joined.insert(*slot);
            }
            origin_of.insert(*slot, origin.clone());
            depth_of.insert(*slot, depth);
        }
        order.push((depth, origin));
    }
    let steps = std::mem::take(&mut body.written.steps);
    let mut steps: Vec<_> = order.into_iter().zip(steps).collect();
    steps.sort_by_key(|((depth, _), _)| *depth);
    for ((_, origin), step) in steps {
        plan.origins.push(origin);
        body.written.steps.push(step);
    }
    plan.body = body;
    plan
}

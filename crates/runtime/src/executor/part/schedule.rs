//! Values of a part that depend on messages.
//!
//! The steps of a part run in the order of the program: nodes that send, receive or change the state of a
//! component are never moved.

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

/// Computes the classes whose messages each step of a part depends on.
pub(super) fn schedule(
    body: Plan,
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
    for step in &body.written.steps {
        let mut origin: BTreeSet<ClassId> = step
            .reads()
            .filter(|slot| !is_trigger(*slot))
            .filter_map(|slot| origin_of.get(&slot))
            .flatten()
            .copied()
            .collect();
        if let Some(wire) = received(step) {
            origin.extend(plan.class(&wire.from));
        }
        for slot in step.outputs.iter().flatten() {
            if is_trigger(*slot) && !origin.is_empty() {
                plan.joined.insert(*slot);
            }
            origin_of.insert(*slot, origin.clone());
        }
        plan.origins.push(origin);
    }
    plan.body = body;
    plan
}

//! Help for a value of an unresolved type: the declaration or binding that would determine it.
//!
//! A breadth-first search from the value finds the nearest node on a slot that has no component, or whose
//! component stores an abstract type. Binding a component of a concrete storage type would determine the
//! type.

use std::collections::{HashMap, HashSet, VecDeque};

use typeloom_program::program::{NodeId, ValueId};
use typeloom_solver::diagnostic::Diagnostic;
use typeloom_types::lattice::lookup_by_id;

use crate::unit::Unit;

/// Maximum number of visited nodes.
const MAX_VISITED: usize = 256;

/// Returns the help for a diagnostic about an unresolved value.
pub(crate) fn help(unit: &Unit, diagnostic: &Diagnostic) -> Option<String> {
    let name = diagnostic.value.as_deref()?;
    let value = unit.program.value_named(name);
    let declare = if unit.graph().inputs.iter().any(|input| Some(input.value) == value) {
        let ty = diagnostic.proposed_type.as_deref().unwrap_or("float[..]");
        format!("declare the type of the input: g.input({name:?}).of({ty:?}) or another type")
    } else {
        format!("declare the type of `{name}` where the module makes it, with `.of(..)`")
    };
    Some(match value.and_then(|value| open_slot(unit, value)) {
        Some((slot, method)) => {
            format!(
                "{declare}; or bind slot `{slot}` to a component that stores a concrete type, with `{method}`"
            )
        }
        None => declare,
    })
}

/// Returns the nearest slot whose binding leaves the type unresolved.
fn open_slot(unit: &Unit, value: ValueId) -> Option<(String, &'static str)> {
    let program = &unit.program;
    let ports = |node: NodeId| program[node].inputs.iter().chain(&program[node].outputs).copied().flatten();
    let mut nodes_by_value: HashMap<ValueId, Vec<NodeId>> = HashMap::new();
    for node in &unit.graph().nodes {
        for value in ports(*node) {
            nodes_by_value.entry(value).or_default().push(*node);
        }
    }
    let mut seen: HashSet<ValueId> = HashSet::new();
    let mut queue: VecDeque<ValueId> = [value].into_iter().collect();
    let mut budget = MAX_VISITED;
    while let Some(value) = queue.pop_front() {
        for node in nodes_by_value.get(&value).into_iter().flatten().copied() {
            budget = budget.checked_sub(1)?;
            if let Some(slot) = unit.facts.slot(node)
                && let Some(info) = unit.slots.get(slot)
            {
                let bound = unit.bindings.get(slot);
                let open = match bound {
                    None => !info.role.storages().is_empty(),
                    Some(bound) => bound
                        .storages
                        .iter()
                        .any(|(_, node)| node.is_abstract() || lookup_by_id(node.id).is_none()),
                };
                if open {
                    return Some((slot.to_owned(), info.role.bind_method()));
                }
            }
            queue.extend(ports(node).filter(|next| seen.insert(*next)));
        }
    }
    None
}

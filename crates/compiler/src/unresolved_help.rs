//! Help for a value of an unresolved type: the declaration or binding that would determine it.
//!
//! A breadth-first search from the value finds the nearest node on a slot that has no component, or whose
//! component stores an abstract type. Binding a component of a concrete storage type would determine the
//! type.

use std::collections::{HashMap, HashSet, VecDeque};

use typeloom_module::ir;
use typeloom_module::names;
use typeloom_onnx::messages::NodeProto;
use typeloom_solver::diagnostic::Diagnostic;
use typeloom_types::lattice::lookup_by_id;

use crate::unit::Unit;

/// Maximum number of visited nodes.
const MAX_VISITED: usize = 256;

/// Returns the help for a diagnostic about an unresolved value.
pub(crate) fn help(unit: &Unit, diagnostic: &Diagnostic) -> Option<String> {
    let graph = unit.graph();
    let value = diagnostic.value.as_deref()?;
    let declare = if graph.input.iter().any(|info| info.name() == value) {
        format!("declare the type of the input: g.input(\"{value}\").of(\"float[..]\") or another type")
    } else {
        format!("declare the type of `{value}` where the module makes it, with `.of(..)`")
    };
    Some(match open_slot(unit, value) {
        Some((slot, method)) => {
            format!(
                "{declare}; or bind slot `{slot}` to a component that stores a concrete type, with `{method}`"
            )
        }
        None => declare,
    })
}

/// Returns the nearest slot whose binding leaves the type unresolved.
fn open_slot(unit: &Unit, value: &str) -> Option<(String, &'static str)> {
    let graph = unit.graph();
    let mut nodes_by_value: HashMap<&str, Vec<&NodeProto>> = HashMap::new();
    for node in &graph.node {
        for name in node.input.iter().chain(&node.output) {
            nodes_by_value.entry(name).or_default().push(node);
        }
    }
    let mut seen: HashSet<&str> = HashSet::new();
    let mut queue: VecDeque<&str> =
        nodes_by_value.get_key_value(value).map(|(name, _)| *name).into_iter().collect();
    let mut budget = MAX_VISITED;
    while let Some(name) = queue.pop_front() {
        for node in nodes_by_value.get(name).into_iter().flatten() {
            budget = budget.checked_sub(1)?;
            if let Some(slot) = ir::metadata(node, names::SLOT_ID)
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
            for next in node.input.iter().chain(&node.output) {
                if seen.insert(next) {
                    queue.push_back(next);
                }
            }
        }
    }
    None
}

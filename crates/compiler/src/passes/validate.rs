//! `validate`: checks that the program has a graph of bounded nesting, and that each slot is used with one
//! contract.
//!
//! Errors of names and types are reported by the solver. This pass checks the properties that other passes
//! rely on.

use indexmap::IndexMap;
use typeloom_contracts::role::Role;
use typeloom_module::ir;
use typeloom_module::names;
use typeloom_module::operators;
use typeloom_module::program::SlotInfo;
use typeloom_onnx::messages::NodeProto;
use typeloom_onnx::nested;
use typeloom_solver::program::MAX_NESTING;

use crate::error::BuildError;
use crate::stage::Parsed;

/// Checks the program and adds the slots that its nodes use.
pub(crate) fn run(mut parsed: Parsed) -> Result<Parsed, BuildError> {
    let Parsed { unit } = &mut parsed;
    let invalid = |message: String| BuildError::InvalidProgram { message };
    let Some(graph) = &unit.model.graph else {
        return Err(invalid("the program has no graph".to_owned()));
    };
    let mut deepest = 0;
    nested::each_graph(graph, |_, depth| deepest = deepest.max(depth));
    for function in &unit.model.functions {
        for graph in function.node.iter().flat_map(nested::graphs) {
            nested::each_graph(graph, |_, depth| deepest = deepest.max(depth + 1));
        }
    }
    if deepest > MAX_NESTING {
        return Err(invalid(format!("graphs are nested more than {MAX_NESTING} deep")));
    }
    let mut errors = Vec::new();
    let mut found: IndexMap<String, Vec<Role>> = IndexMap::new();
    let mut look = |node: &NodeProto| match slot_of(node) {
        Ok(Some((slot, role))) => {
            let roles = match found.get_mut(slot) {
                Some(roles) => roles,
                None => found.entry(slot.to_owned()).or_default(),
            };
            if !roles.contains(&role) {
                roles.push(role);
            }
        }
        Ok(None) => {}
        Err(message) => errors.push(invalid(message)),
    };
    nested::each_node(graph, &mut look);
    for node in unit.model.functions.iter().flat_map(|function| &function.node) {
        look(node);
        nested::graphs(node).for_each(|graph| nested::each_node(graph, &mut look));
    }
    for (slot, roles) in found {
        let known = unit.slots.get(&slot).map_or(roles[0], |info| info.role);
        if let Some(role) = roles.into_iter().find(|role| *role != known) {
            errors.push(invalid(format!("slot `{slot}` is used as {known} and as {role}")));
        }
        unit.slots.entry(slot).or_insert(SlotInfo { role: known, location: None });
    }
    for slot in unit.bindings.bound_twice() {
        errors.push(BuildError::BoundTwice { slot: slot.clone() });
    }
    for (slot, _) in unit.bindings.iter().filter(|(slot, _)| !unit.slots.contains_key(*slot)) {
        let known = unit.slots.keys().cloned().collect();
        errors.push(BuildError::NoSuchSlot { slot: slot.to_owned(), known });
    }
    BuildError::of(errors).map(|()| parsed)
}

/// Returns the slot of a node and the contract that the node requires; `None` for a node without a slot.
fn slot_of(node: &NodeProto) -> Result<Option<(&str, Role)>, String> {
    let op = node.op_type();
    let domain = node.domain();
    let of_contract = Role::ALL.iter().find(|role| !domain.is_empty() && role.domain() == domain);
    let Some(slot) = ir::metadata(node, names::SLOT_ID) else {
        return match of_contract {
            Some(role) => Err(format!("node `{op}` needs a slot: it is an operator of {role}")),
            None => Ok(None),
        };
    };
    let role = ir::metadata(node, names::REQUIRED_TRAIT).and_then(Role::from_trait_name);
    let Some(role) = role else {
        return Err(format!("node `{op}` runs on slot `{slot}`, but declares no contract"));
    };
    if slot.is_empty() {
        return Err(format!("node `{op}` runs on a slot without a name"));
    }
    let fits = if role == Role::Backend {
        operators::OPSETS.iter().all(|opset| opset.domain != domain)
    } else if role == Role::Protocol {
        of_contract.is_none()
    } else {
        role.domain() == domain
    };
    if !fits {
        return Err(format!(
            "`{op}` of domain `{domain}` is not an operator of {role}, the contract of slot `{slot}`"
        ));
    }
    Ok(Some((slot, role)))
}

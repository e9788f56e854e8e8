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
use crate::error::invalid_program::InvalidProgram;
use crate::stage::Parsed;

/// Checks the program and adds the slots that its nodes use.
pub(crate) fn run(mut parsed: Parsed) -> Result<Parsed, BuildError> {
    let Parsed { unit } = &mut parsed;
    let Some(graph) = &unit.model.graph else {
        return Err(InvalidProgram::NoGraph.into());
    };
    let mut deepest = 0;
    nested::each_graph(graph, |_, depth| deepest = deepest.max(depth));
    for function in &unit.model.functions {
        for graph in function.node.iter().flat_map(nested::graphs) {
            nested::each_graph(graph, |_, depth| deepest = deepest.max(depth + 1));
        }
    }
    if deepest > MAX_NESTING {
        return Err(InvalidProgram::NestedTooDeep.into());
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
        Err(error) => errors.push(error.into()),
    };
    nested::each_node(graph, &mut look);
    for node in unit.model.functions.iter().flat_map(|function| &function.node) {
        look(node);
        nested::graphs(node).for_each(|graph| nested::each_node(graph, &mut look));
    }
    for (slot, roles) in found {
        let known = unit.slots.get(&slot).map_or(roles[0], |info| info.role);
        if let Some(other) = roles.into_iter().find(|role| *role != known) {
            errors.push(InvalidProgram::SlotRoles { slot: slot.clone(), known, other }.into());
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
fn slot_of(node: &NodeProto) -> Result<Option<(&str, Role)>, InvalidProgram> {
    let op = || node.op_type().to_owned();
    let domain = node.domain();
    let of_contract = Role::ALL.iter().find(|role| !domain.is_empty() && role.domain() == domain);
    let Some(slot) = ir::metadata(node, names::SLOT_ID) else {
        return match of_contract {
            Some(role) => Err(InvalidProgram::NoSlot { op: op(), role: *role }),
            None => Ok(None),
        };
    };
    let role = ir::metadata(node, names::REQUIRED_TRAIT).and_then(Role::from_trait_name);
    let Some(role) = role else {
        return Err(InvalidProgram::NoContract { op: op(), slot: slot.to_owned() });
    };
    if slot.is_empty() {
        return Err(InvalidProgram::NamelessSlot { op: op() });
    }
    let fits = if role == Role::Backend {
        operators::OPSETS.iter().all(|opset| opset.domain != domain)
    } else if role == Role::Protocol {
        of_contract.is_none()
    } else {
        role.domain() == domain
    };
    if !fits {
        let (domain, slot) = (domain.to_owned(), slot.to_owned());
        return Err(InvalidProgram::OtherContract { op: op(), domain, role, slot });
    }
    Ok(Some((slot, role)))
}

//! `validate`: checks that the nesting of graphs is bounded, and that each slot is used with one contract.
//!
//! Errors of names and types are reported by the solver. This pass checks the properties that other passes
//! rely on.

use indexmap::IndexMap;
use typeloom_contracts::role::Role;
use typeloom_module::operators;
use typeloom_module::program::SlotInfo;
use typeloom_program::domain::Domain;
use typeloom_program::facts::{Facts, Placement, StampError};
use typeloom_program::program::{Node, NodeId, Program};
use typeloom_solver::program::MAX_NESTING;

use crate::error::BuildError;
use crate::error::invalid_program::InvalidProgram;
use crate::stage::Parsed;

/// Checks the program and adds the slots that its nodes use.
pub(crate) fn run(mut parsed: Parsed) -> Result<Parsed, BuildError> {
    let Parsed { unit } = &mut parsed;
    let (program, facts) = (&unit.program, &unit.facts);
    if program.bodies().any(|body| program.depth(body) > MAX_NESTING) {
        return Err(InvalidProgram::NestedTooDeep.into());
    }
    let mut errors = Vec::new();
    let mut found: IndexMap<String, Vec<Role>> = IndexMap::new();
    for node in program.all_nodes() {
        match slot_of(program, facts, node) {
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
        }
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
fn slot_of<'p>(
    program: &Program,
    facts: &'p Facts,
    node: NodeId,
) -> Result<Option<(&'p str, Role)>, InvalidProgram> {
    let Node { op, domain, .. } = &program[node];
    let op = || op.clone();
    let contradiction = facts.contradictions.get(node).map(|it| &it.error);
    if let Some(StampError::NoRole { slot, .. }) = contradiction {
        return Err(InvalidProgram::NoContract { op: op(), slot: slot.clone() });
    }
    let Some(Placement { slot, role, .. }) = facts.placements.get(node) else {
        return match domain {
            Domain::Contract(role) => Err(InvalidProgram::NoSlot { op: op(), role: *role }),
            _ => Ok(None),
        };
    };
    if slot.is_empty() {
        return Err(InvalidProgram::NamelessSlot { op: op() });
    }
    let fits = match role {
        Role::Backend => operators::OPSETS.iter().all(|opset| opset.domain != domain.name()),
        Role::Protocol => !matches!(domain, Domain::Contract(_)),
        role => *domain == Domain::Contract(*role),
    };
    if !fits {
        let (domain, slot) = (domain.name().to_owned(), slot.to_string());
        return Err(InvalidProgram::OtherContract { op: op(), domain, role: *role, slot });
    }
    Ok(Some((slot, *role)))
}

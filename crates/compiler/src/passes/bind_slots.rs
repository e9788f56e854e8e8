//! `bind_slots`: checks that every slot has a component of its role, and notes the storage types of
//! components with the nodes.
//!
//! This pass normalises aliases: the solver reads `<compute as Backend>::Tensor` from the placement of the
//! nodes on `compute`. It applies to ports of stored tensors only; the ids of an index and triggers have
//! fixed types.

use std::collections::HashMap;
use std::sync::Arc;

use typeloom_contracts::protocol::Protocols;
use typeloom_contracts::role::Role;
use typeloom_module::Map;
use typeloom_module::bindings::{Alias, Binding};
use typeloom_onnx::messages::SharedText;
use typeloom_program::facts::Placement;
use typeloom_solver::model::Mode;
use typeloom_types::lattice::lookup_by_id;
use typeloom_types::op::AtomicOpsetDecl;

use crate::error::BuildError;
use crate::stage::Expanded;
use crate::unit::Unit;

/// Checks the components of all slots and notes their storage types with the nodes.
pub(crate) fn run(mut expanded: Expanded) -> Result<Expanded, BuildError> {
    let Expanded { unit } = &mut expanded;
    bind_registered_protocols(unit);
    let mut errors = Vec::new();
    let mut stored: Map<String, Arc<[(SharedText, SharedText)]>> = Map::default();
    for (slot, info) in &unit.slots {
        let Some(bound) = unit.bindings.get(slot) else {
            if unit.mode == Mode::Strict {
                let (slot, role, location) = (slot.clone(), info.role, info.location);
                errors.push(BuildError::UnboundSlot { slot, role, location });
            }
            continue;
        };
        if bound.role != info.role {
            errors.push(BuildError::SlotRole {
                slot: slot.clone(),
                required: info.role,
                bound: bound.role,
                component: bound.component.to_owned(),
                location: info.location,
            });
            continue;
        }
        let unregistered = bound.storages.iter().filter(|(_, node)| lookup_by_id(node.id) != Some(node));
        errors.extend(unregistered.map(|(assoc, node)| BuildError::UnregisteredStorage {
            slot: slot.clone(),
            component: bound.component.to_owned(),
            assoc: (*assoc).to_owned(),
            id: node.id.to_owned(),
            has_other: lookup_by_id(node.id).is_some(),
            location: info.location,
        }));
        let aliases = info.role.storages().iter().map(|assoc| {
            let alias = Alias { slot: slot.clone(), role: info.role, assoc };
            Some(((*assoc).into(), alias.normalise(&unit.bindings)?.id.into()))
        });
        stored.insert(slot.clone(), aliases.flatten().collect());
    }
    BuildError::of(errors)?;
    let Unit { program, facts, .. } = unit;
    for node in program.nodes_in(program.main()) {
        if let Some(placement) = facts.placements.get_mut(node)
            && let Some(storages) = stored.get(&*placement.slot)
        {
            placement.storages = Arc::clone(storages);
        }
    }
    Ok(expanded)
}

/// Binds the slots without a component whose nodes are operators of a registered protocol: the registration
/// has all that a compilation needs of the component.
fn bind_registered_protocols(unit: &mut Unit) {
    let registered: HashMap<&str, &'static AtomicOpsetDecl> =
        Protocols::registered().map(|opset| (opset.domain, opset)).collect();
    if registered.is_empty() {
        return;
    }
    let Unit { program, facts, bindings, .. } = unit;
    for node in program.nodes_in(program.main()) {
        if let Some(Placement { slot, role: Role::Protocol, .. }) = facts.placements.get(node)
            && let Some(opset) = registered.get(program[node].domain.name())
            && bindings.get(slot).is_none()
        {
            let (role, component) = (Role::Protocol, opset.domain);
            let binding = Binding { role, component, storages: vec![], opsets: &[], protocol: Some(*opset) };
            *bindings = std::mem::take(bindings).bind(slot, binding);
        }
    }
}

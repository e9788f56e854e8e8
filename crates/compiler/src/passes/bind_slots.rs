//! `bind_slots`: checks that every slot has a component of its role, and notes the storage types of
//! components with the nodes.
//!
//! This pass normalises aliases: the solver reads `<compute as Backend>::Tensor` from the placement of the
//! nodes on `compute`. It applies to ports of stored tensors only; the ids of an index and triggers have
//! fixed types.

use std::sync::Arc;

use typeloom_module::Map;
use typeloom_module::bindings::Alias;
use typeloom_onnx::messages::SharedText;
use typeloom_solver::model::Mode;

use crate::error::BuildError;
use crate::stage::Expanded;
use crate::unit::Unit;

/// Checks the components of all slots and notes their storage types with the nodes.
pub(crate) fn run(mut expanded: Expanded) -> Result<Expanded, BuildError> {
    let Expanded { unit } = &mut expanded;
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

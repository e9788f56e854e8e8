//! `bind_slots`: checks that every slot has a component of its role, and writes the storage types of
//! components onto the nodes.
//!
//! This pass normalises aliases: the solver reads `<compute as Backend>::Tensor` from the metadata of the
//! nodes on `compute`. It applies to ports of stored tensors only; the ids of an index and triggers have
//! fixed types.

use typeloom_module::bindings::Alias;
use typeloom_module::ir::{self, Map};
use typeloom_module::names;
use typeloom_module::operators::binding_key;
use typeloom_onnx::messages::SharedText;
use typeloom_onnx::nested;
use typeloom_solver::model::Mode;

use crate::error::BuildError;
use crate::stage::Expanded;

/// Checks the components of all slots and writes their storage types onto the nodes.
pub(crate) fn run(mut expanded: Expanded) -> Result<Expanded, BuildError> {
    let Expanded { unit } = &mut expanded;
    let mut errors = Vec::new();
    let mut stamps: Map<String, Vec<(SharedText, SharedText)>> = Map::default();
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
            (binding_key(assoc), alias.normalise(&unit.bindings))
        });
        let stored = aliases.filter_map(|(key, node)| Some((key.into(), node?.id.into()))).collect();
        stamps.insert(slot.clone(), stored);
    }
    BuildError::of(errors)?;
    nested::each_node_mut(unit.graph_mut(), |node| {
        let Some(stored) = ir::metadata(node, names::SLOT_ID).and_then(|slot| stamps.get(slot)) else {
            return;
        };
        for (key, id) in stored {
            ir::set(&mut node.metadata_props, key, id);
        }
    });
    Ok(expanded)
}

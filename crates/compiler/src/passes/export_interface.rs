//! `export_interface`: computes the types of the exports and of the requirements of slots.
//!
//! The main function is exported under the module's name, each part of a partitioned program under its class.
//! The requirement of a slot is exported under [`SLOTS`] and the slot's name, as a structure with the name of
//! the contract and a field for each associated type. One digest covers the requirements on callers and on
//! components.

use typeloom_interface::Interface;
use typeloom_interface::recorded::{PARTS, SLOTS};
use typeloom_module::bindings::{Binding, Bindings};
use typeloom_pool::{Idx, Pool};
use typeloom_program::program::{Part, Program, ValueId};

use crate::error::BuildError;
use crate::error::invalid_interface::InvalidInterface;
use crate::stage::{Dispatched, Exported, Exports};

/// Computes the types of the exports.
pub(crate) fn run(dispatched: Dispatched) -> Result<Exported, BuildError> {
    let Dispatched { unit, interface } = dispatched;
    let mut exports = Exports::default();
    let Exports { pool, types, names } = &mut exports;
    let name = if unit.name().is_empty() { typeloom_interface::MAIN } else { unit.name() };
    if let Some(prefix) = [SLOTS, PARTS].into_iter().find(|prefix| name.starts_with(prefix)) {
        return Err(InvalidInterface::ReservedName { name: name.to_owned(), prefix }.into());
    }
    let mut encode = |label: String, interface: &Interface, pool: &mut Pool| {
        let (ty, variables) = interface.to_pool_named(pool).map_err(BuildError::interface)?;
        types.insert(label.clone(), ty);
        names.insert(label, variables);
        Ok::<(), BuildError>(())
    };
    encode(name.to_owned(), &interface, pool)?;
    for part in &unit.program.parts {
        let interface = interface_of_part(&interface, &unit.program, part);
        encode(format!("{PARTS}{}", part.name()), &interface, pool)?;
    }
    for slot in unit.slots.keys() {
        if let Some(bound) = unit.bindings.get(slot) {
            types.insert(format!("{SLOTS}{slot}"), slot_type(pool, bound)?);
        }
    }
    let interface = exports.module().map_err(BuildError::interface)?;
    Ok(Exported { unit, interface, exports })
}

/// Returns the interface of one part.
pub(crate) fn interface_of_part(whole: &Interface, program: &Program, part: &Part) -> Interface {
    let mut own = whole.clone();
    let has = |values: &[ValueId], name: &str| values.iter().any(|value| *program[*value].name == *name);
    own.inputs.retain(|parameter| has(&part.inputs, &parameter.name));
    own.outputs.retain(|parameter| has(&part.outputs, &parameter.name));
    own
}

/// Returns the type that a slot requires of its component.
fn slot_type(pool: &mut Pool, bound: &Binding) -> Result<Idx, BuildError> {
    let mut fields = Vec::new();
    for (assoc, node) in &bound.storages {
        let name = pool.name(node.id).map_err(BuildError::interface)?;
        let stored = pool.opaque(name).map_err(BuildError::interface)?;
        fields.push((pool.name(assoc).map_err(BuildError::interface)?, stored));
    }
    if let Some(opset) = bound.protocol {
        let name =
            pool.name(&format!("{} {}", opset.domain, opset.version)).map_err(BuildError::interface)?;
        let stored = pool.opaque(name).map_err(BuildError::interface)?;
        fields.push((pool.name("opset").map_err(BuildError::interface)?, stored));
    }
    let role = pool.name(bound.role.trait_name()).map_err(BuildError::interface)?;
    pool.structure(role, &fields).map_err(BuildError::interface)
}

/// Returns the types of components by slot, in the form of exported requirements.
pub(crate) fn provided(pool: &mut Pool, bindings: &Bindings) -> Result<Vec<(String, Idx)>, BuildError> {
    let slots = bindings.iter().map(|(slot, bound)| Ok((slot.to_owned(), slot_type(pool, bound)?)));
    slots.collect()
}

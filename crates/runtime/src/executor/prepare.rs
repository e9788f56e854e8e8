//! What runs a node of a compiled module, read off its stamps: the slot, the contract, what the compiler resolved it to. Nothing is
//! solved or chosen here.

use typeloom_contracts::role::Role;
use typeloom_cpu::ops;
use typeloom_module::names;
use typeloom_onnx::messages::NodeProto;
use typeloom_types::lattice::lookup_by_id;

use super::error::LinkError;
use super::part::Wires;
use super::plan::{Data, Own, PeerOp};
use super::structural::dtype_of;
use crate::components::Components;
use crate::plan::About;
use crate::prepare::{Preparation, stamp};

/// What a module is linked with.
#[derive(Clone, Copy)]
pub(crate) struct Linked<'m> {
    pub(crate) components: &'m Components,
    /// The values on the wire, where what is prepared is a part.
    pub(crate) wires: Option<&'m Wires>,
}

pub(crate) fn string<'n>(node: &'n NodeProto, name: &str) -> Option<&'n str> {
    let attribute = node.attribute.iter().find(|attribute| attribute.name() == name)?;
    std::str::from_utf8(attribute.s.as_deref()?).ok()
}

fn keys(node: &NodeProto) -> Vec<String> {
    let attribute = node.attribute.iter().find(|attribute| attribute.name() == "keys");
    let strings = attribute.map(|attribute| attribute.strings.as_slice()).unwrap_or_default();
    strings.iter().map(|key| String::from_utf8_lossy(key).into_owned()).collect()
}

pub(crate) fn unknown(about: &About) -> LinkError {
    let (node, domain, op) = (about.node.clone(), about.domain.clone(), about.op.clone());
    LinkError::UnknownOperator { node, domain, op }
}

/// What runs a node, where it is one that models do not have.
pub(crate) fn own(
    preparation: &Preparation<'_, Data>,
    node: &NodeProto,
    about: &About,
) -> Result<Option<Own>, LinkError> {
    let linked = &preparation.linked;
    if let Some(slot) = &about.on {
        return component(linked.components, node, about, slot).map(Some);
    }
    Ok(Some(match (&*about.domain, &*about.op) {
        (names::TYPES_DOMAIN, "Identity") => Own::Pass,
        (names::TYPES_DOMAIN, "Cast") => {
            let to = string(node, "to").unwrap_or_default();
            let found = lookup_by_id(to).filter(|node| dtype_of(node).is_some());
            let no_cast = || LinkError::NoCast { node: about.node.clone(), to: to.to_owned() };
            Own::Cast { to: found.ok_or_else(no_cast)? }
        }
        (names::COMPOSITE_DOMAIN, "Bundle") => Own::Bundle { keys: keys(node) },
        (names::COMPOSITE_DOMAIN, "Unbundle") => Own::Unbundle { keys: keys(node) },
        // A list of peers has no axes to be added or taken away.
        (names::PEERS_DOMAIN, "Identity" | "Squeeze" | "Unsqueeze") => Own::Pass,
        (names::PEERS_DOMAIN, op @ ("Slice" | "Gather" | "Concat")) => {
            let kernel = ops::find("", op).ok_or_else(|| unknown(about))?;
            let attributes = preparation.attributes(node)?;
            Own::Peers(PeerOp { kernel, attributes, all: op == "Concat" })
        }
        (names::WIRE_DOMAIN, op @ ("Send" | "Recv")) => {
            let Some(wires) = linked.wires else {
                return Err(LinkError::InParts { node: about.node.clone() });
            };
            let wire = string(node, "wire").and_then(|wire| wires.get(wire)).ok_or_else(|| unknown(about))?;
            if op == "Send" { Own::Send(wire.clone()) } else { Own::Receive(wire.clone()) }
        }
        (names::IMPORT_DOMAIN, "Call") => {
            let function = string(node, "function").unwrap_or_default();
            let program = linked.components.linked(function).cloned();
            let missing =
                || LinkError::NoFunction { node: about.node.clone(), function: function.to_owned() };
            Own::Call(program.ok_or_else(missing)?)
        }
        _ => return Ok(None),
    }))
}

/// What runs a node of a slot.
fn component(components: &Components, node: &NodeProto, about: &About, slot: &str) -> Result<Own, LinkError> {
    let words = || about.node.clone();
    let asks = stamp(node, names::REQUIRED_TRAIT).unwrap_or_default();
    let unresolved = || LinkError::Unresolved { node: words(), slot: slot.to_owned() };
    let role = Role::from_trait_name(asks).ok_or_else(unresolved)?;
    let bound = components.bindings().get(slot);
    let missing = || LinkError::NoComponent { node: words(), slot: slot.to_owned(), role };
    let found = bound.ok_or_else(missing)?.role;
    if found != role {
        let (slot, asks) = (slot.to_owned(), asks.to_owned());
        return Err(LinkError::Role { node: words(), slot, asks, found });
    }
    if stamp(node, names::DISPATCH).is_none() {
        return Err(unresolved());
    }
    let component = components.get(slot).ok_or_else(missing)?;
    let no_method = || LinkError::NoMethod { node: words(), role, op: node.op_type().to_owned() };
    component.method(node).map(Own::Method).ok_or_else(no_method)
}

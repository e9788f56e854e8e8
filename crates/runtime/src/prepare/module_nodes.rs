//! Nodes that occur in compiled modules only: components, messages and structural operators.
//!
//! The metadata of a node states its slot, the contract of the slot and the method that the compiler resolved
//! it to, see [`typeloom_module::dispatch`].

use typeloom_cpu::attributes::Attributes;
use typeloom_cpu::ops;
use typeloom_module::dispatch::Stamp;
use typeloom_module::ir;
use typeloom_module::names;
use typeloom_onnx::messages::NodeProto;
use typeloom_types::dtype::Dtype;
use typeloom_types::lattice::lookup_by_id;

use super::Linked;
use crate::components::Components;
use crate::error::{LinkError, PrepareError};
use crate::plan::{ModuleNode, NodeInfo, PeerListOperator};

pub(crate) fn string<'n>(node: &'n NodeProto, name: &str) -> Option<&'n str> {
    std::str::from_utf8(node.find_attribute(name)?.s.as_deref()?).ok()
}

/// Resolves a node; `None` for nodes that models have too.
pub(super) fn resolve(
    linked: Linked<'_>,
    node: &NodeProto,
    info: &NodeInfo,
) -> Result<Option<ModuleNode>, PrepareError> {
    let label = || info.label.clone();
    let stamp = Stamp::read(node).map_err(|error| LinkError::Stamp { node: label(), error })?;
    if let Some(stamp) = stamp {
        return Ok(Some(method(linked.components, node, info, stamp)?));
    }
    let unknown = || {
        let (domain, op) = (info.domain.clone(), info.op.clone());
        LinkError::UnknownOperator { node: label(), domain, op }
    };
    Ok(Some(match (&*info.domain, &*info.op) {
        (names::TYPES_DOMAIN, "Identity") => ModuleNode::Identity,
        (names::TYPES_DOMAIN, "Cast") => {
            let to = string(node, "to").unwrap_or_default();
            let found = lookup_by_id(to).filter(|node| Dtype::from_node_id(node.id).is_some());
            ModuleNode::Cast(found.ok_or_else(|| LinkError::NoCast { node: label(), to: to.to_owned() })?)
        }
        (names::COMPOSITE_DOMAIN, "Bundle") => ModuleNode::Bundle { keys: ir::keys(node) },
        (names::COMPOSITE_DOMAIN, "Unbundle") => ModuleNode::Unbundle { keys: ir::keys(node) },
        // A list of peers has no axes to add or remove.
        (names::PEERS_DOMAIN, "Identity" | "Squeeze" | "Unsqueeze") => ModuleNode::Identity,
        (names::PEERS_DOMAIN, op @ ("Slice" | "Gather" | "Concat")) => {
            let operator = ops::find("", op).ok_or_else(unknown)?;
            let attributes = Attributes::decode(&node.attribute)?;
            let all_inputs_are_lists = op == "Concat";
            ModuleNode::PeerList(PeerListOperator { operator, attributes, all_inputs_are_lists })
        }
        (names::WIRE_DOMAIN, op @ ("Send" | "Recv")) => {
            let wires = linked.wires.ok_or_else(|| LinkError::InParts { node: label() })?;
            let wire = string(node, "wire").and_then(|wire| wires.get(wire)).ok_or_else(unknown)?.clone();
            if op == "Send" { ModuleNode::Send(wire) } else { ModuleNode::Receive(wire) }
        }
        (names::IMPORT_DOMAIN, "Call") => {
            let function = string(node, "function").unwrap_or_default();
            let program = linked.components.linked_function(function);
            let missing = || LinkError::NoFunction { node: label(), function: function.to_owned() };
            ModuleNode::Call(program.ok_or_else(missing)?)
        }
        _ => return Ok(None),
    }))
}

/// Resolves a node on a slot to the method of the slot's component that its stamp names.
fn method(
    components: &Components,
    node: &NodeProto,
    info: &NodeInfo,
    stamp: Stamp<'_>,
) -> Result<ModuleNode, LinkError> {
    let label = || info.label.clone();
    let Stamp { slot, role, method } = stamp;
    let missing = || LinkError::NoComponent { node: label(), slot: slot.to_owned(), role };
    let found = components.bindings().get(slot).ok_or_else(missing)?.role;
    if found != role {
        let (slot, required) = (slot.to_owned(), role.trait_name().to_owned());
        return Err(LinkError::Role { node: label(), slot, required, found });
    }
    let unresolved = || LinkError::Unresolved { node: label(), slot: slot.to_owned() };
    let method = method.ok_or_else(unresolved)?;
    let component = components.get(slot).ok_or_else(missing)?;
    let no_method = || LinkError::NoMethod { node: label(), role, method: method.to_owned() };
    component(method, node).map(ModuleNode::Method).ok_or_else(no_method)
}

//! Nodes that occur in compiled modules only: components, messages and structural operators.
//!
//! The placement of a node states its slot, the contract of the slot and the method that the compiler resolved
//! it to, see [`typeloom_module::dispatch`].

use typeloom_cpu::attributes::Attributes;
use typeloom_cpu::ops;
use typeloom_module::dispatch::check_attributes;
use typeloom_onnx::messages::{AttributeProto, NodeProto};
use typeloom_program::domain::Domain;
use typeloom_program::facts::{Facts, Placement};
use typeloom_program::program::{NodeId, Program};
use typeloom_program::write::write_node;
use typeloom_types::dtype::Dtype;
use typeloom_types::lattice::lookup_by_id;

use super::Linked;
use crate::components::Components;
use crate::error::{LinkError, PrepareError};
use crate::plan::{ModuleNode, NodeInfo, PeerListOperator};

pub(crate) fn string<'n>(attributes: &'n [AttributeProto], name: &str) -> Option<&'n str> {
    let attribute = attributes.iter().find(|attribute| attribute.name() == name)?;
    std::str::from_utf8(attribute.s.as_deref()?).ok()
}

/// Resolves a node with its attributes; `None` for nodes that models have too.
pub(super) fn resolve(
    linked: Linked<'_>,
    program: &Program,
    facts: &Facts,
    (id, attributes): (NodeId, &[AttributeProto]),
    info: &NodeInfo,
) -> Result<Option<ModuleNode>, PrepareError> {
    let label = || info.label.clone();
    let node = &program[id];
    if let Some(contradiction) = facts.contradictions.get(id) {
        return Err(LinkError::Stamp { node: label(), error: contradiction.error.clone() }.into());
    }
    if let Some(placement) = facts.placements.get(id) {
        check_attributes(placement, node).map_err(|error| LinkError::Stamp { node: label(), error })?;
        let message = NodeProto { attribute: attributes.to_vec(), ..write_node(program, facts, id) };
        return Ok(Some(method(linked.components, &message, info, placement)?));
    }
    let unknown = || {
        let (domain, op) = (info.domain.clone(), info.op.clone());
        LinkError::UnknownOperator { node: label(), domain, op }
    };
    Ok(Some(match (&node.domain, node.op.as_str()) {
        (Domain::Types, "Identity") => ModuleNode::Identity,
        (Domain::Types, "Cast") => {
            let to = string(attributes, "to").unwrap_or_default();
            let found = lookup_by_id(to).filter(|node| Dtype::from_node_id(node.id).is_some());
            ModuleNode::Cast(found.ok_or_else(|| LinkError::NoCast { node: label(), to: to.to_owned() })?)
        }
        (Domain::Composite, "Bundle") => ModuleNode::Bundle { keys: node.texts("keys") },
        (Domain::Composite, "Unbundle") => ModuleNode::Unbundle { keys: node.texts("keys") },
        // A list of peers has no axes to add or remove.
        (Domain::Peers, "Identity" | "Squeeze" | "Unsqueeze") => ModuleNode::Identity,
        (Domain::Peers, op @ ("Slice" | "Gather" | "Concat")) => {
            let operator = ops::find(Domain::Onnx.name(), op).ok_or_else(unknown)?;
            let attributes = Attributes::decode(attributes)?;
            let all_inputs_are_lists = op == "Concat";
            ModuleNode::PeerList(PeerListOperator { operator, attributes, all_inputs_are_lists })
        }
        (Domain::Wire, op @ ("Send" | "Recv")) => {
            let wires = linked.wires.ok_or_else(|| LinkError::InParts { node: label() })?;
            let wire = if op == "Send" { node.first_output() } else { node.first_input() };
            let wire = wire.and_then(|wire| wires.get(&wire)).ok_or_else(unknown)?.clone();
            if op == "Send" { ModuleNode::Send(wire) } else { ModuleNode::Receive(wire) }
        }
        (Domain::Import, "Call") => {
            let function = string(attributes, "function").unwrap_or_default();
            let program = linked.components.linked_function(function);
            let missing = || LinkError::NoFunction { node: label(), function: function.to_owned() };
            ModuleNode::Call(program.ok_or_else(missing)?)
        }
        _ => return Ok(None),
    }))
}

/// Resolves a node on a slot to the method of the slot's component that its placement names.
fn method(
    components: &Components,
    node: &NodeProto,
    info: &NodeInfo,
    placement: &Placement,
) -> Result<ModuleNode, LinkError> {
    let label = || info.label.clone();
    let Placement { slot, role, method, .. } = placement;
    let missing = || LinkError::NoComponent { node: label(), slot: slot.to_string(), role: *role };
    let found = components.bindings().get(slot).ok_or_else(missing)?.role;
    if found != *role {
        let (slot, required) = (slot.to_string(), role.trait_name().to_owned());
        return Err(LinkError::Role { node: label(), slot, required, found });
    }
    let unresolved = || LinkError::Unresolved { node: label(), slot: slot.to_string() };
    let method = method.as_deref().ok_or_else(unresolved)?;
    let component = components.get(slot).ok_or_else(missing)?;
    let no_method = || LinkError::NoMethod { node: label(), role: *role, method: method.to_owned() };
    component(method, node).map(ModuleNode::Method).ok_or_else(no_method)
}

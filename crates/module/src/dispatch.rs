//! The methods of contracts that run nodes.
//!
//! A node on a slot has a [`Placement`]: the slot, its contract and, once it is resolved, the method.
//! `resolve_dispatch` sets the method that [`method_of`] returns. The method then takes precedence over the
//! operator: the executor runs it, and loading an artifact types the node as the operator that
//! [`operator_of`] returns for the method.
//!
//! **Invariant:** `operator_of` inverts `method_of`.

use typeloom_contracts::role::Role;
use typeloom_onnx::messages::AttributeProto;
use typeloom_program::domain::Domain;
use typeloom_program::facts::{Placement, StampError};
use typeloom_program::program::Node;
use typeloom_types::dtype::Dtype;
use typeloom_types::op::primitives::TENSOR_PRIMITIVES;
use typeloom_types::op::{AtomicOpDecl, AtomicOpsetDecl, PortDecl};

use crate::graph::operators::method_name;
use crate::names::snake_case;
use crate::operators::OPSETS;

/// The method of a backend that executes a graph.
pub const EXECUTE: &str = "execute";

/// Checks that the method of a node reads all attributes of the node.
///
/// # Errors
/// [`StampError::Attribute`].
pub fn check_attributes(placement: &Placement, node: &Node) -> Result<(), StampError> {
    let Some(method) = &placement.method else { return Ok(()) };
    let Some(known) = attributes(placement.role, method) else { return Ok(()) };
    let unknown = node.attributes.iter().map(AttributeProto::name).find(|name| !known.contains(name));
    unknown.map_or(Ok(()), |attribute| {
        let (method, attribute) = (method.to_string(), attribute.to_owned());
        Err(StampError::Attribute { method, attribute })
    })
}

/// The attributes that a method reads; `None` for methods whose attributes the contract does not define.
fn attributes(role: Role, method: &str) -> Option<&'static [&'static str]> {
    match (role, method) {
        (Role::Backend | Role::Protocol, _) => None,
        (Role::Index, "search") => Some(&["k"]),
        (Role::PeerSelector, "select" | "sample") => Some(&["count"]),
        _ => Some(&[]),
    }
}

/// Returns the method of a contract that runs a node.
#[must_use]
pub fn method_of(role: Role, node: &Node) -> String {
    match role {
        Role::Backend if is_primitive_form(node) => method_name(&node.op),
        Role::Backend => EXECUTE.to_owned(),
        _ => snake_case(&node.op),
    }
}

/// Returns the domain and the name of the operator that a method runs for a node; `None` if the contract does
/// not have the method. `protocol` is the operator set of a protocol.
#[must_use]
pub fn operator_of<'n>(
    role: Role,
    method: &str,
    node: &'n Node,
    protocol: Option<&AtomicOpsetDecl>,
) -> Option<(Domain, &'n str)> {
    match role {
        Role::Backend if method == EXECUTE => Some((node.domain.clone(), &node.op)),
        Role::Backend => Some((Domain::Onnx, primitive(method)?.name)),
        Role::Protocol => Some((Domain::of(protocol?.domain), of_method(protocol?, method)?.name)),
        _ => {
            let opset = OPSETS.into_iter().find(|opset| opset.domain == role.domain())?;
            Some((Domain::Contract(role), of_method(opset, method)?.name))
        }
    }
}

/// The operator of a set that runs as this method.
#[must_use]
pub fn of_method(opset: &AtomicOpsetDecl, method: &str) -> Option<&'static AtomicOpDecl> {
    opset.ops.iter().find(|op| snake_case(op.name) == method)
}

/// The primitive with this method.
#[must_use]
pub fn primitive(method: &str) -> Option<&'static AtomicOpDecl> {
    TENSOR_PRIMITIVES.ops.iter().find(|op| method_name(op.name) == method)
}

/// Whether a node is a primitive with attributes that the method of the contract has too. Other forms are
/// executed as graphs.
#[must_use]
pub fn is_primitive_form(node: &Node) -> bool {
    node.domain.is_onnx() && fits_primitive(&node.op, &node.attributes, node.inputs.len())
}

/// Whether the method of a primitive has these attributes, for a node with a number of inputs.
#[must_use]
pub fn fits_primitive(primitive: &str, attributes: &[AttributeProto], inputs: usize) -> bool {
    let Some(AtomicOpDecl { inputs: formals, .. }) = TENSOR_PRIMITIVES.op(primitive) else { return false };
    let find = |name: &str| attributes.iter().find(|attribute| attribute.name() == name);
    let int = |name: &str, default: i64| find(name).map_or(default, AttributeProto::i);
    match primitive {
        "Reshape" => inputs == 2,
        "Concat" => find("axis").is_some(),
        "Cast" => {
            let to = i32::try_from(int("to", 0)).ok().and_then(Dtype::from_onnx_number);
            to.is_some() && int("saturate", 1) != 0 && find("round_mode").is_none()
        }
        // The former versions have attributes for broadcasting.
        _ => !is_binary(formals) || attributes.is_empty(),
    }
}

fn is_binary(inputs: &[PortDecl]) -> bool {
    matches!(inputs, [a, b] if a.bound == b.bound)
}

#[cfg(test)]
mod tests {
    use typeloom_onnx::messages::IntoAttribute as _;

    use super::*;

    fn node(domain: Domain, op: &str) -> Node {
        Node::new(domain, op, Vec::new(), Vec::new())
    }

    #[test]
    fn every_operator_of_a_contract_is_found_by_its_method() {
        for role in Role::ALL.iter().copied().filter(|role| !role.domain().is_empty()) {
            let opset = OPSETS.into_iter().find(|opset| opset.domain == role.domain()).unwrap();
            for op in opset.ops {
                let node = node(Domain::Contract(role), op.name);
                let method = method_of(role, &node);
                let found = operator_of(role, &method, &node, None);
                assert_eq!(found, Some((Domain::Contract(role), op.name)));
            }
        }
        for op in TENSOR_PRIMITIVES.ops {
            assert_eq!(primitive(&method_name(op.name)).map(|found| found.name), Some(op.name));
        }
        assert_eq!(operator_of(Role::Model, "search", &node(Domain::Onnx, "Forward"), None), None);
    }

    #[test]
    fn a_form_outside_of_the_primitive_is_executed_as_a_graph() {
        let mut cast = node(Domain::Onnx, "Cast");
        cast.attributes.push(17_i64.into_attribute("to"));
        assert_eq!(method_of(Role::Backend, &cast), "cast");
        cast.attributes.push(0_i64.into_attribute("saturate"));
        assert_eq!(method_of(Role::Backend, &cast), EXECUTE);
        assert_eq!(operator_of(Role::Backend, EXECUTE, &cast, None), Some((Domain::Onnx, "Cast")));
        assert_eq!(method_of(Role::Backend, &node(Domain::of("own"), "Add")), EXECUTE);
    }

    #[test]
    fn a_method_without_an_attribute_of_the_node_is_an_error() {
        let (slot, storages) = ("a.b".into(), std::sync::Arc::default());
        let placement = Placement { slot, role: Role::Model, storages, method: Some("forward".into()) };
        let mut forward = node(Domain::Contract(Role::Model), "Forward");
        assert_eq!(check_attributes(&placement, &forward), Ok(()));
        forward.attributes.push(1_i64.into_attribute("k"));
        let error = check_attributes(&placement, &forward).unwrap_err();
        assert!(matches!(error, StampError::Attribute { .. }), "{error}");
    }
}

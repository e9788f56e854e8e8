//! Dispatch stamps: the component and the method that run a node on a slot.
//!
//! The metadata of a node on a slot states the contract ([`names::REQUIRED_TRAIT`]), the slot
//! ([`names::SLOT_ID`]) and, once it is resolved, `slot.method` ([`names::DISPATCH`]). `resolve_dispatch`
//! writes the method that [`method_of`] returns. The stamp then takes precedence over the operator: the
//! executor runs the stamped method, and loading an artifact types the node as the operator that
//! [`operator_of`] returns for the method.
//!
//! **Invariant:** `operator_of` inverts `method_of`.

use typeloom_contracts::role::Role;
use typeloom_onnx::messages::{AttributeProto, NodeProto, StringStringEntryProto};
use typeloom_types::dtype::Dtype;
use typeloom_types::op::primitives::TENSOR_PRIMITIVES;
use typeloom_types::op::{AtomicOpDecl, AtomicOpsetDecl, PortDecl};

use crate::graph::operators::method_name;
use crate::ir::metadata;
use crate::names::{self, snake_case};
use crate::operators::OPSETS;

/// The method of a backend that executes a graph.
pub const EXECUTE: &str = "execute";

/// The stamps of a node on a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp<'n> {
    pub slot: &'n str,
    pub role: Role,
    /// `None` before the node is resolved.
    pub method: Option<&'n str>,
}

/// Stamps that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StampError {
    /// Other stamps name a component, but no slot is given.
    #[error("the stamp `{key}` needs a slot, and the node has none")]
    NoSlot { key: String },
    /// The required trait is missing or unknown.
    #[error("the required trait of slot `{slot}` is `{found}`, which is no contract")]
    NoRole { slot: String, found: String },
    /// The dispatch is not of the form `slot.method`, for the node's slot.
    #[error("the dispatch `{dispatch}` is no method of slot `{slot}`")]
    OtherSlot { slot: String, dispatch: String },
    /// The method does not read an attribute of the node.
    #[error("the method `{method}` has no attribute `{attribute}`")]
    Attribute { method: String, attribute: String },
}

impl<'n> Stamp<'n> {
    /// Reads the stamps of a node; `None` for a node without a slot.
    ///
    /// # Errors
    /// [`StampError`].
    pub fn read(node: &'n NodeProto) -> Result<Option<Self>, StampError> {
        let Some(slot) = metadata(node, names::SLOT_ID) else {
            let needs_slot = |key: &&str| {
                [names::REQUIRED_TRAIT, names::DISPATCH].contains(key) || key.starts_with(names::BINDING)
            };
            let mut keys = node.metadata_props.iter().map(StringStringEntryProto::key);
            return match keys.find(needs_slot) {
                Some(key) => Err(StampError::NoSlot { key: key.to_owned() }),
                None => Ok(None),
            };
        };
        let found = metadata(node, names::REQUIRED_TRAIT).unwrap_or_default();
        let no_role = || StampError::NoRole { slot: slot.to_owned(), found: found.to_owned() };
        let role = Role::from_trait_name(found).ok_or_else(no_role)?;
        let method = match metadata(node, names::DISPATCH) {
            None => None,
            Some(dispatch) => {
                let method = dispatch.strip_prefix(slot).and_then(|rest| rest.strip_prefix('.'));
                let method = method.filter(|method| !method.is_empty() && !method.contains('.'));
                let other = || StampError::OtherSlot { slot: slot.to_owned(), dispatch: dispatch.to_owned() };
                Some(method.ok_or_else(other)?)
            }
        };
        if let Some(known) = method.and_then(|method| attributes(role, method)) {
            let unknown = node.attribute.iter().map(AttributeProto::name).find(|name| !known.contains(name));
            if let (Some(method), Some(attribute)) = (method, unknown) {
                return Err(StampError::Attribute {
                    method: method.to_owned(),
                    attribute: attribute.to_owned(),
                });
            }
        }
        Ok(Some(Self { slot, role, method }))
    }
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
pub fn method_of(role: Role, node: &NodeProto) -> String {
    let op = node.op_type();
    match role {
        Role::Backend if is_primitive_form(node) => method_name(op),
        Role::Backend => EXECUTE.to_owned(),
        _ => snake_case(op),
    }
}

/// Returns the domain and the name of the operator that a method runs for a node; `None` if the contract does
/// not have the method. `protocol` is the operator set of a protocol.
#[must_use]
pub fn operator_of<'n>(
    role: Role,
    method: &str,
    node: &'n NodeProto,
    protocol: Option<&AtomicOpsetDecl>,
) -> Option<(&'n str, &'n str)> {
    match role {
        Role::Backend if method == EXECUTE => Some((node.domain(), node.op_type())),
        Role::Backend => Some(("", primitive(method)?.name)),
        Role::Protocol => Some((protocol?.domain, of_method(protocol?, method)?.name)),
        _ => {
            let opset = OPSETS.into_iter().find(|opset| opset.domain == role.domain())?;
            Some((opset.domain, of_method(opset, method)?.name))
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
pub fn is_primitive_form(node: &NodeProto) -> bool {
    node.is_onnx() && fits_primitive(node.op_type(), node)
}

/// Whether the method of a primitive has the attributes of a node.
#[must_use]
pub fn fits_primitive(primitive: &str, node: &NodeProto) -> bool {
    let Some(AtomicOpDecl { inputs, .. }) = TENSOR_PRIMITIVES.op(primitive) else { return false };
    let int = |name: &str, default: i64| node.find_attribute(name).map_or(default, AttributeProto::i);
    match primitive {
        "Reshape" => int("allowzero", 0) == 0 && node.input.len() == 2,
        "Concat" => node.find_attribute("axis").is_some(),
        "Cast" => {
            let to = i32::try_from(int("to", 0)).ok().and_then(Dtype::from_onnx_number);
            to.is_some() && int("saturate", 1) != 0 && node.find_attribute("round_mode").is_none()
        }
        // The former versions have attributes for broadcasting.
        _ => !is_binary(inputs) || node.attribute.is_empty(),
    }
}

fn is_binary(inputs: &[PortDecl]) -> bool {
    matches!(inputs, [a, b] if a.bound == b.bound)
}

#[cfg(test)]
mod tests {
    use typeloom_onnx::messages::metadata_entry;

    use super::*;

    fn node(domain: &str, op: &str, stamps: &[(&str, &str)]) -> NodeProto {
        NodeProto {
            op_type: op.into(),
            domain: domain.into(),
            metadata_props: stamps.iter().map(|(key, value)| metadata_entry(*key, *value)).collect(),
            ..NodeProto::default()
        }
    }

    #[test]
    fn every_operator_of_a_contract_is_found_by_its_method() {
        for role in Role::ALL.iter().copied().filter(|role| !role.domain().is_empty()) {
            let opset = OPSETS.into_iter().find(|opset| opset.domain == role.domain()).unwrap();
            for op in opset.ops {
                let node = node(opset.domain, op.name, &[]);
                let method = method_of(role, &node);
                assert_eq!(operator_of(role, &method, &node, None), Some((opset.domain, op.name)));
            }
        }
        for op in TENSOR_PRIMITIVES.ops {
            assert_eq!(primitive(&method_name(op.name)).map(|found| found.name), Some(op.name));
        }
        assert_eq!(operator_of(Role::Model, "search", &node("", "Forward", &[]), None), None);
    }

    #[test]
    fn a_form_outside_of_the_primitive_is_executed_as_a_graph() {
        use typeloom_onnx::messages::IntoAttribute as _;
        let mut reshape = node("", "Reshape", &[]);
        reshape.input = vec!["x".to_owned(), "shape".to_owned()];
        assert_eq!(method_of(Role::Backend, &reshape), "reshape");
        reshape.attribute.push(1_i64.into_attribute("allowzero"));
        assert_eq!(method_of(Role::Backend, &reshape), EXECUTE);
        assert_eq!(operator_of(Role::Backend, EXECUTE, &reshape, None), Some(("", "Reshape")));
        assert_eq!(method_of(Role::Backend, &node("own", "Add", &[])), EXECUTE);
    }

    #[test]
    fn contradicting_stamps_are_errors() {
        let (slot, role) = ((names::SLOT_ID, "a.b"), (names::REQUIRED_TRAIT, "Model"));
        let read = |stamps: &[(&str, &str)]| Stamp::read(&node("", "Forward", stamps)).map(|it| it.is_some());
        assert_eq!(read(&[]), Ok(false));
        assert_eq!(read(&[slot, role]), Ok(true));
        assert_eq!(read(&[slot, role, (names::DISPATCH, "a.b.forward")]), Ok(true));
        for dispatch in ["a.c.forward", "a.b", "a.b.", "a.b.c.forward", "forward", ""] {
            assert!(matches!(
                read(&[slot, role, (names::DISPATCH, dispatch)]),
                Err(StampError::OtherSlot { .. })
            ));
        }
        assert!(matches!(read(&[slot, (names::REQUIRED_TRAIT, "Mode")]), Err(StampError::NoRole { .. })));
        assert!(matches!(read(&[slot]), Err(StampError::NoRole { .. })));
        assert!(matches!(read(&[role]), Err(StampError::NoSlot { .. })));
        let mut forward = node("", "Forward", &[slot, role, (names::DISPATCH, "a.b.forward")]);
        forward.attribute.push(typeloom_onnx::messages::IntoAttribute::into_attribute(1_i64, "k"));
        assert!(matches!(Stamp::read(&forward), Err(StampError::Attribute { .. })));
        let stored = format!("{}.Tensor", names::BINDING);
        assert!(matches!(read(&[(&stored, "tensor.f32")]), Err(StampError::NoSlot { .. })));
    }
}

//! Protocols: sets of user-defined operators.
//!
//! Example of [`Protocol`]:
//!
//! ```
//! use typeloom_contracts::protocol::{Protocol, Protocols};
//! use typeloom_types::op::{AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, PortDecl};
//! use typeloom_types::relation::NO_RELATIONS;
//! use typeloom_types::tree::builtin::{TYPE_PEER_ID_VEC, TYPE_TRIGGER};
//!
//! static GOSSIP_OPS: AtomicOpsetDecl = AtomicOpsetDecl {
//!     domain: "org.example.gossip",
//!     version: 1,
//!     ops: &[AtomicOpDecl {
//!         name: "Round",
//!         inputs: &[PortDecl::required("start", &TYPE_TRIGGER)],
//!         outputs: &[PortDecl::required("heard_from", &TYPE_PEER_ID_VEC)],
//!         kind: AtomicOpKind::Stateful,
//!         type_relations: NO_RELATIONS,
//!     }],
//! };
//!
//! struct Gossip;
//! impl Protocol for Gossip {
//!     const OPSET: &'static AtomicOpsetDecl = &GOSSIP_OPS;
//! }
//! typeloom_contracts::register_protocol!(Gossip);
//!
//! let found = Protocols::registered().find(|opset| opset.domain == "org.example.gossip");
//! assert!(found.is_some());
//! ```

use typeloom_types::op::AtomicOpsetDecl;

/// A component for the operators of a user-defined domain.
///
/// [`register_protocol!`](crate::register_protocol) makes the operators known to the compiler. Components are
/// bound to slots of a protocol as to those of any other contract.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a protocol",
    label = "`{Self}` does not implement the `Protocol` contract"
)]
pub trait Protocol: Send + Sync + 'static {
    /// Operator set of the protocol.
    const OPSET: &'static AtomicOpsetDecl;
}

/// Registration of a protocol, submitted by [`register_protocol!`](crate::register_protocol).
#[derive(Clone, Copy, Debug)]
pub struct ProtocolReg(pub &'static AtomicOpsetDecl);

inventory::collect!(ProtocolReg);

/// Registry of the protocols linked into the program.
#[derive(Clone, Copy, Debug)]
pub struct Protocols;

impl Protocols {
    /// Returns the operator sets of all registered protocols, sorted by domain.
    pub fn registered() -> impl Iterator<Item = &'static AtomicOpsetDecl> {
        let mut found: Vec<_> = inventory::iter::<ProtocolReg>.into_iter().map(|reg| reg.0).collect();
        found.sort_by_key(|opset| opset.domain);
        found.into_iter()
    }
}

/// Registers the operators of a protocol with the compiler.
#[macro_export]
macro_rules! register_protocol {
    ($protocol:ty) => {
        $crate::private::inventory::submit! {
            $crate::protocol::ProtocolReg(<$protocol as $crate::protocol::Protocol>::OPSET)
        }
    };
}

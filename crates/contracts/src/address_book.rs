//! Operators on the address book of a peer: modules install addresses of peers, and read them.
//!
//! | operator | inputs | result |
//! |---|---|---|
//! | `Install` | a peer, and its addresses | a trigger of completion |
//! | `LookUp` | a peer | its addresses that have not expired |
//! | `Remove` | a peer | a trigger of completion |
//! | `Own` | an optional trigger | the addresses at which other peers reach this one |
//!
//! They are the operators of a protocol, so a component for them is bound to a slot.

use typeloom_types::op::AtomicOpKind::Stateful;
use typeloom_types::op::{AtomicOpDecl, AtomicOpsetDecl, PortDecl};
use typeloom_types::relation::NO_RELATIONS;
use typeloom_types::tree::builtin::{TYPE_ADDRESS_VEC, TYPE_PEER_ID, TYPE_TRIGGER};

const PEER: PortDecl = PortDecl::required("peer", &TYPE_PEER_ID);
const ADDRESSES: PortDecl = PortDecl::required("addresses", &TYPE_ADDRESS_VEC);
const DONE: PortDecl = PortDecl::required("done", &TYPE_TRIGGER);
const WHEN: PortDecl = PortDecl::optional("when", &TYPE_TRIGGER);

const fn op(name: &'static str, inputs: &'static [PortDecl], outputs: &'static [PortDecl]) -> AtomicOpDecl {
    AtomicOpDecl { name, inputs, outputs, kind: Stateful, type_relations: NO_RELATIONS }
}

/// The operator set of address books.
pub static ADDRESS_BOOK: AtomicOpsetDecl = AtomicOpsetDecl {
    domain: "ai.bytesandbrains.addresses",
    version: 1,
    ops: &[
        op("Install", &[PEER, ADDRESSES], &[DONE]),
        op("LookUp", &[PEER], &[ADDRESSES]),
        op("Remove", &[PEER], &[DONE]),
        op("Own", &[WHEN], &[ADDRESSES]),
    ],
};

#[cfg(test)]
mod tests {
    #[test]
    fn the_declarations_are_valid() {
        assert_eq!(super::ADDRESS_BOOK.check(), []);
    }
}

//! Identities of peers.

/// Identity of a peer in the byte format of the transport.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PeerId(pub Vec<u8>);

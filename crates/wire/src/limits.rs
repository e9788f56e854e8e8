//! Limits of messages.

/// Maximum nesting depth of values: sequences, optionals, composites.
pub const MAX_DEPTH: usize = 16;

/// Size limits of messages. They apply to sent and to received messages, so that a value that the receiver
/// would refuse is rejected by the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of a message.
    pub envelope_bytes: usize,
    /// Bytes of the name of a program, peer class, wire or leaf type.
    pub name_bytes: usize,
    /// Bytes of a peer id or an address.
    pub peer_bytes: usize,
    /// Number of values in a message, including nested ones.
    pub values: usize,
    /// Rank of a tensor.
    pub rank: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { envelope_bytes: 1 << 28, name_bytes: 1 << 10, peer_bytes: 1 << 8, values: 1 << 20, rank: 64 }
    }
}

//! Limits of messages.

/// Maximum nesting depth of a value: the number of sequences, optionals and composites around it.
pub const MAX_DEPTH: usize = 16;

/// Maximum number of addresses of a sender in a message.
pub const MAX_ADDRESSES: usize = 16;

/// Size limits of messages. They apply to sent and to received messages, so that the sender rejects a value
/// that the receiver would refuse.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageLimits {
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

impl Default for MessageLimits {
    fn default() -> Self {
        Self { envelope_bytes: 1 << 28, name_bytes: 1 << 10, peer_bytes: 1 << 8, values: 1 << 20, rank: 64 }
    }
}

impl MessageLimits {
    /// No limits, for messages that were accepted under other limits.
    pub(crate) const NONE: Self = Self {
        envelope_bytes: usize::MAX,
        name_bytes: usize::MAX,
        peer_bytes: usize::MAX,
        values: usize::MAX,
        rank: usize::MAX,
    };
}

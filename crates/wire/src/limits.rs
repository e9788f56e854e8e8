//! Bounds on what is written to the wire and accepted from it.

/// How deep values nest in one another: sequences, optionals, composites.
pub const MAX_DEPTH: usize = 16;

/// The most a message may ask for. The same limits hold for what is sent and for what is received, so that a value that
/// cannot arrive is refused where it is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of a whole message.
    pub envelope_bytes: usize,
    /// Bytes of the name of a program, a peer class, a value on the wire or a leaf.
    pub name_bytes: usize,
    /// Bytes of a peer id or of one address.
    pub peer_bytes: usize,
    /// Values of one message, those inside others among them.
    pub values: usize,
    /// Extents of one tensor.
    pub rank: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { envelope_bytes: 1 << 28, name_bytes: 1 << 10, peer_bytes: 1 << 8, values: 1 << 20, rank: 64 }
    }
}

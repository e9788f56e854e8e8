//! What can be wrong with bytes of the wire, and with values that are put on it.

use typeloom_types::any_tensor::error::TensorError;

/// Bytes that are no message, with the place where that shows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {at}: {flaw}")]
pub struct Malformed {
    /// How many bytes stand before it.
    pub at: usize,
    /// What is wrong.
    pub flaw: Flaw,
}

/// What is wrong with bytes of the wire.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// The first bytes are not those of the format.
    #[error("this is no message of typeloom")]
    Magic,
    /// The format is of another version.
    #[error("the format version is {found}, and {supported} is supported")]
    Version {
        /// Theirs.
        found: u8,
        /// Ours.
        supported: u8,
    },
    /// A kind that the version does not have.
    #[error("there is no {what} of kind {found}")]
    Kind {
        /// Kind of what.
        what: &'static str,
        /// The number.
        found: u8,
    },
    /// The bytes end too early.
    #[error("the message ends in the middle")]
    Truncated,
    /// There are bytes behind the end.
    #[error("there are bytes behind the end of the message")]
    Trailing,
    /// The digest at the end is not that of the bytes.
    #[error("the message was damaged on the way")]
    Checksum,
    /// An integer of more than 64 bits, or written in more bytes than it needs.
    #[error("an integer is not in its shortest form of at most 64 bits")]
    Integer,
    /// A name that is no UTF-8.
    #[error("a name is not UTF-8")]
    Text,
    /// The elements of a tensor.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// A tensor in other bytes than the ones it has.
    #[error("bits that belong to no element are not zero")]
    Padding,
    /// A leaf that this program has not registered, or that has a form of its own on the wire.
    #[error("`{id}` is no leaf that this program registered")]
    UnknownLeaf {
        /// Its id.
        id: String,
    },
    /// The tag is not that of the value.
    #[error("the value is not of the type that the message is tagged with")]
    Tag,
    /// More than the receiver accepts.
    #[error(transparent)]
    Exceeded(#[from] Exceeded),
}

/// More than the limits allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {found}, and at most {limit} are accepted")]
pub struct Exceeded {
    /// What there is too much of.
    pub what: Limited,
    /// The most that is accepted.
    pub limit: usize,
    /// How much there is.
    pub found: usize,
}

/// What is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limited {
    /// Bytes of a message.
    Envelope,
    /// Bytes of a name.
    Name,
    /// Bytes of a peer id or address.
    Peer,
    /// Values of a message.
    Values,
    /// Extents of a tensor.
    Rank,
    /// Levels of values in one another.
    Depth,
}

impl std::fmt::Display for Limited {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Envelope => "bytes of a message",
            Self::Name => "bytes of a name",
            Self::Peer => "bytes of a peer id or address",
            Self::Values => "values of a message",
            Self::Rank => "extents of a tensor",
            Self::Depth => "levels of values in one another",
        })
    }
}

/// That something is within a limit.
pub(crate) fn within(what: Limited, found: usize, limit: usize) -> Result<(), Exceeded> {
    if found <= limit { Ok(()) } else { Err(Exceeded { what, limit, found }) }
}

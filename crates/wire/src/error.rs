//! Errors of decoding, and of values that exceed the limits.

use typeloom_tensor::address::AddressError;
use typeloom_tensor::any_tensor::error::TensorError;
use typeloom_tensor::map::MapError;

/// Decoding error with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {at}: {flaw}")]
pub struct Malformed {
    /// Byte offset at which the error was detected.
    pub at: usize,
    /// Kind of the error.
    pub flaw: Flaw,
}

/// Kind of a decoding error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// The magic bytes do not match.
    #[error("this is not a message of typeloom")]
    Magic,
    /// The format version is not supported.
    #[error("the format version is {found}, but {supported} is supported")]
    Version { found: u8, supported: u8 },
    /// Unknown discriminant.
    #[error("there is no {what} of kind {found}")]
    Kind { what: &'static str, found: u8 },
    /// The input ends before the message does.
    #[error("the message is truncated")]
    Truncated,
    /// There are bytes after the end of the message.
    #[error("there are bytes after the end of the message")]
    Trailing,
    /// The digest does not match the content.
    #[error("the digest does not match the content of the message")]
    Checksum,
    /// An integer has more than 64 bits or is not in its shortest encoding.
    #[error("an integer is not in its shortest form of at most 64 bits")]
    Integer,
    /// A name is not valid UTF-8.
    #[error("a name is not UTF-8")]
    Text,
    /// The elements of a tensor are invalid.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// Keys and values that are no map.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The padding bits of a tensor are not zero.
    #[error("bits that belong to no element are not zero")]
    Padding,
    /// The leaf type is not registered in this program, or has a dedicated encoding.
    #[error("`{id}` is not a leaf that this program registered")]
    UnknownLeaf { id: String },
    /// The bytes of an address are malformed.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A message of version 2 has no addresses, so its version is 1.
    #[error("a message without addresses has version 1")]
    NoAddresses,
    /// The wire tag does not match the value.
    #[error("the value is not of the type that the message is tagged with")]
    Tag,
    /// A limit of the receiver is exceeded.
    #[error(transparent)]
    Exceeded(#[from] Exceeded),
}

/// A quantity that exceeds its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {found}, but at most {limit} are accepted")]
pub struct Exceeded {
    /// Limited quantity.
    pub what: Limited,
    /// Maximum accepted value.
    pub limit: usize,
    /// Actual value.
    pub found: usize,
}

/// Quantity with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limited {
    /// Bytes of a message.
    Envelope,
    /// Bytes of a name.
    Name,
    /// Bytes of a peer id or address.
    Peer,
    /// Number of addresses of a sender.
    Addresses,
    /// Number of values in a message.
    Values,
    /// Rank of a tensor.
    Rank,
    /// Nesting depth of a value.
    Depth,
}

impl std::fmt::Display for Limited {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Envelope => "bytes of a message",
            Self::Name => "bytes of a name",
            Self::Peer => "bytes of a peer id or address",
            Self::Addresses => "addresses of a sender",
            Self::Values => "values of a message",
            Self::Rank => "extents of a tensor",
            Self::Depth => "sequences, optionals and composites around a value",
        })
    }
}

/// Checks a quantity against its limit.
pub(crate) fn within(what: Limited, found: usize, limit: usize) -> Result<(), Exceeded> {
    if found <= limit { Ok(()) } else { Err(Exceeded { what, limit, found }) }
}

//! Receipts: answers of a receiver to messages.

use typeloom_pool::Digest;

use crate::codec::{Encoded as _, Variants as _, Writer, variants};
use crate::envelope::{MessageId, RECEIPT, begin, open, seal};
use crate::error::Malformed;
use crate::limits::MessageLimits;

/// The answer to a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Receipt {
    /// Id of the message; zeros if the receiver could not decode it.
    pub id: MessageId,
    /// Decision of the receiver.
    pub verdict: Verdict,
}

/// Decision of a receiver about a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The message was accepted. The receiver still has it after a crash and restart.
    Taken,
    /// The message is a duplicate of an accepted one and was dropped.
    TakenBefore,
    /// The message was not accepted.
    Refused(Refusal),
}

/// Reason for refusing a message.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The receiver reads another version of the format.
    #[error("it reads version {supported} of the format")]
    Version { supported: u8 },
    /// The message cannot be decoded or exceeds the limits of the receiver.
    #[error("it could not read the message: {reason}")]
    Malformed { reason: String },
    /// The receiver does not accept messages of the sender.
    #[error("it does not know this peer")]
    UnknownPeer,
    /// The sender named in the message is not the peer that it was received from.
    #[error("the message names another sender than the one it came from")]
    WrongSender,
    /// The receiver does not have the port.
    #[error("it has no port `{port}`")]
    UnknownPort { port: String },
    /// The declared type of the value is not admitted by the port.
    #[error("`{port}` expects {expected} (type {digest}), but {found} was sent, declared as another type")]
    OtherType { port: String, expected: String, digest: Digest, found: String },
    /// The value is not of its declared type.
    #[error("`{port}` expects {expected}, but {found} was sent")]
    OtherValue { port: String, expected: String, found: String },
    /// The mailbox of the receiver is full. A later attempt may succeed.
    #[error("its mailbox is full")]
    Busy,
    /// The journal of the receiver failed. A later attempt may succeed.
    #[error("it could not write the message to its journal")]
    NotKept,
    /// The message is from an earlier incarnation of the sender, or the sender has abandoned it.
    #[error("the sender has abandoned the message")]
    Stale,
}

impl Refusal {
    /// Whether a later attempt may succeed.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Busy | Self::NotKept)
    }
}

/// Limits of receipts: texts have at most a kilobyte.
const LIMITS: MessageLimits = MessageLimits { name_bytes: 1 << 10, ..MessageLimits::NONE };

variants! { Verdict, "verdict":
    0 => (Self::Taken) [],
    1 => (Self::TakenBefore) [],
    2 => (Self::Refused(Refusal::Version { supported })) [supported],
    3 => (Self::Refused(Refusal::Malformed { reason })) [reason],
    4 => (Self::Refused(Refusal::UnknownPeer)) [],
    5 => (Self::Refused(Refusal::WrongSender)) [],
    6 => (Self::Refused(Refusal::UnknownPort { port })) [port],
    7 => (Self::Refused(Refusal::OtherType { port, expected, digest, found })) [port, expected, found, digest],
    8 => (Self::Refused(Refusal::OtherValue { port, expected, found })) [port, expected, found],
    9 => (Self::Refused(Refusal::Busy)) [],
    10 => (Self::Refused(Refusal::NotKept)) [],
    11 => (Self::Refused(Refusal::Stale)) [],
}

impl Receipt {
    /// Encodes the receipt. Texts of more than a kilobyte are truncated.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::cutting_texts(begin(RECEIPT), &LIMITS);
        self.id.put(&mut out);
        self.verdict.put_variant(&mut out);
        seal(out.finish().unwrap_or_default())
    }

    /// Decodes a receipt.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = open(bytes, RECEIPT, &LIMITS)?;
        let id = MessageId::read(&mut reader)?;
        let verdict = Verdict::read_variant(&mut reader)?;
        reader.end()?;
        Ok(Self { id, verdict })
    }
}

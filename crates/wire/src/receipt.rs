//! What a receiver answers.

use typeloom_pool::Digest;

use crate::bytes::{Reader, put_bytes, put_int};
use crate::envelope::{HEADER, MessageId, RECEIPT, begin, open, seal};
use crate::error::{Flaw, Limited, Malformed};

/// The answer to a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Receipt {
    /// The message; zeros where the receiver could not read which one it was.
    pub id: MessageId,
    /// What became of it.
    pub verdict: Verdict,
}

/// What became of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The receiver has it, and will still have it after it was killed and restarted.
    Taken,
    /// The receiver has had it before, and did not take it again.
    TakenBefore,
    /// The receiver does not have it.
    Refused(Refusal),
}

/// Why a receiver does not take a message.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// It reads another version of the format.
    #[error("it reads version {supported} of the format")]
    Version {
        /// The version that it reads.
        supported: u8,
    },
    /// It could not read the message, or the message exceeds its limits.
    #[error("it could not read the message: {reason}")]
    Malformed {
        /// Why.
        reason: String,
    },
    /// It does not know the sender.
    #[error("it does not know this peer")]
    UnknownPeer,
    /// The message names another sender than the one that it came from.
    #[error("the message names another sender than the one it came from")]
    WrongSender,
    /// It has no such port.
    #[error("it has no port `{port}`")]
    UnknownPort {
        /// The port.
        port: String,
    },
    /// The port is of another type.
    #[error("`{port}` expects {expected} (type {digest}), and {found} was sent, declared as another type")]
    OtherType {
        /// The port.
        port: String,
        /// Its type.
        expected: String,
        /// The digest of that type.
        digest: Digest,
        /// The type of the value that was sent.
        found: String,
    },
    /// The value is not of the type that it was declared with.
    #[error("`{port}` expects {expected}, and {found} was sent")]
    OtherValue {
        /// The port.
        port: String,
        /// Its type.
        expected: String,
        /// The type of the value that was sent.
        found: String,
    },
    /// It holds as many messages as it may. A later attempt may succeed.
    #[error("it holds as many messages as it may")]
    Busy,
    /// It could not write down that it has the message. A later attempt may succeed.
    #[error("it could not write down that it has the message")]
    NotKept,
    /// The message is of an earlier life of the sender, or one that the sender gave up.
    #[error("the message is one that the sender gave up")]
    Stale,
}

impl Refusal {
    /// Whether the same message may be taken later.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Busy | Self::NotKept => true,
            Self::Version { .. }
            | Self::Malformed { .. }
            | Self::UnknownPeer
            | Self::WrongSender
            | Self::UnknownPort { .. }
            | Self::OtherType { .. }
            | Self::OtherValue { .. }
            | Self::Stale => false,
        }
    }
}

/// The most bytes of a text in a receipt; longer ones are cut.
const TEXT: usize = 1 << 10;

impl Receipt {
    /// The receipt in bytes. Texts of more than a kilobyte are cut.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = begin(RECEIPT);
        put_int(&mut out, self.id.incarnation);
        put_int(&mut out, self.id.number);
        let out = &mut out;
        match &self.verdict {
            Verdict::Taken => out.push(0),
            Verdict::TakenBefore => out.push(1),
            Verdict::Refused(refusal) => match refusal {
                Refusal::Version { supported } => out.extend([2, *supported]),
                Refusal::Malformed { reason } => texts(out, 3, &[reason]),
                Refusal::UnknownPeer => out.push(4),
                Refusal::WrongSender => out.push(5),
                Refusal::UnknownPort { port } => texts(out, 6, &[port]),
                Refusal::OtherType { port, expected, digest, found } => {
                    texts(out, 7, &[port, expected, found]);
                    out.extend_from_slice(digest.as_bytes());
                }
                Refusal::OtherValue { port, expected, found } => texts(out, 8, &[port, expected, found]),
                Refusal::Busy => out.push(9),
                Refusal::NotKept => out.push(10),
                Refusal::Stale => out.push(11),
            },
        }
        seal(std::mem::take(out))
    }

    /// Reads a receipt.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        let body = open(bytes, RECEIPT)?;
        let mut reader = Reader::new(body);
        reader.take(HEADER)?;
        let id = MessageId { incarnation: reader.int()?, number: reader.int()? };
        let found = reader.byte()?;
        let mut text = || reader.text(Limited::Name, TEXT).map(str::to_owned);
        let refusal = match found {
            0 | 1 => {
                reader.end()?;
                let verdict = if found == 0 { Verdict::Taken } else { Verdict::TakenBefore };
                return Ok(Self { id, verdict });
            }
            2 => Refusal::Version { supported: reader.byte()? },
            3 => Refusal::Malformed { reason: text()? },
            4 => Refusal::UnknownPeer,
            5 => Refusal::WrongSender,
            6 => Refusal::UnknownPort { port: text()? },
            7 => {
                let (port, expected, found) = (text()?, text()?, text()?);
                Refusal::OtherType { port, expected, found, digest: Digest(reader.array()?) }
            }
            8 => Refusal::OtherValue { port: text()?, expected: text()?, found: text()? },
            9 => Refusal::Busy,
            10 => Refusal::NotKept,
            11 => Refusal::Stale,
            _ => return reader.fail(Flaw::Kind { what: "verdict", found }),
        };
        reader.end()?;
        Ok(Self { id, verdict: Verdict::Refused(refusal) })
    }
}

fn texts(out: &mut Vec<u8>, verdict: u8, texts: &[&str]) {
    out.push(verdict);
    for text in texts {
        let mut end = text.len().min(TEXT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        put_bytes(out, &text.as_bytes()[..end]);
    }
}

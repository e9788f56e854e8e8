//! Receipts: answers of a receiver to messages.

use typeloom_pool::Digest;

use crate::bytes::{Reader, put_bytes, put_int};
use crate::envelope::{HEADER, MessageId, RECEIPT, begin, open, seal};
use crate::error::{Flaw, Limited, Malformed};

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
    #[error("`{port}` expects {expected} (type {digest}), and {found} was sent, declared as another type")]
    OtherType { port: String, expected: String, digest: Digest, found: String },
    /// The value is not of its declared type.
    #[error("`{port}` expects {expected}, and {found} was sent")]
    OtherValue { port: String, expected: String, found: String },
    /// The mailbox of the receiver is full. A later attempt may succeed.
    #[error("it holds as many messages as it may")]
    Busy,
    /// The journal of the receiver failed. A later attempt may succeed.
    #[error("it could not write down that it has the message")]
    NotKept,
    /// The message is from an earlier incarnation of the sender, or the sender has abandoned it.
    #[error("the message is one that the sender gave up")]
    Stale,
}

impl Refusal {
    /// Whether a later attempt may succeed.
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

/// Maximum length in bytes of a text in a receipt; longer texts are truncated.
const TEXT: usize = 1 << 10;

impl Receipt {
    /// Encodes the receipt. Texts of more than a kilobyte are truncated.
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

    /// Decodes a receipt.
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

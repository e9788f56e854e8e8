//! Records of an endpoint's journal. The format is specified in `docs/wire-format.md`.

use bytes::Bytes;
use typeloom_contracts::peer_selector::PeerId;

use crate::codec::{Encoded, Reader, Variants as _, Writer, fields, variants};
use crate::envelope::MessageId;
use crate::error::{Flaw, Malformed};
use crate::limits::MessageLimits;

/// Version of the record format, stored in the first record.
const VERSION: u8 = 1;

/// The version of the record format, which a reader compares with its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Version;

/// A change of the endpoint's state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Record {
    /// Owner of the journal and its incarnation; always the first record.
    Identity { version: Version, peer: PeerId, incarnation: u64 },
    /// A message was accepted; contains its encoding.
    Taken { message: Bytes },
    /// A commit of the program.
    Commit(Commit),
    /// A message needs no more attempts: it was acknowledged, refused or abandoned.
    Settled { to: PeerId, number: u64 },
    /// Message numbers accepted from a peer so far; replaces earlier records.
    Window { from: PeerId, incarnation: u64, floor: u64, seen: Vec<u64> },
    /// Number of the next message to a peer; replaces earlier records.
    Next { to: PeerId, number: u64 },
}

/// An atomic change: handled messages, the new program state and the messages to send.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Commit {
    pub(crate) done: Vec<(PeerId, MessageId)>,
    /// New program state, if it changes.
    pub(crate) state: Option<Bytes>,
    /// Receiver, number and encoding of each message.
    pub(crate) posts: Vec<(PeerId, u64, Bytes)>,
}

variants! { Record, "record":
    1 => (Self::Identity { version, peer, incarnation }) [version, peer, incarnation],
    2 => (Self::Taken { message }) [message],
    3 => (Self::Commit(commit)) [commit],
    4 => (Self::Settled { to, number }) [to, number],
    5 => (Self::Window { from, incarnation, floor, seen }) [from, incarnation, floor, seen],
    6 => (Self::Next { to, number }) [to, number],
}

fields! {
    Commit { done, state, posts }
}

impl Encoded for Version {
    fn put(&self, out: &mut Writer<'_>) {
        out.bytes(&[VERSION]);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match reader.byte()? {
            VERSION => Ok(Self),
            found => reader.fail(Flaw::Version { found, supported: VERSION }),
        }
    }
}

impl Record {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::new(Vec::new(), &MessageLimits::NONE);
        self.put_variant(&mut out);
        out.finish().unwrap_or_default()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes, &MessageLimits::NONE);
        let record = Self::read_variant(&mut reader)?;
        reader.end()?;
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_back_and_truncated_records_are_refused() {
        let peer = PeerId(b"p".to_vec());
        let id = MessageId { incarnation: 300, number: 2 };
        let full = Commit {
            done: vec![(peer.clone(), id), (peer.clone(), id)],
            state: Some(vec![1, 2].into()),
            posts: vec![(peer.clone(), 3, vec![4; 200].into())],
        };
        let records = [
            Record::Identity { version: Version, peer: peer.clone(), incarnation: u64::MAX },
            Record::Taken { message: vec![0; 300].into() },
            Record::Commit(Commit::default()),
            Record::Commit(full),
            Record::Settled { to: peer.clone(), number: 7 },
            Record::Window { from: peer.clone(), incarnation: 1, floor: 2, seen: vec![2, 5] },
            Record::Next { to: peer, number: 9 },
        ];
        for record in records {
            let bytes = record.to_bytes();
            assert_eq!(Record::from_bytes(&bytes), Ok(record));
            for end in 0..bytes.len() {
                assert!(Record::from_bytes(&bytes[..end]).is_err());
            }
        }
    }
}

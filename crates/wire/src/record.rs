//! Records of an endpoint's journal. The format is specified in `docs/wire-format.md`.

use typeloom_contracts::peer_selector::PeerId;

use crate::bytes::{Reader, put_bytes, put_int};
use crate::envelope::MessageId;
use crate::error::{Flaw, Malformed};

/// Version of the record format, stored in the first record.
const VERSION: u8 = 1;

/// A change of the endpoint's state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Record {
    /// Owner of the journal and its incarnation; always the first record.
    Identity { peer: PeerId, incarnation: u64 },
    /// A message was accepted; contains its encoding.
    Taken { message: Vec<u8> },
    /// An atomic commit.
    Commit(Commit),
    /// A message needs no more attempts: it was acknowledged, refused or abandoned.
    Settled { to: PeerId, number: u64 },
    /// Message numbers accepted from a peer so far; replaces earlier records.
    Window { from: PeerId, incarnation: u64, floor: u64, seen: Vec<u64> },
    /// Number of the next message to a peer; replaces earlier records.
    Next { to: PeerId, number: u64 },
}

/// Committed messages, the new program state and the resulting messages.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Commit {
    pub(crate) done: Vec<(PeerId, MessageId)>,
    /// New program state, if it changes.
    pub(crate) state: Option<Vec<u8>>,
    /// Encoded messages with their receivers and numbers.
    pub(crate) posts: Vec<(PeerId, u64, Vec<u8>)>,
}

impl Record {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Identity { peer, incarnation } => {
                out.extend([1, VERSION]);
                put_bytes(&mut out, &peer.0);
                put_int(&mut out, *incarnation);
            }
            Self::Taken { message } => {
                out.push(2);
                put_bytes(&mut out, message);
            }
            Self::Commit(Commit { done, state, posts }) => {
                out.push(3);
                put_int(&mut out, done.len() as u64);
                for (from, id) in done {
                    put_bytes(&mut out, &from.0);
                    put_int(&mut out, id.incarnation);
                    put_int(&mut out, id.number);
                }
                out.push(u8::from(state.is_some()));
                if let Some(state) = state {
                    put_bytes(&mut out, state);
                }
                put_int(&mut out, posts.len() as u64);
                for (to, number, message) in posts {
                    put_bytes(&mut out, &to.0);
                    put_int(&mut out, *number);
                    put_bytes(&mut out, message);
                }
            }
            Self::Settled { to, number } => {
                out.push(4);
                put_bytes(&mut out, &to.0);
                put_int(&mut out, *number);
            }
            Self::Window { from, incarnation, floor, seen } => {
                out.push(5);
                put_bytes(&mut out, &from.0);
                put_int(&mut out, *incarnation);
                put_int(&mut out, *floor);
                put_int(&mut out, seen.len() as u64);
                seen.iter().for_each(|number| put_int(&mut out, *number));
            }
            Self::Next { to, number } => {
                out.push(6);
                put_bytes(&mut out, &to.0);
                put_int(&mut out, *number);
            }
        }
        out
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let found = reader.byte()?;
        let record = match found {
            1 => {
                let found = reader.byte()?;
                if found != VERSION {
                    return reader.fail(Flaw::Version { found, supported: VERSION });
                }
                Self::Identity { peer: peer(&mut reader)?, incarnation: reader.int()? }
            }
            2 => Self::Taken { message: reader.bytes()?.to_vec() },
            3 => Self::Commit(commit(&mut reader)?),
            4 => Self::Settled { to: peer(&mut reader)?, number: reader.int()? },
            5 => {
                let (from, incarnation, floor) = (peer(&mut reader)?, reader.int()?, reader.int()?);
                let mut seen = Vec::new();
                for _ in 0..reader.count()? {
                    seen.push(reader.int()?);
                }
                Self::Window { from, incarnation, floor, seen }
            }
            6 => Self::Next { to: peer(&mut reader)?, number: reader.int()? },
            _ => return reader.fail(Flaw::Kind { what: "record", found }),
        };
        reader.end()?;
        Ok(record)
    }
}

fn peer(reader: &mut Reader<'_>) -> Result<PeerId, Malformed> {
    Ok(PeerId(reader.bytes()?.to_vec()))
}

fn is_there(reader: &mut Reader<'_>) -> Result<bool, Malformed> {
    match reader.byte()? {
        0 => Ok(false),
        1 => Ok(true),
        found => reader.fail(Flaw::Kind { what: "option", found }),
    }
}

fn commit(reader: &mut Reader<'_>) -> Result<Commit, Malformed> {
    let mut commit = Commit::default();
    for _ in 0..reader.count()? {
        let from = peer(reader)?;
        let id = MessageId { incarnation: reader.int()?, number: reader.int()? };
        commit.done.push((from, id));
    }
    if is_there(reader)? {
        commit.state = Some(reader.bytes()?.to_vec());
    }
    for _ in 0..reader.count()? {
        commit.posts.push((peer(reader)?, reader.int()?, reader.bytes()?.to_vec()));
    }
    Ok(commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_and_every_cut_is_refused() {
        let peer = PeerId(b"p".to_vec());
        let id = MessageId { incarnation: 300, number: 2 };
        let full = Commit {
            done: vec![(peer.clone(), id), (peer.clone(), id)],
            state: Some(vec![1, 2]),
            posts: vec![(peer.clone(), 3, vec![4; 200])],
        };
        let records = [
            Record::Identity { peer: peer.clone(), incarnation: u64::MAX },
            Record::Taken { message: vec![0; 300] },
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

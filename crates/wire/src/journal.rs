//! Journals: durable storage of an endpoint's state.
//!
//! A journal is a map from keys to values, both byte strings; `docs/wire-format.md` specifies the entries. It
//! contains the present state only: an entry is removed as soon as it is no longer needed. Its size therefore
//! depends on the messages that are open, and not on the messages that were exchanged before.

use core::ops::Bound;
use std::collections::BTreeMap;

use bytes::Bytes;

use crate::error::Malformed;

/// Stores entries.
///
/// # Laws
/// 1. When [`write`](Journal::write) returns, its changes are durable: a journal that is reopened contains
///    them even if the process was killed. The implementation defines which failures of the machine it
///    survives.
/// 2. The changes of one call are stored atomically, and calls in order: a journal that is reopened contains
///    the changes of all calls up to some call, which is not before the last one that returned.
/// 3. [`read`](Journal::read) and [`next`](Journal::next) return the entries after the last call of `write`.
///
/// After an error nothing more is written to a journal: the endpoint neither accepts nor sends messages until
/// it is reopened.
pub trait Journal: Send {
    /// Returns the entry with the lowest key that is greater than the given one. No key is empty.
    ///
    /// # Errors
    /// [`JournalError`].
    fn next(&self, after: &[u8]) -> Result<Option<(Vec<u8>, Bytes)>, JournalError>;

    /// Returns the value of a key.
    ///
    /// # Errors
    /// [`JournalError`].
    fn read(&self, key: &[u8]) -> Result<Option<Bytes>, JournalError>;

    /// Applies changes, in order and atomically.
    ///
    /// # Errors
    /// [`JournalError`]; the changes may have been stored nevertheless, either all or none of them.
    fn write(&mut self, changes: &[Change]) -> Result<(), JournalError>;
}

/// A change of one entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    pub key: Vec<u8>,
    /// The new value; `None` removes the entry.
    pub value: Option<Bytes>,
}

/// Error of a journal.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum JournalError {
    /// The journal could not be read or written.
    #[error("the journal cannot be used: {reason}")]
    Failed { reason: String },
    /// An entry cannot be decoded.
    #[error("an entry of the journal cannot be read: {0}")]
    Entry(Malformed),
    /// An entry that the endpoint has written is missing.
    #[error("an entry of the journal is missing")]
    Missing,
    /// The journal belongs to another peer.
    #[error("the journal belongs to another peer")]
    OtherPeer,
}

/// A journal in memory. Messages are neither lost nor duplicated while the process lives; for restarts see
/// [`EndpointConfig::incarnation`](super::endpoint::EndpointConfig::incarnation).
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal {
    entries: BTreeMap<Vec<u8>, Bytes>,
}

impl MemoryJournal {
    /// An empty journal.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Journal for MemoryJournal {
    fn next(&self, after: &[u8]) -> Result<Option<(Vec<u8>, Bytes)>, JournalError> {
        let after = (Bound::Excluded(after), Bound::Unbounded);
        let next = self.entries.range::<[u8], _>(after).next();
        Ok(next.map(|(key, value)| (key.clone(), value.clone())))
    }

    fn read(&self, key: &[u8]) -> Result<Option<Bytes>, JournalError> {
        Ok(self.entries.get(key).cloned())
    }

    fn write(&mut self, changes: &[Change]) -> Result<(), JournalError> {
        for Change { key, value } in changes {
            match value {
                Some(value) => drop(self.entries.insert(key.clone(), value.clone())),
                None => drop(self.entries.remove(key)),
            }
        }
        Ok(())
    }
}

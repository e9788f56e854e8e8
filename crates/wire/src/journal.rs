//! Journals: durable storage of an endpoint's state.

use crate::error::Malformed;

/// Stores records in order.
///
/// # Laws
/// 1. When [`append`](Journal::append) or [`replace`](Journal::replace) returns, the written records are
///    durable: a journal that is reopened contains them even if the process was killed. The implementation
///    defines which failures of the machine it survives.
/// 2. Records are stored atomically and in order: reading returns all records up to some point, which is not
///    before the last call that returned.
/// 3. A replacement is stored atomically.
///
/// After an error nothing more is written to a journal: the endpoint neither accepts nor sends messages until
/// it is reopened.
pub trait Journal: Send {
    /// Returns all records, oldest first.
    ///
    /// # Errors
    /// [`JournalError`].
    fn records(&mut self) -> Result<Vec<Vec<u8>>, JournalError>;

    /// Appends a record.
    ///
    /// # Errors
    /// [`JournalError`]; the record may have been stored nevertheless.
    fn append(&mut self, record: &[u8]) -> Result<(), JournalError>;

    /// Replaces all records.
    ///
    /// # Errors
    /// [`JournalError`]; the records may have been replaced nevertheless.
    fn replace(&mut self, records: &[Vec<u8>]) -> Result<(), JournalError>;
}

/// Error of a journal.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum JournalError {
    /// The journal could not be read or written.
    #[error("the journal cannot be used: {reason}")]
    Failed { reason: String },
    /// A record cannot be decoded.
    #[error("record {index} of the journal cannot be read: {malformed}")]
    Record {
        /// Index of the record, from 0.
        index: usize,
        malformed: Malformed,
    },
    /// The journal belongs to another peer.
    #[error("the journal belongs to another peer")]
    OtherPeer,
}

/// A journal that stores nothing. Messages are neither lost nor duplicated while the process lives; for
/// restarts see [`EndpointConfig::incarnation`](super::endpoint::EndpointConfig::incarnation).
#[derive(Clone, Copy, Debug, Default)]
pub struct NoJournal;

impl Journal for NoJournal {
    fn records(&mut self) -> Result<Vec<Vec<u8>>, JournalError> {
        Ok(Vec::new())
    }

    fn append(&mut self, _: &[u8]) -> Result<(), JournalError> {
        Ok(())
    }

    fn replace(&mut self, _: &[Vec<u8>]) -> Result<(), JournalError> {
        Ok(())
    }
}

//! Journals: what an endpoint still knows after its process was killed.

use crate::error::Malformed;

/// Keeps records in order.
///
/// # Laws
/// 1. When [`append`](Journal::append) or [`replace`](Journal::replace) returns, a journal that is opened anew has what was
///    written, whatever happened to the process (how much of the machine may fail is the journal's to say).
/// 2. Records are kept whole or not at all, and in order: what is read are all records up to some point, and that point is
///    not before the last call that returned.
/// 3. A replacement is kept whole or not at all.
///
/// After an error nothing more is written to a journal: the endpoint takes and sends nothing until it is opened anew.
pub trait Journal: Send {
    /// Every record, the oldest first.
    ///
    /// # Errors
    /// [`JournalError`].
    fn records(&mut self) -> Result<Vec<Vec<u8>>, JournalError>;

    /// Adds a record.
    ///
    /// # Errors
    /// [`JournalError`]; the record may have been kept all the same.
    fn append(&mut self, record: &[u8]) -> Result<(), JournalError>;

    /// Puts these records in the place of all that there are.
    ///
    /// # Errors
    /// [`JournalError`]; the replacement may have been made all the same.
    fn replace(&mut self, records: &[Vec<u8>]) -> Result<(), JournalError>;
}

/// Why a journal cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum JournalError {
    /// It could not be read or written.
    #[error("the journal cannot be used: {reason}")]
    Failed {
        /// Why.
        reason: String,
    },
    /// A record is none of an endpoint.
    #[error("record {index} of the journal cannot be read: {malformed}")]
    Record {
        /// Which one, from 0 on.
        index: usize,
        /// Why.
        malformed: Malformed,
    },
    /// It is the journal of another peer.
    #[error("the journal belongs to another peer")]
    OtherPeer,
}

/// No journal: what the endpoint knows ends with the process. Its messages are not lost and not repeated while it lives;
/// for what happens at a restart see [`Config::incarnation`](super::endpoint::Config::incarnation).
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

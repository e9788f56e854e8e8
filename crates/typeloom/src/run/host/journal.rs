//! A journal in a file, on the embedded store `redb`.
//!
//! All entries are in one table. A call of [`write`](Journal::write) is one transaction with two-phase
//! commit: its pages are written and synchronised before the byte that makes them valid. Decision 0024 states
//! the reasons for the store.
//!
//! **Invariant:** opening verifies the checksums of all pages, and writes nothing before. A file that cannot
//! be opened is left as it is. With two-phase commits, a page that does not verify was damaged, and is not
//! the result of an interrupted write.
//!
//! **Invariant:** memory contains a cache of fixed size, and the entries of the transaction that is written.
//! The file is compacted when it is [`RATIO`] times as large as its entries. Neither grows with the number of
//! transactions.

#[cfg(test)]
mod faults;
mod storage;

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

use bytes::Bytes;
use redb::backends::FileBackend;
use redb::{
    Database, DatabaseError, ReadableDatabase as _, StorageBackend, StorageError, TableDefinition,
    TableHandle as _,
};
use typeloom_wire::journal::{Change, Journal, JournalError};

use self::storage::Storage;

const ENTRIES: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("typeloom-journal");

/// Bytes of the cache of pages.
const CACHE: usize = 1 << 22;

/// Minimum ratio of the size of a file to that of its entries, at which it is compacted.
const RATIO: u64 = 4;

/// Bytes of a file that are not counted towards the ratio. A file without entries has a megabyte.
const SLACK: u64 = 1 << 22;

/// The first bytes of a store, by its specification.
const MAGIC: &[u8] = b"redb\x1a\n\xa9\r\n";

/// The first bytes of a journal of the format before the store.
const OLD_MAGIC: &[u8] = b"TLWJ";

/// Event that an acknowledged record survives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Durability {
    /// Any end of the process.
    Process,
    /// Also a power failure: a record is acknowledged after it is written to the device.
    #[default]
    Machine,
}

/// A journal in a file that is locked against other writers.
#[derive(Debug)]
pub struct FileJournal {
    database: Database,
    storage: Storage,
    failed: Option<JournalError>,
    /// Bytes of the entries.
    live: u64,
    slack: u64,
    /// Bytes of the file and of its entries after the last compaction.
    compacted: (u64, u64),
}

/// Error of opening a file as a journal. The file is left as it is.
#[derive(Debug, thiserror::Error)]
pub enum OpenJournalError {
    /// The file cannot be read or created.
    #[error("{path}: {error}")]
    Io {
        /// Path of the file.
        path: String,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The file is locked by another process, or already open in this one.
    #[error("{path}: the journal is in use")]
    InUse {
        /// Path of the file.
        path: String,
    },
    /// The file is not a journal.
    #[error("{path}: the file is not a journal")]
    NotAJournal {
        /// Path of the file.
        path: String,
    },
    /// The file is a journal of a format before the first release.
    #[error(
        "{path}: this journal has a format that is no longer read; finish its open messages with the program that wrote it, \
         and then delete the file"
    )]
    OldFormat {
        /// Path of the file.
        path: String,
    },
    /// Bytes were changed or lost for a reason other than an interrupted write.
    #[error("{path}: the journal is damaged: {reason}")]
    Damaged {
        /// Path of the file.
        path: String,
        /// The check that failed.
        reason: String,
    },
}

impl FileJournal {
    /// Opens a journal, or creates one.
    ///
    /// # Errors
    ///
    /// [`OpenJournalError`].
    pub fn open(path: &Path, durability: Durability) -> Result<Self, OpenJournalError> {
        let shown = || path.display().to_string();
        let io = |error| OpenJournalError::Io { path: shown(), error };
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::Error(error) => io(error),
            TryLockError::WouldBlock => OpenJournalError::InUse { path: shown() },
        })?;
        let backend = FileBackend::new(file).map_err(|error| opening(error, path))?;
        let journal = Self::on(backend, path, durability, SLACK)?;
        sync_folder(path, durability).map_err(io)?;
        Ok(journal)
    }

    /// Opens the journal of a storage, which the caller has locked. The path is that of messages.
    fn on(
        backend: impl StorageBackend,
        path: &Path,
        durability: Durability,
        slack: u64,
    ) -> Result<Self, OpenJournalError> {
        let opening = |error| opening(error, path);
        match content(&backend).map_err(|error| opening(error.into()))? {
            Content::Store => {}
            Content::Old => return Err(OpenJournalError::OldFormat { path: path.display().to_string() }),
            Content::Unfinished => backend.set_len(0).map_err(|error| opening(error.into()))?,
        }
        let storage = Storage::new(backend, durability);
        let mut builder = Database::builder();
        builder.set_cache_size(CACHE).set_check_integrity_on_open(true);
        let database = builder.create_with_backend(storage.clone()).map_err(opening)?;
        let mut journal = Self { database, storage, failed: None, live: 0, slack, compacted: (0, 0) };
        journal.begin().map_err(|error| opening(storage_error(error)))?;
        journal.storage.release().map_err(|error| opening(error.into()))?;
        Ok(journal)
    }

    /// Creates the table of a new journal, and measures the entries of another one.
    fn begin(&mut self) -> Result<(), redb::Error> {
        let transaction = self.database.begin_read()?;
        let tables: Vec<String> = transaction.list_tables()?.map(|table| table.name().to_owned()).collect();
        match tables.as_slice() {
            [] => {
                let mut transaction = self.database.begin_write()?;
                transaction.set_two_phase_commit(true);
                drop(transaction.open_table(ENTRIES)?);
                transaction.commit()?;
            }
            [table] if table == ENTRIES.name() => {
                for entry in transaction.open_table(ENTRIES)?.range::<&[u8]>(..)? {
                    let (key, value) = entry?;
                    self.live += size(key.value(), value.value());
                }
            }
            _ => return Err(io::Error::from(io::ErrorKind::InvalidData).into()),
        }
        Ok(())
    }

    fn store(&mut self, changes: &[Change]) -> Result<(), redb::Error> {
        let mut live = self.live;
        let mut transaction = self.database.begin_write()?;
        transaction.set_two_phase_commit(true);
        {
            let mut table = transaction.open_table(ENTRIES)?;
            for Change { key, value } in changes {
                let replaced = match value {
                    Some(value) => {
                        live += size(key, value);
                        table.insert(key.as_slice(), value.as_ref())?
                    }
                    None => table.remove(key.as_slice())?,
                };
                live -= replaced.map_or(0, |replaced| size(key, replaced.value()));
            }
        }
        transaction.commit()?;
        self.live = live;
        Ok(())
    }

    fn compact(&mut self) -> Result<(), redb::Error> {
        let (len, live) = (self.storage.len()?, self.live);
        let (last_len, last_live) = self.compacted;
        // The second condition bounds the cost: the file has grown, or the entries have shrunk, by a factor
        // of two.
        if len > RATIO.saturating_mul(live).saturating_add(self.slack)
            && (len > 2 * last_len || live < last_live / 2)
        {
            self.database.compact()?;
            self.compacted = (self.storage.len()?, live);
        }
        Ok(())
    }
}

fn size(key: &[u8], value: &[u8]) -> u64 {
    (key.len() + value.len()) as u64
}

impl Journal for FileJournal {
    fn next(&self, after: &[u8]) -> Result<Option<(Vec<u8>, Bytes)>, JournalError> {
        let next = || {
            let table = self.database.begin_read()?.open_table(ENTRIES)?;
            let after = (core::ops::Bound::Excluded(after), core::ops::Bound::Unbounded);
            let Some(next) = table.range::<&[u8]>(after)?.next() else { return Ok(None) };
            let (key, value) = next?;
            Ok(Some((key.value().to_vec(), Bytes::copy_from_slice(value.value()))))
        };
        next().map_err(failed)
    }

    fn read(&self, key: &[u8]) -> Result<Option<Bytes>, JournalError> {
        let read = || {
            let value = self.database.begin_read()?.open_table(ENTRIES)?.get(key)?;
            Ok(value.map(|value| Bytes::copy_from_slice(value.value())))
        };
        read().map_err(failed)
    }

    fn write(&mut self, changes: &[Change]) -> Result<(), JournalError> {
        self.failed.clone().map_or(Ok(()), Err)?;
        let stored = self.store(changes).map_err(failed);
        self.failed = stored.clone().err();
        stored?;
        // The changes are durable. The next call reports an error of the compaction.
        self.failed = self.compact().map_err(failed).err();
        Ok(())
    }
}

fn failed(error: redb::Error) -> JournalError {
    JournalError::Failed { reason: error.to_string() }
}

fn storage_error(error: redb::Error) -> DatabaseError {
    match error {
        redb::Error::Io(error) => error.into(),
        error => StorageError::Corrupted(error.to_string()).into(),
    }
}

fn opening(error: DatabaseError, path: &Path) -> OpenJournalError {
    let path = path.display().to_string();
    match error {
        DatabaseError::DatabaseAlreadyOpen => OpenJournalError::InUse { path },
        DatabaseError::Storage(StorageError::Io(error)) => match error.kind() {
            io::ErrorKind::InvalidData => OpenJournalError::NotAJournal { path },
            io::ErrorKind::UnexpectedEof => OpenJournalError::Damaged { path, reason: error.to_string() },
            _ => OpenJournalError::Io { path, error },
        },
        error => OpenJournalError::Damaged { path, reason: error.to_string() },
    }
}

/// Content of a file, as far as the store does not distinguish it.
enum Content {
    /// A file that the store opens, creates or refuses.
    Store,
    /// A journal of the earlier format.
    Old,
    /// A file whose creation was interrupted: the store writes its magic bytes last.
    Unfinished,
}

fn content(backend: &impl StorageBackend) -> io::Result<Content> {
    /// Bytes of the header of a store, whose bytes 12 to 15 are the size of a page.
    const HEADER: usize = 320;
    const PAGE: usize = 1 << 12;
    /// Maximum size of a store without entries.
    const NEW: usize = 1 << 22;
    let len = usize::try_from(backend.len()?).unwrap_or(usize::MAX);
    let mut bytes = vec![0; len.min(HEADER)];
    backend.read(0, &mut bytes)?;
    if bytes.starts_with(OLD_MAGIC) {
        return Ok(Content::Old);
    }
    let is_zero = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    let written = bytes.iter().zip(MAGIC).take_while(|(found, expected)| found == expected).count();
    let (magic, header) = bytes.split_at(len.min(MAGIC.len()));
    // The length is durable before the magic bytes are written.
    let is_without_magic =
        written < MAGIC.len() && is_zero(&magic[written..]) && (written == 0 || len >= PAGE);
    let mut page = header.iter().skip(3).take(4).zip([0, 16, 0, 0]);
    let is_header = page.all(|(found, expected)| *found == 0 || *found == expected);
    if len == 0 || len > NEW || !is_without_magic || !is_header {
        return Ok(Content::Store);
    }
    let mut rest = vec![0; len - bytes.len()];
    backend.read(bytes.len() as u64, &mut rest)?;
    Ok(if is_zero(&rest) { Content::Unfinished } else { Content::Store })
}

/// Flushes the directory entry of the file.
fn sync_folder(path: &Path, durability: Durability) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match (durability, folder) {
        (Durability::Machine, Some(folder)) if cfg!(unix) => File::open(folder)?.sync_all(),
        (Durability::Machine | Durability::Process, _) => Ok(()),
    }
}

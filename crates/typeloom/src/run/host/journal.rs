//! A journal in a file.
//!
//! ```text
//! "TLWJ"  version: byte = 1  three zero bytes
//! then for each record:  length: u32   check of the length: u32   check of the record: 16 bytes   the record
//! ```
//!
//! The checks are prefixes of BLAKE3 digests. An incomplete last record is the result of a process or machine
//! that stopped during a write, and is dropped. Any other mismatch is an error, because an acknowledged
//! record may follow it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use typeloom_wire::journal::{Journal, JournalError};

const MAGIC: [u8; 8] = *b"TLWJ\x01\0\0\0";
/// Number of bytes in front of a record.
const HEADER: usize = 24;

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
    file: File,
    path: PathBuf,
    durability: Durability,
    records: Vec<Vec<u8>>,
}

/// Error of opening a file as a journal.
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
    /// Bytes were changed or lost for a reason other than an interrupted write.
    #[error("{path}: the journal is damaged at byte {at}")]
    Damaged {
        /// Path of the file.
        path: String,
        /// Offset of the damage in bytes.
        at: usize,
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
        let mut file = locked(path, false).map_err(|error| match error {
            TryLockError::Error(error) => io(error),
            TryLockError::WouldBlock => OpenJournalError::InUse { path: shown() },
        })?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        let (records, end) = match read(&bytes) {
            Ok(read) => read,
            Err(0) => return Err(OpenJournalError::NotAJournal { path: shown() }),
            Err(at) => return Err(OpenJournalError::Damaged { path: shown(), at }),
        };
        let mut journal = Self { file, path: path.to_owned(), durability, records };
        journal.begin(end, bytes.len()).map_err(io)?;
        Ok(journal)
    }

    /// Truncates an incomplete record and writes the header of a new file.
    fn begin(&mut self, end: usize, len: usize) -> io::Result<()> {
        if end < len {
            self.file.set_len(end as u64)?;
        }
        self.file.seek(SeekFrom::Start(end as u64))?;
        if end == 0 {
            self.file.write_all(&MAGIC)?;
        }
        self.sync()?;
        sync_folder(&self.path, self.durability)
    }

    fn sync(&self) -> io::Result<()> {
        match self.durability {
            Durability::Process => Ok(()),
            Durability::Machine => self.file.sync_data(),
        }
    }
}

impl Journal for FileJournal {
    fn records(&mut self) -> Result<Vec<Vec<u8>>, JournalError> {
        // An endpoint reads the records once, when it opens the journal.
        Ok(std::mem::take(&mut self.records))
    }

    fn append(&mut self, record: &[u8]) -> Result<(), JournalError> {
        let mut bytes = Vec::with_capacity(HEADER + record.len());
        put(&mut bytes, record)
            .and_then(|()| self.file.write_all(&bytes))
            .and_then(|()| self.sync())
            .map_err(|error| failed(&error))
    }

    fn replace(&mut self, records: &[Vec<u8>]) -> Result<(), JournalError> {
        let mut bytes = MAGIC.to_vec();
        let new = self.path.with_added_extension("new");
        let mut replace = || {
            records.iter().try_for_each(|record| put(&mut bytes, record))?;
            // Locked before the rename, so that no other process can open it in between.
            let mut file = locked(&new, true)?;
            file.write_all(&bytes)?;
            if self.durability == Durability::Machine {
                file.sync_data()?;
            }
            std::fs::rename(&new, &self.path)?;
            self.file = file;
            sync_folder(&self.path, self.durability)
        };
        replace().map_err(|error| failed(&error))
    }
}

fn failed(error: &io::Error) -> JournalError {
    JournalError::Failed { reason: error.to_string() }
}

fn locked(path: &Path, truncated: bool) -> Result<File, TryLockError> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).open(path);
    let file = file.map_err(TryLockError::Error)?;
    file.try_lock()?;
    if truncated {
        file.set_len(0).map_err(TryLockError::Error)?;
    }
    Ok(file)
}

/// Flushes the directory entry of the file.
fn sync_folder(path: &Path, durability: Durability) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match (durability, folder) {
        (Durability::Machine, Some(folder)) if cfg!(unix) => File::open(folder)?.sync_all(),
        (Durability::Machine | Durability::Process, _) => Ok(()),
    }
}

fn put(out: &mut Vec<u8>, record: &[u8]) -> io::Result<()> {
    let Ok(len) = u32::try_from(record.len()) else {
        return Err(io::Error::other("a record has at most 4294967295 bytes"));
    };
    let len = len.to_le_bytes();
    out.extend(len);
    out.extend(&blake3::hash(&len).as_bytes()[..4]);
    out.extend(&blake3::hash(record).as_bytes()[..16]);
    out.extend_from_slice(record);
    Ok(())
}

/// Decodes the records and the end of the last complete one. The error is the offset of the damage.
fn read(bytes: &[u8]) -> Result<(Vec<Vec<u8>>, usize), usize> {
    if bytes.len() < MAGIC.len() && MAGIC.starts_with(bytes) {
        return Ok((Vec::new(), 0));
    }
    if !bytes.starts_with(&MAGIC) {
        return Err(0);
    }
    let (mut records, mut at) = (Vec::new(), MAGIC.len());
    while let Some(header) = bytes[at..].first_chunk::<HEADER>() {
        let (len, checks) = header.split_at(4);
        let is_torn = || bytes[at..].iter().all(|byte| *byte == 0);
        if blake3::hash(len).as_bytes()[..4] != checks[..4] {
            // After a power failure a file can end in zeros that were never written.
            return if is_torn() { Ok((records, at)) } else { Err(at) };
        }
        let len = u32::from_le_bytes([len[0], len[1], len[2], len[3]]) as usize;
        let Some(record) = bytes[at + HEADER..].get(..len) else { return Ok((records, at)) };
        let end = at + HEADER + len;
        if blake3::hash(record).as_bytes()[..16] != checks[4..] {
            // A file can also be extended before the last record is written.
            return if end == bytes.len() { Ok((records, at)) } else { Err(at) };
        }
        records.push(record.to_vec());
        at = end;
    }
    Ok((records, at))
}

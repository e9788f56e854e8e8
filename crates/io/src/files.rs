//! Reads models and the files that they refer to from disk.
//!
//! | item | reads |
//! |---|---|
//! | [`open`] | a model, by mapping its file: checking reads the pages of the graph and none of the weights. A small file is read, which takes less time |
//! | [`read`] | a whole file |
//! | [`SideFiles`] | tensors that a model stores in other files |
//! | [`SmallTensors`] | those of few elements, for a check |
//! | [`relocate`] | new locations of these files for a model made from others |
//! | [`report_missing`] | which of these tensors cannot be read |
//!
//! **Invariant:** only regular files are opened, and side files only inside the folder of their model,
//! through no link.

mod beneath;
pub mod relocate;
mod side;
mod small;

use std::fs::File;
use std::io::Read as _;
use std::ops::Deref;
use std::path::Path;

pub use side::{SideFiles, open_side, report_missing, report_missing_by, size, usable, used};
pub use small::SmallTensors;

/// The bytes of a model.
pub enum Bytes {
    /// The file is kept, so that parts of it can be copied without passing through memory.
    Mapped(bytes::Bytes, File),
    Read(bytes::Bytes),
}

impl Bytes {
    /// The bytes, reference-counted.
    #[must_use]
    pub fn shared(&self) -> &bytes::Bytes {
        match self {
            Self::Mapped(bytes, _) | Self::Read(bytes) => bytes,
        }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.shared()
    }
}

/// Files below this size are read: to load all pages of a mapped one takes as long, and to map it takes
/// additional time. The threads of a process also share its list of maps.
const MIN_MAPPED: u64 = 256 << 10;

/// Maps a model into memory, or reads it if it is small.
///
/// # Errors
/// If the path is not a regular file, or cannot be read.
pub fn open(path: &Path) -> std::io::Result<Bytes> {
    let mut file = regular(path)?;
    let length = file.metadata()?.len();
    if length < MIN_MAPPED {
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        file.read_to_end(&mut bytes)?;
        return Ok(Bytes::Read(bytes.into()));
    }
    map(&file).map(|map| Bytes::Mapped(map, file))
}

/// Opens a regular file. Other kinds are refused before they are opened: opening a named pipe waits for a
/// writer, and opening a device can have any effect.
pub(crate) fn regular(path: &Path) -> std::io::Result<File> {
    check_kind(&std::fs::metadata(path)?)?;
    let file = File::open(path)?;
    // The file may have been replaced between the first check and the opening.
    check_kind(&file.metadata()?)?;
    Ok(file)
}

/// The contents of a regular file.
///
/// # Errors
/// If the path is not a regular file, or cannot be read.
pub fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn check_kind(meta: &std::fs::Metadata) -> std::io::Result<()> {
    check_type(Kind::of(meta.file_type()))
}

/// The kind of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    File,
    Folder,
    Pipe,
    Socket,
    Device,
}

impl Kind {
    #[cfg(unix)]
    fn of(kind: std::fs::FileType) -> Self {
        use std::os::unix::fs::FileTypeExt as _;
        match kind {
            _ if kind.is_file() => Self::File,
            _ if kind.is_dir() => Self::Folder,
            _ if kind.is_fifo() => Self::Pipe,
            _ if kind.is_socket() => Self::Socket,
            _ => Self::Device,
        }
    }

    #[cfg(not(unix))]
    fn of(kind: std::fs::FileType) -> Self {
        match kind {
            _ if kind.is_file() => Self::File,
            _ if kind.is_dir() => Self::Folder,
            _ => Self::Device,
        }
    }
}

/// Returns an error for all kinds but regular files.
pub(crate) fn check_type(kind: Kind) -> std::io::Result<()> {
    let what = match kind {
        Kind::File => return Ok(()),
        Kind::Folder => "a folder",
        Kind::Pipe => "a named pipe",
        Kind::Socket => "a socket",
        Kind::Device => "a device",
    };
    Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, format!("it is {what}, not a file")))
}

/// The one place where this project maps a file.
#[expect(unsafe_code, reason = "a 2 GB model is checked in milliseconds because its weights are never read")]
pub(crate) fn map(file: &File) -> std::io::Result<bytes::Bytes> {
    // SAFETY: the map is read-only and lives as long as the bytes are borrowed. Another process that
    // truncates or rewrites the file meanwhile can make reads fail or change under the reader, as with
    // any mapped file; the reader is bounds-checked and keeps no invariant across two reads of one byte.
    unsafe { memmap2::Mmap::map(file) }.map(bytes::Bytes::from_owner)
}

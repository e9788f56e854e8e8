//! Opens a file inside a folder without following a link.
//!
//! Each part of the path is opened relative to the folder before it, and must not be a link. So a part that
//! another program replaces meanwhile does not lead out of the folder, as it would for paths that are tested
//! first and opened afterwards.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Result;
use std::path::Path;

/// The result of a search.
pub(crate) enum Found {
    /// A regular file.
    File(File),
    /// A part of the path is a link.
    Link,
}

/// Opens the regular file at `parts` below a folder. Links in the path of the folder itself are followed.
#[cfg(unix)]
pub(crate) fn open(folder: &Path, parts: &[&OsStr]) -> Result<Found> {
    use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, statat};

    let Some((last, folders)) = parts.split_last() else {
        return Err(std::io::Error::from(std::io::ErrorKind::InvalidInput));
    };
    // A pipe that replaces the file after the test does not block, and a terminal does not become that of the
    // process.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut at = File::open(folder)?;
    let kind_of = |at: &File, part: &OsStr| -> Result<FileType> {
        Ok(FileType::from_raw_mode(statat(at, part, AtFlags::SYMLINK_NOFOLLOW)?.st_mode))
    };
    for part in folders {
        if kind_of(&at, part)? == FileType::Symlink {
            return Ok(Found::Link);
        }
        at = File::from(openat(&at, *part, flags | OFlags::DIRECTORY, Mode::empty())?);
    }
    // Opening a device can have any effect, so the kind is tested before.
    crate::files::check_type(match kind_of(&at, last)? {
        FileType::Symlink => return Ok(Found::Link),
        FileType::RegularFile => crate::files::Kind::File,
        FileType::Directory => crate::files::Kind::Folder,
        FileType::Fifo => crate::files::Kind::Pipe,
        FileType::Socket => crate::files::Kind::Socket,
        FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => crate::files::Kind::Device,
    })?;
    let file = File::from(openat(&at, *last, flags, Mode::empty())?);
    crate::files::check_kind(&file.metadata()?)?;
    Ok(Found::File(file))
}

/// As above, with a test before the opening: there is no portable way to open a part of a path without
/// following it.
#[cfg(not(unix))]
pub(crate) fn open(folder: &Path, parts: &[&OsStr]) -> Result<Found> {
    let mut path = folder.to_path_buf();
    for part in parts {
        path.push(part);
        if path.symlink_metadata()?.is_symlink() {
            return Ok(Found::Link);
        }
    }
    crate::files::regular(&path).map(Found::File)
}

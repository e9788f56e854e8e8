//! The files that the command reads and writes. An output replaces none of them, unless an argument requests
//! it.
//!
//! Files are compared by device and inode, so paths through links and `..` name the same file. A process runs
//! one command, so the record is one of the process. A file counts as read when it is named by an argument or
//! opened, and a file with tensors when its model is.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::bail;

/// The use of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    /// A model.
    Model,
    /// A file with tensors of a model.
    Tensors,
    /// Settings, operators, lists and other files.
    Other,
    /// A folder whose files are read.
    Folder,
    /// An output.
    Written,
}

/// The files that an output may replace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Replaces {
    /// Those that the command neither reads nor has written.
    Others,
    /// The file that an argument requests to replace, although it is read.
    Requested,
    /// None.
    Nothing,
}

/// Distinguishes files. On systems without inodes it is the path.
#[cfg(unix)]
type Identity = (u64, u64);
#[cfg(not(unix))]
type Identity = std::path::PathBuf;

static USED: Mutex<BTreeMap<Identity, Use>> = Mutex::new(BTreeMap::new());

fn used() -> MutexGuard<'static, BTreeMap<Identity, Use>> {
    USED.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(unix)]
fn identity(_: &Path, meta: &Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    Some((meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path, _: &Metadata) -> Option<Identity> {
    path.canonicalize().ok()
}

/// Records the use of a file or folder. Pipes and devices have no content that an output replaces.
pub(crate) fn record(path: &Path, usage: Use) {
    let Ok(meta) = path.metadata() else { return };
    let is_kept = if usage == Use::Folder { meta.is_dir() } else { meta.is_file() };
    if let Some(identity) = identity(path, &meta).filter(|_| is_kept) {
        used().insert(identity, usage);
    }
}

/// Records the file that is standard input.
#[cfg(unix)]
pub(crate) fn record_stdin() {
    use std::os::fd::AsFd as _;
    let file = std::io::stdin().as_fd().try_clone_to_owned().map(std::fs::File::from);
    let meta = file.and_then(|file| file.metadata()).ok().filter(Metadata::is_file);
    if let Some(identity) = meta.and_then(|meta| identity(Path::new(""), &meta)) {
        used().insert(identity, Use::Model);
    }
}

#[cfg(not(unix))]
pub(crate) fn record_stdin() {}

/// Returns an error if an output at this path would replace a file that is used.
pub(crate) fn refuse(path: &Path, name: &str, replaces: Replaces) -> anyhow::Result<()> {
    let used = used();
    let of = |path: &Path| {
        let meta = path.metadata().ok()?;
        used.get(&identity(path, &meta)?).copied()
    };
    match (of(path), replaces) {
        (Some(Use::Written), _) => bail!("`{name}` is another output of this command"),
        (_, Replaces::Requested) => return Ok(()),
        (Some(Use::Model), _) => bail!("`{name}` is the model itself"),
        (Some(Use::Tensors), _) => bail!("`{name}` has tensors of the model"),
        (Some(Use::Other), _) => bail!("`{name}` is read by this command"),
        (Some(Use::Folder) | None, Replaces::Nothing) if path.is_file() => {
            bail!("`{name}` exists; --force replaces it")
        }
        (Some(Use::Folder) | None, _) => {}
    }
    if used.values().any(|usage| *usage == Use::Folder) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().unwrap_or_default();
        if folder.ancestors().any(|folder| of(folder) == Some(Use::Folder)) {
            bail!("`{name}` is in the registry that this command reads");
        }
    }
    Ok(())
}

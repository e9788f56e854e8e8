//! Local folders of objects. They have regular files and folders only: a link leads to files of others, and
//! opening a pipe waits for a writer.

use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::stores::error::StoreError;
use crate::stores::folder::Listed;
use crate::stores::staging;

/// Returns an error if an object or folder below a root is a link or another special file, or is reached
/// through a link.
pub(crate) fn check(root: &Path, name: &str) -> Result<(), StoreError> {
    let mut path = root.to_path_buf();
    for part in name.split('/') {
        path.push(part);
        // A missing file is not reached through a link.
        let Ok(meta) = path.symlink_metadata() else { return Ok(()) };
        check_kind(&path, meta.file_type())?;
    }
    Ok(())
}

fn check_kind(path: &Path, kind: std::fs::FileType) -> Result<(), StoreError> {
    if kind.is_file() || kind.is_dir() {
        return Ok(());
    }
    let what = if kind.is_symlink() { "a link" } else { "a pipe, a socket or a device" };
    Err(StoreError::Irregular(path.display().to_string(), what))
}

/// The objects below a folder in any order, those after the name `after` only; `None` if there are more than
/// `max`.
pub(crate) fn list(
    root: &Path,
    folder: &str,
    after: Option<&str>,
    max: usize,
) -> Result<Option<Vec<Listed>>, StoreError> {
    check(root, folder)?;
    let mut found = Vec::new();
    let mut open = vec![(root.join(folder), folder.to_owned())];
    while let Some((path, name)) = open.pop() {
        let failed = |error: io::Error| StoreError::Store(path.display().to_string(), error.to_string());
        let entries = match std::fs::read_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries.map_err(failed)?,
        };
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            check_kind(&entry.path(), kind)?;
            let last = entry.file_name().to_string_lossy().into_owned();
            let name = if name.is_empty() { last } else { format!("{name}/{last}") };
            if kind.is_dir() {
                open.push((entry.path(), name));
                continue;
            }
            // A file may have been removed since.
            let Ok(meta) = entry.metadata() else { continue };
            if staging::staged(&name).is_some() || after.is_some_and(|after| name.as_str() <= after) {
                continue;
            }
            if found.len() == max {
                return Ok(None);
            }
            let modified = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            let modified = modified.and_then(|time| i64::try_from(time.as_secs()).ok()).unwrap_or_default();
            found.push(Listed { name, size: meta.len(), modified });
        }
    }
    Ok(Some(found))
}

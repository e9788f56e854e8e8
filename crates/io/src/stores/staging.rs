//! Leftovers of interrupted writes in local folders.
//!
//! `object_store` writes to `NAME#NUMBER`, synchronises it, and renames it or links it to `NAME`. It ignores
//! files of such names otherwise, so they can be removed only by their paths.

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The names of the files of interrupted writes of objects directly in a folder. `is_object` tests the names
/// of objects: files of other programs are not listed. Times are compared as whole seconds, as those of
/// objects.
pub(crate) fn find(folder: &Path, before: i64, is_object: impl Fn(&str) -> bool) -> io::Result<Vec<String>> {
    let after = u64::try_from(before.saturating_add(1)).unwrap_or_default();
    let after = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(after));
    let mut found = Vec::new();
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name =
            entry.file_name().to_str().filter(|name| staged(name).is_some_and(&is_object)).map(str::to_owned);
        let (Some(name), Ok(meta)) = (name, entry.metadata()) else { continue };
        let modified = meta.modified()?;
        if meta.is_file() && after.is_none_or(|after| modified < after) {
            found.push(name);
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Removes files directly in a folder. A missing one was removed by another collection.
pub(crate) fn remove(folder: &Path, names: &[String]) -> io::Result<()> {
    names.iter().try_for_each(|name| match std::fs::remove_file(folder.join(name)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    })
}

/// The name of the object that an interrupted write would have created.
pub(crate) fn staged(name: &str) -> Option<&str> {
    let (object, number) = name.rsplit_once('#')?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(object)
}

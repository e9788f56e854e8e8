//! Leftovers of interrupted writes in local folders.
//!
//! `object_store` writes to `NAME#NUMBER`, synchronises it, and renames it or links it to `NAME`. It ignores files of such names
//! otherwise, so they can be removed only by their paths.

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Removes the files of interrupted writes directly in a folder, and returns their names.
pub(crate) fn remove(folder: &Path, before: i64) -> io::Result<Vec<String>> {
    let before = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(before).unwrap_or_default());
    let mut removed = Vec::new();
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(removed),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let Some(name) = entry.file_name().to_str().filter(|name| is_staged(name)).map(str::to_owned) else {
            continue;
        };
        let Ok(meta) = entry.metadata() else { continue };
        if !meta.is_file() || meta.modified()? > before {
            continue;
        }
        match std::fs::remove_file(entry.path()) {
            Ok(()) => removed.push(name),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    removed.sort_unstable();
    Ok(removed)
}

fn is_staged(name: &str) -> bool {
    let number = name.split_once('#').map(|(_, number)| number);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

//! Temporary files, which are renamed to their targets when they are complete.
//!
//! A writer locks its file. A file of such a name without a lock has lost its writer, and the next writer of
//! the same target removes it. Numbers of processes are no evidence: a writer in another container has a
//! number of another namespace.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

use crate::interrupt::Removal;

/// The longest name of a file that all usual file systems store, in bytes.
const MAX_NAME: usize = 255;

/// A temporary file. It is removed when it is dropped, unless it was renamed.
pub(super) struct Temporary {
    pub(super) file: File,
    removal: Removal,
}

impl Temporary {
    /// Creates a file in the folder of `path`, so that renaming it to `path` is atomic. Removes the files of
    /// writers that were killed.
    pub(super) fn create(path: &Path) -> Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        remove_stale(path, &name);
        let mut last = Error::from(ErrorKind::AlreadyExists);
        for attempt in 0..100 {
            let temporary = path.with_file_name(temporary_name(&name, attempt));
            let open = || {
                let file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
                Ok((temporary.clone(), file))
            };
            match Removal::of(open) {
                Ok((removal, file)) => {
                    let temporary = Self { file, removal };
                    if temporary.is_own() {
                        return Ok(temporary);
                    }
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    /// Locks the file. Another writer may have removed it before: then it is not at its path any more.
    fn is_own(&self) -> bool {
        !matches!(self.file.try_lock(), Err(TryLockError::WouldBlock)) && self.removal.path().exists()
    }

    /// Moves the file to a path.
    pub(super) fn rename(&self, path: &Path) -> Result<()> {
        std::fs::rename(self.removal.path(), path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After it was renamed, there is no such file.
        let _ = std::fs::remove_file(self.removal.path());
    }
}

/// The name of a temporary file: `.NAME.PROCESS-ATTEMPT.tmp`, with as much of the name as fits.
fn temporary_name(name: &str, attempt: u32) -> String {
    let end = format!(".{}-{attempt}.tmp", std::process::id());
    format!(".{}{end}", shortened(name, MAX_NAME - 1 - end.len()))
}

/// The beginning of a text that takes at most this number of bytes.
fn shortened(text: &str, length: usize) -> &str {
    &text[..text.floor_char_boundary(length)]
}

/// Removes temporary files for `name` without a writer. Files that cannot be locked or removed stay.
fn remove_stale(path: &Path, name: &str) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let is_temporary = entry.file_name().to_str().is_some_and(|file| is_temporary_of(file, name));
        if is_temporary && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let file = OpenOptions::new().write(true).open(entry.path());
            // The lock is kept until the file is removed.
            if let Ok(file) = &file
                && file.try_lock().is_ok()
            {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

/// Whether `file` is the name of a temporary file for `name`.
fn is_temporary_of(file: &str, name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some((start, end)) = file.strip_suffix(".tmp").and_then(|rest| rest.rsplit_once('.')) else {
        return false;
    };
    let is_end =
        end.split_once('-').is_some_and(|(process, attempt)| is_number(process) && is_number(attempt));
    let fitting = MAX_NAME.saturating_sub(file.len() - start.len() + 1);
    is_end && start.strip_prefix('.').is_some_and(|start| start == shortened(name, fitting))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_this_program_gives_are_those_of_temporary_files() {
        assert!(is_temporary_of(".m.onnx.123-0.tmp", "m.onnx"));
        for other in [
            "m.onnx.123-0.tmp",
            ".m.onnx.123.tmp",
            ".m.onnx.123-.tmp",
            ".m.onnx.-0.tmp",
            ".m.onnx.+1-0.tmp",
            ".m.onnx.123-0.tmp.bak",
            ".other.onnx.123-0.tmp",
            ".m.onnx.tmp",
        ] {
            assert!(!is_temporary_of(other, "m.onnx"), "{other}");
        }
    }

    #[test]
    fn names_of_files_fit_a_file_system() {
        for name in ["m".repeat(255), "\u{20ac}".repeat(85), "m".to_owned()] {
            let temporary = temporary_name(&name, 99);
            assert!(temporary.len() <= MAX_NAME, "{temporary}");
            assert!(is_temporary_of(&temporary, &name), "{temporary}");
        }
    }

    #[test]
    fn files_without_a_writer_are_removed_and_others_stay() -> Result<()> {
        let folder = std::env::temp_dir().join(format!("typeloom-stale-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let target = folder.join("m.onnx");
        // The writer of the second file has the number of no process here, as in another container.
        let [gone, written, other] =
            [".m.onnx.1-0.tmp", ".m.onnx.4294967295-0.tmp", ".n.onnx.4294967295-0.tmp"];
        for name in [gone, written, other] {
            std::fs::write(folder.join(name), b"x")?;
        }
        let writer = OpenOptions::new().write(true).open(folder.join(written))?;
        writer.try_lock()?;
        let own = Temporary::create(&target)?;
        let second = Temporary::create(&target)?;
        assert_eq!([gone, written, other].map(|name| folder.join(name).exists()), [false, true, true]);
        own.rename(&target)?;
        drop(own);
        assert!(target.exists() && second.removal.path().exists());
        drop((second, writer));
        std::fs::remove_dir_all(&folder)
    }
}

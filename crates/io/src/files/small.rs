//! Small tensors in side files, whose values decide shapes.
//!
//! A check reads only the tensors that its rules ask for, each at most [`MAX_BYTES`] long. A tensor that
//! cannot be read has no value; [`report_missing`](crate::files::report_missing) states the reason.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use typeloom_solver::model::{ExternalTensor, SideData};

use crate::files::side;

/// The maximum length of a tensor. The solver follows at most 4096 elements of 8 bytes.
const MAX_BYTES: u64 = 1 << 15;

/// The side files in the folder of a model, each opened once.
#[derive(Debug)]
pub struct SmallTensors {
    folder: PathBuf,
    files: Mutex<HashMap<String, Option<File>>>,
}

impl SmallTensors {
    /// The side files in a folder.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, files: Mutex::default() }
    }

    /// Closes the files. A tensor that is read later opens its file again.
    pub fn close(&self) {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl SideData for SmallTensors {
    fn bytes(&self, tensor: &ExternalTensor<'_>) -> Option<Vec<u8>> {
        let length = usize::try_from(tensor.bytes.filter(|length| *length <= MAX_BYTES)?).ok()?;
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match files.get_mut(tensor.location) {
            Some(file) => file,
            None => {
                let file = side::open(&self.folder, tensor.location).ok();
                files.entry(tensor.location.to_owned()).or_insert(file)
            }
        };
        let file = file.as_mut()?;
        let mut bytes = vec![0; length];
        file.seek(SeekFrom::Start(tensor.offset)).ok()?;
        file.read_exact(&mut bytes).ok()?;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use typeloom_solver::solve_error::ErrorSite;

    use super::*;

    #[test]
    fn small_tensors_are_read_from_their_range() -> std::io::Result<()> {
        let folder = std::env::temp_dir().join(format!("typeloom-{}-small", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("w.bin"), [1, 2, 3, 4, 5])?;
        let tensors = SmallTensors::new(folder.clone());
        let read = |location, offset, bytes| {
            tensors.bytes(&ExternalTensor { site: ErrorSite::Body, location, offset, bytes: Some(bytes) })
        };
        assert_eq!(read("w.bin", 1, 3), Some(vec![2, 3, 4]));
        assert_eq!(read("w.bin", 3, 3), None);
        assert_eq!(read("w.bin", 0, MAX_BYTES + 1), None);
        assert_eq!(read("../w.bin", 0, 1), None);
        assert_eq!(read("other.bin", 0, 1), None);
        std::fs::remove_dir_all(folder)
    }
}

//! Blessing: replaces false statements in documents by the found ones.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A fence's text to be replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Path of the file in the repository.
    pub file: PathBuf,
    /// The bytes to be replaced.
    pub range: Range<usize>,
    /// The replacement.
    pub text: String,
}

/// Applies the edits of each file from its end to its start, so that positions stay valid.
///
/// # Errors
/// The first file that cannot be read or written.
pub fn apply(repository: &Path, edits: Vec<Edit>) -> std::io::Result<()> {
    let mut files: BTreeMap<PathBuf, Vec<Edit>> = BTreeMap::new();
    for edit in edits {
        files.entry(edit.file.clone()).or_default().push(edit);
    }
    for (file, mut edits) in files {
        edits.sort_by_key(|edit| std::cmp::Reverse(edit.range.start));
        let path = repository.join(file);
        let mut text = std::fs::read_to_string(&path)?;
        for Edit { file: _, range, text: replacement } in edits {
            text.replace_range(range, &replacement);
        }
        std::fs::write(path, text)?;
    }
    Ok(())
}

//! The models in a folder.
//!
//! Models are the files with the suffix of a model or a text. Ignored are the files that `.gitignore`,
//! `.ignore` and `.git/info/exclude` name, hidden ones, and the folders of `FOREIGN`. The settings of a user's
//! Git are not read, so that the same files have the same result on every machine.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use typeloom_onnx::text::SUFFIXES as TEXT;

/// The deepest folder that is searched.
pub const MAX_DEPTH: usize = 64;

/// The ending of names of models in binary form.
const BINARY: &str = ".onnx";

/// Folders with files of other packages.
const FOREIGN: [&str; 4] = ["__pypackages__", "node_modules", "site-packages", "venv"];

/// The treatment of ignored files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ignored {
    /// They are left out.
    LeftOut,
    /// They are read.
    Read,
}

/// The endings of names of models.
pub fn suffixes() -> impl Iterator<Item = &'static str> {
    std::iter::once(BINARY).chain(TEXT)
}

/// The name of a model in a folder: its path there with `/`, without the ending.
///
/// ```
/// use std::path::Path;
/// use typeloom_project::folder::name_in;
///
/// assert_eq!(name_in(Path::new("models"), Path::new("models/vision/net.onnx")), "vision/net");
/// ```
#[must_use]
pub fn name_in(folder: &Path, path: &Path) -> String {
    let parts = path.strip_prefix(folder).unwrap_or(path).components();
    let parts: Vec<_> = parts.map(|part| part.as_os_str().to_string_lossy()).collect();
    let name = parts.join("/");
    suffixes().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(&name).to_owned()
}

/// The paths of the models in a folder and in the folders in it, in the order of names. Each begins with
/// `folder`. An error is one of a folder that cannot be listed.
pub fn models_in(
    folder: &Path,
    ignored: Ignored,
) -> impl Iterator<Item = Result<PathBuf, std::io::Error>> + use<> {
    let is_filtered = ignored == Ignored::LeftOut;
    let mut walk = WalkBuilder::new(folder);
    walk.standard_filters(is_filtered).require_git(false).git_global(false);
    walk.max_depth(Some(MAX_DEPTH + 1)).sort_by_file_name(OsStr::cmp);
    walk.filter_entry(move |entry| {
        let is_foreign = FOREIGN.iter().any(|name| entry.file_name() == *name);
        !(is_filtered && is_foreign && entry.depth() > 0)
    });
    walk.build().filter_map(|entry| match entry {
        Ok(entry) => {
            let is_folder = entry.file_type().is_none_or(|kind| kind.is_dir());
            (!is_folder && is_model(entry.file_name())).then(|| Ok(entry.into_path()))
        }
        Err(error) => Some(Err(std::io::Error::other(error))),
    })
}

/// Whether a file in a folder is a model.
#[must_use]
pub fn is_model(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    suffixes().any(|suffix| name.ends_with(suffix.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_ending_of_models() {
        let name = |path: &str| name_in(Path::new("a"), Path::new(path));
        assert_eq!(["a/b/net.onnx", "a/net.onnxtxt", "a/net.onnx.txt"].map(name), ["b/net", "net", "net"]);
        assert_eq!(["a/net.pt", "other/net.onnx"].map(name), ["net.pt", "other/net"]);
    }
}

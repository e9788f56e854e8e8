//! Access to the files of the repository for tests of its structure: paths, masked sources, manifests.

pub(crate) mod manifest;
pub(crate) mod source;

use std::fs;
use std::path::{Path, PathBuf};

/// The folder that contains `crates/`.
pub(crate) fn root() -> &'static Path {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.expect("a package is two folders below the workspace")
}

/// Lists the files below a folder with this extension, sorted, without build products and recorded data.
pub(crate) fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root().join(folder)];
    while let Some(folder) = open.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.expect("a folder of the repository can be read").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let skipped = matches!(&*name, "target" | "node_modules")
                || name.starts_with('.')
                || path.ends_with("tests/data");
            if path.is_dir() && !skipped {
                open.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

pub(crate) fn rust_files() -> Vec<PathBuf> {
    let files: Vec<_> =
        ["crates", "bench", "engines", "fuzz"].iter().flat_map(|folder| files(folder, "rs")).collect();
    assert!(files.len() > 100, "only {} sources below {}", files.len(), root().display());
    files
}

pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Formats a path relative to the root of the repository.
pub(crate) fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// Panics with all findings, if there are any.
pub(crate) fn none(what: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{what}:\n  {}", findings.join("\n  "));
}

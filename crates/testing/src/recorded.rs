//! Models among the recorded cases, for tests that run many models.

use std::path::{Path, PathBuf};

/// The folder of the recorded cases; `None` if there are none.
///
/// # Panics
/// If there are none under `CI=true`.
pub fn folder() -> Option<PathBuf> {
    let next = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance");
    let path = std::env::var_os("TYPELOOM_CONFORMANCE").map_or(next, PathBuf::from);
    if path.is_dir() {
        return Some(path);
    }
    assert!(std::env::var("CI").as_deref() != Ok("true"), "no recorded cases at {}", path.display());
    None
}

/// `count` recorded models: all ill-typed ones, and others at equal distances in the order of their names.
///
/// # Panics
/// If a folder cannot be listed, or there are fewer models.
pub fn models(count: usize) -> Option<Vec<PathBuf>> {
    let folder = folder()?;
    let mut chosen = list(&folder.join("illtyped"));
    chosen.truncate(count);
    let others = list(&folder.join("inference/models"));
    let missing = count - chosen.len();
    assert!(others.len() >= missing, "{} recorded models", others.len());
    chosen.extend((0..missing).map(|at| others[at * others.len() / missing].clone()));
    Some(chosen)
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "onnx"));
    files.sort();
    files
}

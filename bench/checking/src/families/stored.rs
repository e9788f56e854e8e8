//! Models from existing files.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use super::{Case, Model, Scale};

/// The nine networks of the recorded cases, if available.
pub(super) fn light(_: Scale) -> io::Result<Vec<Case>> {
    let cases = env::var_os("TYPELOOM_CONFORMANCE")
        .map_or_else(|| here().join("../../../shared/conformance"), PathBuf::from)
        .join("backend/light");
    if !cases.is_dir() {
        eprintln!("  no recorded cases here; set TYPELOOM_CONFORMANCE to their folder");
        return Ok(Vec::new());
    }
    folder(&cases)
}

/// The models of this repository.
pub(super) fn models(_: Scale) -> io::Result<Vec<Case>> {
    folder(&here().join("../../models"))
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn folder(path: &Path) -> io::Result<Vec<Case>> {
    let mut paths = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "onnx"));
    paths.sort();
    let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(paths
        .into_iter()
        .map(|path| Case { name: name(&path), size: None, model: Model::Stored(path) })
        .collect())
}

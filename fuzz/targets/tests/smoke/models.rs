//! The repository's small models.

use std::path::Path;

/// Every model of `models/` below 50 kB, by name.
pub(crate) fn small() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut models: Vec<_> = std::fs::read_dir(folder)
        .expect("the repository has models")
        .map(|entry| entry.expect("a folder can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "onnx"))
        .map(|path| {
            let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
            (name, std::fs::read(&path).expect("a model can be read"))
        })
        .filter(|(_, bytes)| bytes.len() < 50_000)
        .collect();
    models.sort();
    assert!(!models.is_empty(), "there are small models");
    models
}

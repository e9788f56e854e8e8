//! Models for tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use prost::Message as _;
use typeloom_ops::catalogue::Standard;
use typeloom_solver::model::{CheckError, Checked, Mode, Options, check};
use typeloom_solver::universe::Universe;
use typeloom_testing::number;

pub(crate) fn universe() -> &'static Arc<Universe> {
    Universe::standard()
}

/// A model in the textual syntax, serialized.
pub(crate) fn model(text: &str) -> Vec<u8> {
    typeloom_onnx::text::parse_model(text).expect("the test's text is a model").encode_to_vec()
}

/// A graph in the textual syntax, as a model of operator set 21.
pub(crate) fn graph(text: &str) -> Vec<u8> {
    model(&format!("<ir_version: 10, opset_import: [\"\" : 21]>\n{text}"))
}

pub(crate) fn solved(bytes: &[u8], mode: Mode) -> Result<Checked<'_>, CheckError> {
    check(bytes, &Standard, universe(), &Options { mode, functions: true, ..Options::default() })
}

/// The models of the repository, and the recorded cases if they are present: all of them with
/// `TYPELOOM_TESTS=all`, and every tenth otherwise.
pub(crate) fn model_files() -> Vec<PathBuf> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    search(&repository.join("models"), &mut found);
    let recorded = recorded();
    for folder in ["inference", "backend", "constant_shapes", "illtyped"] {
        if let Some(root) = &recorded {
            let mut cases = Vec::new();
            search(&root.join(folder), &mut cases);
            found.extend(cases.into_iter().step_by(number(10, 1)));
        }
    }
    assert!(!found.is_empty(), "the repository has models");
    found
}

/// The folder of the recorded cases.
pub(crate) fn recorded() -> Option<PathBuf> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance");
    let path = std::env::var_os("TYPELOOM_CONFORMANCE").map_or(default, PathBuf::from);
    assert!(path.is_dir() || std::env::var("CI").as_deref() != Ok("true"), "no recorded cases");
    path.is_dir().then_some(path)
}

/// The files with models under a folder, in the order of their names.
pub(crate) fn search(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            search(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "onnx") {
            found.push(path);
        }
    }
}

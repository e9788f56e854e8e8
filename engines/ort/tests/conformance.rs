//! Recorded cases, graphs and whole models on ONNX Runtime.

#![expect(clippy::print_stdout, reason = "prints tables")]

#[expect(dead_code, reason = "shared with the tests of the embedded backend")]
#[path = "../../../crates/runtime/tests/backend/cases.rs"]
mod cases;
#[path = "../../../crates/runtime/tests/backend/compare.rs"]
mod compare;
#[path = "../../conformance.rs"]
mod conformance;
#[path = "../../differential.rs"]
mod differential;
#[path = "../../models.rs"]
mod models;
#[path = "../../suite.rs"]
mod suite;
#[path = "../../../crates/runtime/tests/backend/whole.rs"]
mod whole;
#[path = "../../worker.rs"]
mod worker;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use typeloom_ort::Ort;
use typeloom_runtime::engine::Engine;

/// Minimum percentage of cases to reproduce.
const FLOOR: f64 = 72.0;

fn main() -> ExitCode {
    suite::main(FLOOR, || {
        let library = std::env::var_os("ORT_DYLIB_PATH").map(PathBuf::from);
        let library = library.ok_or("ORT_DYLIB_PATH does not contain the path of the shared library")?;
        let engine: Arc<dyn Engine> = Arc::new(Ort::load(&library).map_err(|error| error.to_string())?);
        Ok(engine)
    })
}

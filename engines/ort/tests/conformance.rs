//! The recorded node cases on ONNX Runtime: what it takes it computes as ONNX says.

#![expect(clippy::print_stdout, reason = "the table is for people")]

#[expect(dead_code, reason = "shared with the tests of the embedded backend")]
#[path = "../../../crates/runtime/tests/backend/cases.rs"]
mod cases;
#[path = "../../../crates/runtime/tests/backend/compare.rs"]
mod compare;
#[path = "../../conformance.rs"]
mod conformance;
#[path = "../../differential.rs"]
mod differential;

use std::path::PathBuf;
use std::sync::Arc;

use typeloom::runtime::engine::Engine;
use typeloom_ort::Ort;

/// The least share of cases that must be reproduced, in percent.
const FLOOR: f64 = 72.0;

/// The shared library, or nothing where nobody says where it is.
fn library() -> Option<PathBuf> {
    let library = std::env::var_os("ORT_DYLIB_PATH").map(PathBuf::from);
    if library.is_none() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "ORT_DYLIB_PATH says nothing");
        println!("skipped: ORT_DYLIB_PATH does not say where the shared library is");
    }
    library
}

#[test]
fn recorded_node_cases_are_reproduced_or_refused() {
    let Some(library) = library() else { return };
    let engine: Arc<dyn Engine> = Arc::new(Ort::load(&library).expect("the library loads"));
    conformance::run(&engine, FLOOR);
}

#[test]
fn what_is_not_refused_is_what_the_embedded_backend_computes() {
    let Some(library) = library() else { return };
    let engine: Arc<dyn Engine> = Arc::new(Ort::load(&library).expect("the library loads"));
    differential::run(&engine);
}

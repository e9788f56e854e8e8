//! The recorded node cases on tract: what it takes it computes as ONNX says.

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

use std::sync::Arc;

use typeloom::runtime::engine::Engine;
use typeloom_tract::Tract;

/// The least share of cases that must be reproduced, in percent.
const FLOOR: f64 = 40.0;

#[test]
fn recorded_node_cases_are_reproduced_or_refused() {
    let engine: Arc<dyn Engine> = Arc::new(Tract);
    conformance::run(&engine, FLOOR);
}

#[test]
fn what_is_not_refused_is_what_the_embedded_backend_computes() {
    let engine: Arc<dyn Engine> = Arc::new(Tract);
    differential::run(&engine);
}

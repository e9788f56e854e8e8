//! Recorded cases, graphs and whole models on tract.

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

use std::process::ExitCode;
use std::sync::Arc;

use typeloom_tract::Tract;

/// Minimum percentage of cases to reproduce.
const FLOOR: f64 = 40.0;

fn main() -> ExitCode {
    suite::main(FLOOR, || Ok(Arc::new(Tract)))
}

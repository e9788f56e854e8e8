//! The tests of this folder in one binary.

mod branches;
#[path = "backend/cases.rs"]
#[expect(clippy::print_stdout, reason = "a skipped test is reported")]
mod cases;
#[path = "backend/compare.rs"]
#[allow(dead_code, reason = "the test `backend` compares types as well")]
mod compare;
mod compiled;
mod contract;
mod costs;
mod engine;
mod fused;
mod fused_integers;
mod lowering;
mod modules;
mod registers;
mod representation;
mod runtime_values;
mod sessions;

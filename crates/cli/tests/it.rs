//! The tests of this folder in one binary.

mod changes;
#[path = "ci/main.rs"]
mod ci;
#[path = "commands/main.rs"]
mod commands;
mod compiled_once;
mod faces;
#[path = "files/main.rs"]
mod files;
mod hostile;
mod run;
mod rust;
mod rust_crates;

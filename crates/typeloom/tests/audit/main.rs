//! Probes of published promises, one file for each part.

mod descriptors;
#[path = "../../../rust-api/tests/pair/json.rs"]
mod json;
mod modules;
mod terms;
mod types;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// The message of an error; empty if there is none.
fn message<T, E: std::fmt::Display>(result: Result<T, E>) -> String {
    result.err().map_or_else(String::new, |error| error.to_string())
}

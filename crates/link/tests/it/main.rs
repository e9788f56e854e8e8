#![allow(clippy::unwrap_used, reason = "a helper of a test fails as the test does")]

mod files;
mod functions;
mod names;
mod opsets;
mod random;
mod support;
mod types;

//! Tests of the registry on stores in memory and in folders.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests panic and print as tests do")]

mod example;
mod failures;
mod operations;
mod search;
mod store;
mod support;
mod tampering;
mod writers;

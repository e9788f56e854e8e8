//! Tests of the registry on stores in memory and in folders.

mod example;
mod failures;
mod operations;
mod search;
mod store;
mod support;
mod tampering;
mod writers;

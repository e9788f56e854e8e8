//! The tests of this folder in one binary.

#[path = "audit/main.rs"]
mod audit;
mod blame;
mod facade_examples;
mod forced;
mod host;
mod laws;
mod limits;
mod module_examples;
mod polymorphic_types;
mod printable;

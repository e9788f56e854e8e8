//! The tests of this folder in one binary.

mod laws;
mod limits;
mod messages;
mod obligations;
mod rust_kinds;
mod rustc_conformance;
mod syntax;
mod witness;

//! The tests of this folder in one binary.

mod branches;
mod compiled;
mod contract;
mod engine;
mod fused;
mod fused_integers;
mod modules;
mod registers;
mod runtime_values;
mod sessions;

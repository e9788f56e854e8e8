//! The tests of this folder in one binary.

mod memo;
mod runtime_shapes;

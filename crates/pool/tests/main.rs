//! The tests of the public surface, in one binary.

mod recursion;
mod support;

//! The tests of the public surface, in one binary.

mod bundle;
mod golden;
mod hostile;
mod recursion;
mod support;

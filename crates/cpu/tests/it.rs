//! The tests of this folder in one binary.

mod edges;
mod hostile;
mod laws;
mod windows;

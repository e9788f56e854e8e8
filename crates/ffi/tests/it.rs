//! The tests of this folder in one binary.

mod c;
mod faces;
mod header;

//! The tests of this folder in one binary.

mod aggregator;
mod bound;
mod codec;
mod model;
mod peers;
mod source;

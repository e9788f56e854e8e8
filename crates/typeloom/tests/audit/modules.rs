//! Modules, compiler, contracts, runtime and wire.

mod contracts;
mod peers;
mod primitives;
mod programs;
mod support;

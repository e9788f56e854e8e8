//! Modules, compiler, contracts, runtime and wire.

mod contracts;
mod one_element_type;
mod peers;
mod primitives;
mod programs;
mod support;

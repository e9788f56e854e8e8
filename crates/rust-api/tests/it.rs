//! The tests of this folder in one binary.

mod breaks;
mod describe;
mod foreign_family;
mod side_by_side;
mod undocumented;
mod unresolved;

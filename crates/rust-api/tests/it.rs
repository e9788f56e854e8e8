//! The tests of this folder in one binary.

mod breaks;
mod describe;
mod foreign_family;
#[path = "pair/json.rs"]
mod json;
mod side_by_side;
mod undocumented;
mod unresolved;

//! The tests of this folder in one binary.

mod breaks;
#[path = "pair/cases.rs"]
mod cases;
#[path = "pair/compare.rs"]
mod compare;
mod describe;
mod foreign_family;
#[path = "pair/json.rs"]
mod json;
mod side_by_side;
#[path = "pair/sources.rs"]
mod sources;
mod undocumented;
mod unresolved;

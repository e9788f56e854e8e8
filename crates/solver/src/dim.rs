//! Dims: polynomials over the symbols of a model, hash-consed in normal form.

mod arena;
mod bind;
mod bounds;
mod decide;
mod display;
mod divide;
mod extremum;
#[cfg(test)]
mod laws;
mod ops;
mod parse;
mod poly;
mod solve;

pub use arena::{DimId, Dims};
pub use bind::Bind;
pub use decide::Decision;
pub use display::DisplayDim;
pub use parse::DimParseError;
pub use solve::Solved;

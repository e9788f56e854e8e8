//! Dims as text.

use super::arena::{DimId, Dims};
use std::fmt;

/// A dim as text.
pub struct DisplayDim<'a> {
    dims: &'a Dims,
    dim: DimId,
}

impl Dims {
    /// The dim as text, in the syntax that [`Dims::parse`] reads.
    #[must_use]
    pub fn display(&self, dim: DimId) -> DisplayDim<'_> {
        DisplayDim { dims: self, dim }
    }
}

impl fmt::Display for DisplayDim<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(value) = self.dims.as_constant(self.dim) {
            return write!(f, "{value}");
        }
        f.write_str(self.dims.as_symbol(self.dim).unwrap_or("?"))
    }
}

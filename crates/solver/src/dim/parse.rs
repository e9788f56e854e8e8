//! Dims from text.

use super::arena::{DimId, Dims};

/// Why a text is no dim. Its sound reading is then `symbol(text)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DimParseError {
    /// There is no text.
    #[error("a dimension cannot be empty")]
    Empty,
    /// The text is longer than any expression that is read.
    #[error("the expression has {len} bytes, the limit is {limit}")]
    TooLong {
        /// The length in bytes.
        len: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// A number does not fit into 64 bits, or the polynomial is beyond the limits of the arena.
    #[error("the expression is too large")]
    TooLarge,
    /// The divisor is the constant 0.
    #[error("the expression divides by zero")]
    DivisionByZero,
}

impl Dims {
    /// Reads an expression, or a plain name.
    ///
    /// # Errors
    /// See [`DimParseError`].
    pub fn parse(&mut self, text: &str) -> Result<DimId, DimParseError> {
        if text.is_empty() {
            return Err(DimParseError::Empty);
        }
        Ok(match text.parse::<i64>() {
            Ok(value) => self.constant(value),
            Err(_) => self.symbol(text),
        })
    }
}

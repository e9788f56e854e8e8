//! What an equation between dims forces.

use super::arena::{DimId, Dims};

/// What follows from an equation between two dims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Solved {
    /// It holds always.
    Always,
    /// It never holds.
    Contradiction,
    /// It holds only if the named symbol has this value, which does not mention the symbol.
    Symbol {
        /// The symbol.
        symbol: DimId,
        /// Its only possible value: a constant, another symbol, or a polynomial.
        value: DimId,
    },
    /// It holds only if the anonymous variable has this value, which does not mention the variable.
    Variable {
        /// The variable.
        variable: DimId,
        /// Its only possible value.
        value: DimId,
    },
    /// Nothing was derived.
    Undecided,
}

impl Dims {
    /// Solves `lhs = rhs` for one symbol or anonymous variable. Binds nothing.
    pub fn solve_for(&mut self, _lhs: DimId, _rhs: DimId) -> Solved {
        Solved::Undecided
    }
}

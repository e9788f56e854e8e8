//! Values that the caller assumes for symbols.

use typeloom_dim::{Decision, DimId, Dims};

use crate::map::Map;

/// Substitutions for symbols. A substituted dim has none of the symbols before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Assumptions {
    known: Vec<(DimId, DimId)>,
    /// The position of each symbol in `known`.
    positions: Map<DimId, usize>,
    /// The dim that is assumed for extents without a name.
    pub(crate) unnamed: Option<DimId>,
}

impl Assumptions {
    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty() && self.unnamed.is_none()
    }

    /// Substitutes all assumed symbols in a dim.
    pub(crate) fn substitute_in(&self, dims: &mut Dims, dim: DimId) -> DimId {
        let mut dim = dim;
        let mut next = 0;
        // A substituted dim has none of the symbols before it, so the positions grow.
        while next < self.known.len() {
            let symbols = dims.symbols_of(dim);
            let found = symbols.iter().filter_map(|symbol| self.positions.get(symbol).copied());
            let Some(at) = found.filter(|at| *at >= next).min() else { break };
            dim = dims.substitute(dim, &[self.known[at]]);
            next = at + 1;
        }
        dim
    }

    /// Assumes that a symbol equals a dim; returns whether that is new. `None` if it contradicts an earlier
    /// assumption.
    pub(crate) fn add(&mut self, dims: &mut Dims, symbol: DimId, value: DimId) -> Option<bool> {
        let (left, right) = (self.substitute_in(dims, symbol), self.substitute_in(dims, value));
        match dims.compare(left, right) {
            Decision::Equal => return Some(false),
            Decision::Different => return None,
            Decision::Undecided => {}
        }
        for (symbol, value) in [(left, right), (right, left)] {
            if dims.as_symbol(symbol).is_some() && !dims.symbols_of(value).contains(&symbol) {
                self.positions.insert(symbol, self.known.len());
                self.known.push((symbol, value));
                return Some(true);
            }
        }
        None
    }
}

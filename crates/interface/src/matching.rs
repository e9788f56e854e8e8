//! One-sided matching of the extents of two interfaces.
//!
//! A *given* program replaces an *expected* one. Callers choose the input symbols of the expected interface
//! freely, so these are rigid; the input symbols of the given interface are open, and bound to what callers
//! pass. In outputs, symbols that the given program chooses are rigid, and those that the expected program
//! chooses are open.
//!
//! Algorithm: bind every extent that is a single open symbol; then solve the equations of expressions for
//! open symbols, in rounds; if a round makes no progress, try to bind the open symbols of one pair to its
//! rigid ones. Finally compare all pairs after substitution.
//!
//! **Invariant:** two extents fit only if they are equal for all values of the rigid symbols. Undecided
//! equality does not fit.

use std::collections::HashMap;

use typeloom_dim::{Condition, Decision, DimId, Dims, Domain, Solved, Verdict};

use crate::Interface;
use crate::leaves::{Leaves, dims_of};

/// The maximum numbers of open and of rigid symbols in a pair of extents whose bindings are enumerated.
const MAX_GUESSED: usize = 4;

/// The extents of two interfaces in one arena.
pub(crate) struct Matching {
    dims: Dims,
    /// The copies of extents in the arena, by [`Of`].
    copies: [HashMap<DimId, DimId>; 2],
    /// The bindings of symbols.
    values: Vec<(DimId, DimId)>,
    /// The open symbols of the lists that are being matched.
    open: Vec<DimId>,
    /// The open symbols of outputs, until the outputs are matched.
    open_in_outputs: Vec<DimId>,
    /// The input symbols that [`Self::close_inputs`] found open.
    undetermined: Vec<DimId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Given,
    Expected,
}

impl Matching {
    pub(crate) fn new(given: &Interface, expected: &Interface) -> Self {
        let mut matching = Self {
            dims: Dims::new(),
            copies: Default::default(),
            values: Vec::new(),
            open: Vec::new(),
            open_in_outputs: Vec::new(),
            undetermined: Vec::new(),
        };
        matching.copy(expected, Of::Expected);
        matching.copy(given, Of::Given);
        matching
    }

    fn copy(&mut self, interface: &Interface, of: Of) {
        let leaves = Leaves::of(interface);
        let mut known: HashMap<DimId, DimId> = HashMap::new();
        let listed = dims_of(&interface.inputs).chain(dims_of(&interface.outputs));
        let sides = interface.conditions.iter().flat_map(|condition| [condition.left, condition.right]);
        for dim in listed.chain(sides) {
            let open = match of {
                Of::Given => &mut self.open,
                Of::Expected => &mut self.open_in_outputs,
            };
            let mut leaf = |dims: &mut Dims, leaf: DimId| {
                *known.entry(leaf).or_insert_with(|| {
                    // Generated names keep the symbols of the two sides distinct.
                    let side = if of == Of::Given { "given" } else { "expected" };
                    let symbol = dims.symbol(&format!("{side} {leaf:?}"));
                    if leaves.of_caller.contains(&leaf) == (of == Of::Given) {
                        open.push(symbol);
                    }
                    symbol
                })
            };
            let copy = self.dims.copy_from(&interface.dims, dim, &mut leaf);
            self.copies[of as usize].insert(dim, copy);
        }
    }

    /// Replaces bound symbols in a pair of extents.
    fn substituted(&mut self, (left, right): (DimId, DimId)) -> (DimId, DimId) {
        (self.dims.substitute(left, &self.values), self.dims.substitute(right, &self.values))
    }

    /// Binds input symbols of the given interface by pairs of a given and an expected extent.
    pub(crate) fn match_inputs(&mut self, pairs: &[(DimId, DimId)]) {
        self.match_all(pairs);
    }

    /// Makes the input symbols that are still open rigid: they belong to optional inputs that callers do not
    /// know, so no caller chooses them. Without this call, [`Self::match_outputs`] binds them too.
    pub(crate) fn close_inputs(&mut self) {
        self.undetermined = std::mem::take(&mut self.open);
    }

    /// Binds the symbols that the expected program chooses.
    pub(crate) fn match_outputs(&mut self, pairs: &[(DimId, DimId)]) {
        self.open.append(&mut self.open_in_outputs);
        self.match_all(pairs);
    }

    fn match_all(&mut self, pairs: &[(DimId, DimId)]) {
        let pairs: Vec<(DimId, DimId)> =
            pairs.iter().filter_map(|(given, expected)| self.pair(*given, *expected)).collect();
        for &(given, expected) in &pairs {
            if !self.bind(given, expected) {
                self.bind(expected, given);
            }
        }
        // Each round except the last binds a symbol.
        loop {
            let before = self.open.len();
            for pair in &pairs {
                let (given, expected) = self.substituted(*pair);
                // A symbol is an extent, and extents are not negative.
                if let Solved::Symbol { symbol, value } = self.dims.solve_for(given, expected)
                    && self.dims.is_non_negative(value)
                    && !self.bind(symbol, value)
                {
                    // An equation of two symbols is solved for the younger one, open or not.
                    self.bind(value, symbol);
                }
            }
            if self.open.len() == before && !pairs.iter().any(|pair| self.guess(*pair)) {
                return;
            }
        }
    }

    /// Binds the open symbols of a pair to rigid symbols such that the pair is equal, as in `a*b` and `b*c`,
    /// which no equation solves. The final comparison checks the bindings.
    fn guess(&mut self, pair: (DimId, DimId)) -> bool {
        let (given, expected) = self.substituted(pair);
        let all = [self.dims.symbols_of(given), self.dims.symbols_of(expected)].concat();
        let (open, fixed): (Vec<DimId>, Vec<DimId>) =
            all.into_iter().partition(|symbol| self.open.contains(symbol));
        if open.is_empty() || fixed.is_empty() || open.len() > MAX_GUESSED || fixed.len() > MAX_GUESSED {
            return false;
        }
        let choices = fixed.len().pow(u32::try_from(open.len()).unwrap_or(u32::MAX));
        for choice in 0..choices {
            let digit = |at: usize| choice / fixed.len().pow(u32::try_from(at).unwrap_or(0)) % fixed.len();
            let values: Vec<(DimId, DimId)> =
                open.iter().enumerate().map(|(at, symbol)| (*symbol, fixed[digit(at)])).collect();
            let (a, b) = (self.dims.substitute(given, &values), self.dims.substitute(expected, &values));
            if self.dims.compare(a, b) == Decision::Equal {
                return values.into_iter().all(|(symbol, value)| self.bind(symbol, value));
            }
        }
        false
    }

    /// The conditions of the given interface that those of the expected one do not imply. A condition on an
    /// undetermined symbol is left out: either the parameter that declares the symbol already differs, or
    /// callers do not pass it.
    pub(crate) fn stronger(&mut self, given: &Interface, expected: &Interface) -> Vec<Condition> {
        let mut domain = Domain::nonempty();
        for condition in &expected.conditions {
            if let Some(condition) = self.copied(Of::Expected, *condition) {
                domain.assume(&mut self.dims, condition);
            }
        }
        let mut stronger = Vec::new();
        for condition in &given.conditions {
            let Some(copy) = self.copied(Of::Given, *condition) else { continue };
            let symbols = [self.dims.symbols_of(copy.left), self.dims.symbols_of(copy.right)].concat();
            let is_unbound = |symbol| self.open.contains(symbol) || self.undetermined.contains(symbol);
            let is_matched = !symbols.iter().any(is_unbound);
            if is_matched && self.dims.examine(copy, &domain) != Verdict::Always {
                stronger.push(*condition);
            }
        }
        stronger
    }

    fn copied(&mut self, of: Of, condition: Condition) -> Option<Condition> {
        let copies = &self.copies[of as usize];
        let pair = (*copies.get(&condition.left)?, *copies.get(&condition.right)?);
        let (left, right) = self.substituted(pair);
        Some(Condition { relation: condition.relation, left, right })
    }

    fn pair(&self, given: DimId, expected: DimId) -> Option<(DimId, DimId)> {
        let [of_given, of_expected] = &self.copies;
        Some((*of_given.get(&given)?, *of_expected.get(&expected)?))
    }

    /// Binds an open symbol to an extent without open symbols.
    fn bind(&mut self, symbol: DimId, value: DimId) -> bool {
        let Some(at) = self.open.iter().position(|open| *open == symbol) else { return false };
        let value = self.dims.substitute(value, &self.values);
        if self.dims.symbols_of(value).iter().any(|inside| self.open.contains(inside)) {
            return false;
        }
        self.open.remove(at);
        self.values.push((symbol, value));
        true
    }

    /// Whether two extents are equal for all values of the rigid symbols.
    pub(crate) fn fits(&mut self, given: DimId, expected: DimId) -> bool {
        let Some(pair) = self.pair(given, expected) else { return false };
        let (given, expected) = self.substituted(pair);
        self.dims.compare(given, expected) == Decision::Equal
    }
}

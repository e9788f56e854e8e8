//! Extents of one interface against those of another.
//!
//! A *given* interface is to stand where an *expected* one stood. Callers know the expected one: they choose its
//! input symbols, whatever numbers those are, so these are rigid. The given one's input symbols take whatever numbers
//! the callers give: they are matched. In outputs it is the other way round: a symbol that the given program chooses
//! is rigid, one that the expected program chose is matched.
//!
//! First every extent that is a lone symbol is matched, then the expressions are solved for what is left, in rounds, and
//! where that is stuck, symbols are paired so that an expression becomes equal. At last everything is compared with all
//! that was matched put in.
//!
//! **Invariant:** two extents fit only if they are equal for all values of the rigid symbols. What cannot be decided does
//! not fit.

use std::collections::HashMap;

use typeloom_solver::dim::{Condition, Decision, DimId, Dims, Domain, Solved, Verdict};

use crate::Interface;
use crate::leaves::{Leaves, dims_of};

/// The most symbols of one extent, open or fixed, among which a match is looked for.
const MAX_GUESSED: usize = 4;

/// Two interfaces in one arena.
pub(crate) struct Matching {
    dims: Dims,
    given: Side,
    expected: Side,
    /// What matched symbols stand for.
    values: Vec<(DimId, DimId)>,
    /// The symbols that may be matched and are not yet.
    open: Vec<DimId>,
}

/// The extents of one interface, copied.
#[derive(Default)]
struct Side {
    copies: HashMap<DimId, DimId>,
}

/// Which interface an extent is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Given,
    Expected,
}

impl Matching {
    pub(crate) fn new(given: &Interface, expected: &Interface) -> Self {
        let mut matching = Self {
            dims: Dims::new(),
            given: Side::default(),
            expected: Side::default(),
            values: Vec::new(),
            open: Vec::new(),
        };
        matching.copy(expected, Of::Expected);
        matching.copy(given, Of::Given);
        matching
    }

    fn copy(&mut self, interface: &Interface, of: Of) {
        let leaves = Leaves::of(interface);
        let mut known: HashMap<DimId, DimId> = HashMap::new();
        let mut copies = HashMap::new();
        let listed = dims_of(&interface.inputs).chain(dims_of(&interface.outputs)).map(|(_, dim)| dim);
        let sides = interface.conditions.iter().flat_map(|condition| [condition.left, condition.right]);
        for dim in listed.chain(sides) {
            let open = &mut self.open;
            let mut leaf = |dims: &mut Dims, leaf: DimId| {
                *known.entry(leaf).or_insert_with(|| {
                    // Names are made up, so that symbols of the two sides never meet by accident.
                    let side = if of == Of::Given { "given" } else { "expected" };
                    let symbol = dims.symbol(&format!("{side} {leaf:?}"));
                    if leaves.of_caller.contains(&leaf) == (of == Of::Given) {
                        open.push(symbol);
                    }
                    symbol
                })
            };
            let copy = self.dims.copy_from(&interface.dims, dim, &mut leaf);
            copies.insert(dim, copy);
        }
        match of {
            Of::Given => self.given = Side { copies },
            Of::Expected => self.expected = Side { copies },
        }
    }

    /// Matches pairs of a given and an expected extent, as far as they decide what open symbols stand for.
    pub(crate) fn match_all(&mut self, pairs: &[(DimId, DimId)]) {
        let pairs: Vec<(DimId, DimId)> =
            pairs.iter().filter_map(|(given, expected)| self.pair(*given, *expected)).collect();
        for &(given, expected) in &pairs {
            if !self.bind(given, expected) {
                self.bind(expected, given);
            }
        }
        // Each round matches a symbol or is the last.
        loop {
            let before = self.open.len();
            for &(given, expected) in &pairs {
                let (given, expected) =
                    (self.dims.substitute(given, &self.values), self.dims.substitute(expected, &self.values));
                // An extent is never negative, and a symbol stands for one.
                if let Solved::Symbol { symbol, value } = self.dims.solve_for(given, expected)
                    && self.dims.is_non_negative(value)
                    && !self.bind(symbol, value)
                {
                    // An equation of two symbols names the younger one, whichever that is.
                    self.bind(value, symbol);
                }
            }
            if self.open.len() == before && !pairs.iter().any(|pair| self.guess(*pair)) {
                return;
            }
        }
    }

    /// Lets the open symbols of a pair stand for symbols of the other side, if that makes the two equal: `a*b` is `b*c`
    /// for one choice, though neither is solved for anything. What is guessed is checked like all else.
    fn guess(&mut self, (given, expected): (DimId, DimId)) -> bool {
        let given = self.dims.substitute(given, &self.values);
        let expected = self.dims.substitute(expected, &self.values);
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

    /// The conditions of the given interface that those of the expected one do not imply. A condition on a symbol that was
    /// not matched is left out: the parameter that declares it differs already.
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
            let is_matched = !symbols.iter().any(|symbol| self.open.contains(symbol));
            if is_matched && self.dims.examine(copy, &domain) != Verdict::Always {
                stronger.push(*condition);
            }
        }
        stronger
    }

    fn copied(&mut self, of: Of, condition: Condition) -> Option<Condition> {
        let side = match of {
            Of::Given => &self.given,
            Of::Expected => &self.expected,
        };
        let (left, right) = (*side.copies.get(&condition.left)?, *side.copies.get(&condition.right)?);
        let left = self.dims.substitute(left, &self.values);
        let right = self.dims.substitute(right, &self.values);
        Some(Condition { relation: condition.relation, left, right })
    }

    fn pair(&self, given: DimId, expected: DimId) -> Option<(DimId, DimId)> {
        Some((*self.given.copies.get(&given)?, *self.expected.copies.get(&expected)?))
    }

    /// Lets an open symbol stand for an extent without open symbols.
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

    /// Whether two extents are equal whatever the rigid symbols are.
    pub(crate) fn fits(&mut self, given: DimId, expected: DimId) -> bool {
        let Some((given, expected)) = self.pair(given, expected) else { return false };
        let given = self.dims.substitute(given, &self.values);
        let expected = self.dims.substitute(expected, &self.values);
        self.dims.compare(given, expected) == Decision::Equal
    }
}

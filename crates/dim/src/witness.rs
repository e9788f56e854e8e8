//! Search for bindings that satisfy or violate a condition.
//!
//! Bindings are ordered by the sum of their values, then lexicographically in the order in which the symbols
//! were created. Two sets of bindings are tried:
//!
//! 1. all admissible bindings in that order, as many as the budget allows;
//! 2. bindings in which at most two symbols differ from their least value, and these have values around the
//!    constants that occur in the condition.
//!
//! A quotient that the domain introduces for a symbol (see [`crate::quotients`]) is counted instead of the
//! symbol.
//!
//! The first result in the first set is the smallest binding of all, and the first result in the second set
//! is the smallest of that set. Every result is evaluated.

use crate::arena::{Dims, Kind};
use crate::bounds::Interval;
use crate::condition::Condition;
use crate::domain::{Domain, symbols_of};
use crate::evaluate::{DimProgram, Results};
use crate::id::DimId;

/// Maximum number of evaluated steps of a search.
const MAX_STEPS: usize = 1 << 15;
/// Number of evaluated steps that take as long as the visit of one term.
const STEPS_PER_TERM: usize = 4;
/// Maximum number of values of one symbol in the second set.
const MAX_CANDIDATES: usize = 24;
/// Maximum number of symbols whose pairs are varied in the second set.
const MAX_PAIRED: usize = 6;

/// The bindings to find.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wanted {
    Holds,
    Fails,
}

/// A symbol whose value is chosen.
struct Free {
    position: usize,
    bounds: Interval,
    /// The sum that this symbol and those after it can add to their least values.
    capacity: i64,
}

struct Search {
    condition: Condition,
    wanted: Wanted,
    facts: Vec<Condition>,
    /// The roots: both sides of the condition, both sides of every fact, the values of fixed symbols.
    program: DimProgram,
    results: Results,
    free: Vec<Free>,
    fixed: Vec<(DimId, Interval)>,
    /// The symbols of a binding: those of the model.
    named: Vec<DimId>,
    /// The values of the leaves of the program.
    leaves: Vec<i64>,
    budget: usize,
}

impl Search {
    fn new(dims: &mut Dims, condition: Condition, domain: &Domain, wanted: Wanted) -> Option<Self> {
        let mentioned = symbols_of(dims, condition);
        let condition = domain.substituted(dims, condition);
        let facts: Vec<Condition> = domain.conditions().collect();
        let mut roots = vec![condition.left, condition.right];
        for fact in &facts {
            roots.extend([dims.resolve(fact.left), dims.resolve(fact.right)]);
        }
        let mut fixed = Vec::new();
        let values = domain.values(dims);
        let is_bound = |symbol: &DimId| mentioned.contains(symbol) || domain.is_divided(*symbol);
        for (symbol, value) in values.into_iter().filter(|(symbol, _)| is_bound(symbol)) {
            fixed.push((symbol, domain.bounds_of(dims, symbol)));
            roots.push(value);
        }
        let program = DimProgram::new(dims, &roots);
        let mut free = Vec::new();
        for (position, &leaf) in program.leaves().iter().enumerate() {
            dims.as_symbol(leaf)?;
            free.push(Free { position, bounds: domain.bounds_of(dims, leaf), capacity: 0 });
        }
        free.sort_by_key(|free| program.leaves()[free.position]);
        let mut capacity = 0_i64;
        for free in free.iter_mut().rev() {
            capacity = capacity.saturating_add(free.bounds.high.saturating_sub(free.bounds.low));
            free.capacity = capacity;
        }
        let leaves = vec![0; program.leaves().len()];
        let bound = program.leaves().iter().chain(fixed.iter().map(|(symbol, _)| symbol));
        let named = bound.copied().filter(|symbol| dims.is_named(*symbol)).collect();
        let (results, budget) = (Results::default(), MAX_STEPS);
        Some(Self { condition, wanted, facts, program, results, free, fixed, named, leaves, budget })
    }

    /// Whether the current binding is admissible and satisfies the search.
    fn accepts(&mut self) -> bool {
        self.budget = self.budget.saturating_sub(self.program.len());
        let leaves = &self.leaves;
        self.program.run(&mut self.results, |position| Some(leaves[position]));
        let value = |root: usize| self.program.result(&self.results, root);
        let holds = |condition: &Condition, root: usize| {
            value(root).zip(value(root + 1)).and_then(|(left, right)| condition.relation.holds(left, right))
        };
        if holds(&self.condition, 0) != Some(self.wanted == Wanted::Holds) {
            return false;
        }
        let facts = (1..).zip(&self.facts).all(|(at, fact)| holds(fact, 2 * at) == Some(true));
        let first = 2 + 2 * self.facts.len();
        facts
            && (first..).zip(&self.fixed).all(|(root, (_, bounds))| {
                value(root)
                    .and_then(|value| i64::try_from(value).ok())
                    .is_some_and(|value| bounds.contains(value))
            })
    }

    /// The current binding of all symbols, sorted.
    fn binding(&self) -> Vec<(DimId, i64)> {
        let mut binding: Vec<(DimId, i64)> =
            self.program.leaves().iter().copied().zip(self.leaves.iter().copied()).collect();
        let first = 2 + 2 * self.facts.len();
        for (root, (symbol, _)) in (first..).zip(&self.fixed) {
            let value = self.program.result(&self.results, root).and_then(|value| i64::try_from(value).ok());
            binding.extend(value.map(|value| (*symbol, value)));
        }
        binding.retain(|(symbol, _)| self.named.contains(symbol));
        binding.sort_unstable();
        binding
    }

    /// The first binding of the first set that satisfies the search.
    fn in_order(&mut self) -> Option<Vec<(DimId, i64)>> {
        let limit = self.budget / 2;
        for offset in 0..=self.capacity(0) {
            if let Some(found) = self.with_offset(0, offset, limit) {
                return Some(found);
            }
            if self.budget < limit {
                return None;
            }
        }
        None
    }

    /// The sum that the symbols from `at` on can add to their least values.
    fn capacity(&self, at: usize) -> i64 {
        self.free.get(at).map_or(0, |free| free.capacity)
    }

    /// Distributes the remaining sum, at most their capacity, over the symbols from `at` on. A symbol takes
    /// at least what those after it cannot take, so every call evaluates a binding: the time is the number of
    /// bindings times that of symbols.
    fn with_offset(&mut self, at: usize, offset: i64, limit: usize) -> Option<Vec<(DimId, i64)>> {
        if self.budget < limit {
            return None;
        }
        let Some(Free { position, bounds, .. }) = self.free.get(at) else {
            return self.accepts().then(|| self.binding());
        };
        let (position, low) = (*position, bounds.low);
        let most = bounds.high.saturating_sub(low);
        let least = offset.saturating_sub(self.capacity(at + 1)).max(0);
        for part in least..=offset.min(most) {
            self.leaves[position] = low + part;
            if let Some(found) = self.with_offset(at + 1, offset - part, limit) {
                return Some(found);
            }
        }
        None
    }

    /// The first binding of the second set that satisfies the search.
    fn around(&mut self, constants: &[i64]) -> Option<Vec<(DimId, i64)>> {
        let candidates: Vec<Vec<i64>> =
            self.free.iter().map(|free| candidates(free.bounds, constants)).collect();
        let paired = self.free.len().min(MAX_PAIRED);
        let mut bindings: Vec<(i128, Vec<i64>)> = Vec::new();
        let lows: Vec<i64> = self.free.iter().map(|free| free.bounds.low).collect();
        let size = self.program.len().max(1);
        let mut push = |binding: Vec<i64>| {
            if bindings.len() < MAX_STEPS / size {
                bindings.push((binding.iter().map(|value| i128::from(*value)).sum(), binding));
            }
        };
        for (first, values) in candidates.iter().enumerate() {
            for &value in values {
                let mut binding = lows.clone();
                binding[first] = value;
                push(binding.clone());
                for second in (first + 1..paired).filter(|_| first < paired) {
                    for &other in &candidates[second] {
                        binding[second] = other;
                        push(binding.clone());
                    }
                    binding[second] = lows[second];
                }
            }
        }
        bindings.sort_unstable();
        bindings.dedup();
        for (_, binding) in bindings {
            for (free, value) in self.free.iter().zip(binding) {
                self.leaves[free.position] = value;
            }
            if self.accepts() {
                return Some(self.binding());
            }
        }
        None
    }
}

/// The values of a leaf around the constants.
fn candidates(bounds: Interval, constants: &[i64]) -> Vec<i64> {
    let low = bounds.low;
    let near = constants.iter().flat_map(|constant| (-1..=1).map(move |step| constant.saturating_add(step)));
    let mut values: Vec<i64> = [low, low.saturating_add(1)]
        .into_iter()
        .chain(near)
        .filter(|value| bounds.contains(*value))
        .collect();
    values.sort_unstable();
    values.dedup();
    values.truncate(MAX_CANDIDATES);
    values
}

impl Dims {
    /// A smallest admissible binding of the symbols that violates the condition: smallest by the sum of the
    /// values, then lexicographically.
    ///
    /// `None` if no such binding was found, or if an anonymous variable occurs.
    pub fn counterexample(&mut self, condition: Condition, domain: &Domain) -> Option<Vec<(DimId, i64)>> {
        self.witness(condition, domain, Wanted::Fails)
    }

    /// A smallest admissible binding of the symbols that satisfies the condition; see
    /// [`Dims::counterexample`].
    pub fn example(&mut self, condition: Condition, domain: &Domain) -> Option<Vec<(DimId, i64)>> {
        self.witness(condition, domain, Wanted::Holds)
    }

    fn witness(
        &mut self,
        condition: Condition,
        domain: &Domain,
        wanted: Wanted,
    ) -> Option<Vec<(DimId, i64)>> {
        let domain = domain.connected_part(self, &symbols_of(self, condition));
        if domain.is_empty(self) {
            return None;
        }
        let mut search = Search::new(self, condition, &domain, wanted)?;
        let found = search.in_order();
        self.count_work((MAX_STEPS - search.budget) / STEPS_PER_TERM);
        if found.is_some() {
            return found;
        }
        let conditions = std::iter::once(&search.condition).chain(&search.facts);
        let sides = conditions.flat_map(|condition| [condition.left, condition.right]);
        let mut constants: Vec<i64> = sides.flat_map(|side| self.constants_of(side)).collect();
        constants.sort_unstable();
        constants.dedup();
        search.around(&constants)
    }

    /// The absolute values of all numbers that occur in a dim, and the quotients of constants by
    /// coefficients.
    fn constants_of(&self, dim: DimId) -> Vec<i64> {
        let mut constants = Vec::new();
        for dim in self.nodes(dim) {
            constants.extend(self.as_constant(dim).map(i64::saturating_abs));
            if let Some(Kind::Sum(span)) = self.kind(dim) {
                let terms = self.sum_terms(span);
                let constant = crate::poly::constant_term(terms);
                for term in terms {
                    constants.push(term.coefficient.saturating_abs());
                    constants.extend(constant.checked_div(term.coefficient).map(i64::saturating_abs));
                }
            }
        }
        constants
    }
}

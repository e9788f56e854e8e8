//! The possible values of one symbol under a condition, if they are finitely many.
//!
//! Candidates are found by one of two methods:
//!
//! - In `x*p = c` for a constant `c` other than 0, the symbol `x` divides `c`.
//! - Otherwise the range of the symbol is bisected. An interval is dropped if the condition is proved to fail
//!   for all its values. All large values are tried first, see [`FAR`].
//!
//! A condition in one symbol is evaluated at every value of a small range. Otherwise each value is
//! substituted, and the condition in the remaining symbols is examined. A value is listed if a satisfying
//! binding was found. If neither a binding nor a proof of the contrary is found for some value, there is no
//! result. All of this uses one budget of examinations, which nested examinations share.

use crate::arena::Dims;
use crate::condition::{Condition, Goal, Relation};
use crate::domain::{Domain, symbols_of};
use crate::evaluate::{DimProgram, Results};
use crate::examine::Verdict;
use crate::id::DimId;
use crate::poly::{constant_term, without_constant};
use crate::solutions::MAX_VALUES;
use crate::work::Effort;

/// Distances from the lower bound. If solutions are finitely many, there is often a proof that none is that
/// far.
const FAR: [i64; 5] = [1 << 31, 1 << 16, 1 << 12, 1 << 8, 1 << 4];
/// A value that a symbol of an equation with finitely many solutions does not have.
const MAX_FAR: i64 = 1 << 40;
/// Maximum number of symbols of an equation with finitely many solutions.
const MAX_BOUNDED: usize = 8;
/// Maximum constant whose divisors are enumerated.
const MAX_DIVIDED: u64 = 1 << 32;
/// Maximum number of values at which a condition in one symbol is evaluated.
const MAX_EVALUATED: i64 = 1 << 12;
/// Maximum number of divisors that are tried.
const MAX_DIVISORS: usize = 64;

impl Dims {
    /// The values of a symbol for which a condition holds for some values of the other symbols, in increasing
    /// order.
    ///
    /// `None` if they are infinitely many, more than a small number, or not decided.
    pub fn values_of(&mut self, condition: Condition, symbol: DimId, domain: &Domain) -> Option<Vec<i64>> {
        let domain = &domain.connected_part(self, &symbols_of(self, condition));
        let condition = self.simplify_within(condition, domain);
        let mut goals = Vec::new();
        for goal in self.alternatives(condition)? {
            goals.extend(self.factored(goal, domain));
        }
        self.with_effort(|dims, effort| dims.finite(condition, &goals, symbol, domain, effort))
    }

    /// Whether finitely many bindings satisfy a condition that is no inequality: it bounds each of its
    /// symbols.
    pub fn leaves_few(&mut self, condition: Condition) -> bool {
        let symbols = symbols_of(self, condition);
        if condition.relation == Relation::AtMost || symbols.len() > MAX_BOUNDED {
            return false;
        }
        let Some(goals) = self.alternatives(condition) else { return false };
        symbols.into_iter().all(|symbol| {
            let far = Domain::nonempty().at_least(symbol, MAX_FAR);
            self.fails_everywhere(&goals, &far)
        })
    }

    /// The only value of a symbol that a condition admits, given the values of symbols in a domain.
    pub fn value_under(&mut self, condition: Condition, symbol: DimId, domain: &Domain) -> Option<i64> {
        if let Some(value) = domain.bounds_of(self, symbol).single() {
            return Some(value);
        }
        let condition = domain.substituted(self, condition);
        match self.examine(condition, &Domain::nonempty()) {
            Verdict::Only { symbol: only, values } if only == symbol => {
                <[i64; 1]>::try_from(values).ok().map(|[it]| it)
            }
            _ => None,
        }
    }

    /// [`Dims::values_of`] for a condition that is already written as goals.
    pub(crate) fn finite(
        &mut self,
        condition: Condition,
        goals: &[Goal],
        symbol: DimId,
        domain: &Domain,
        effort: &mut Effort,
    ) -> Option<Vec<i64>> {
        let bounds = domain.bounds_of(self, symbol);
        if let Some(candidates) = self.divisors(goals, symbol) {
            let candidates = candidates.into_iter().filter(|value| bounds.contains(*value));
            return self.possible(condition, candidates, symbol, domain, effort);
        }
        let mut high = bounds.high;
        for far in FAR {
            let far = bounds.low.checked_add(far)?;
            if high >= far {
                if !self.fails_everywhere(goals, &domain.clone().at_least(symbol, far)) {
                    break;
                }
                high = far - 1;
            }
        }
        if high == i64::MAX {
            return None;
        }
        let is_only_symbol = goals.iter().all(|goal| *self.symbols_of(goal.dim()) == [symbol]);
        if is_only_symbol && high - bounds.low < MAX_EVALUATED {
            return self.by_evaluation(condition, symbol, (bounds.low, high));
        }
        let mut values = Vec::new();
        let mut stack = vec![(bounds.low, high)];
        while let Some((low, high)) = stack.pop() {
            if low == high {
                values.extend(self.possible(condition, [low].into_iter(), symbol, domain, effort)?);
                if values.len() > MAX_VALUES {
                    return None;
                }
                continue;
            }
            effort.spend(self)?;
            let within = domain.clone().at_least(symbol, low).at_most(symbol, high);
            if !self.fails_everywhere(goals, &within) {
                let middle = low + (high - low) / 2;
                stack.extend([(middle + 1, high), (low, middle)]);
            }
        }
        Some(values)
    }

    /// The values in a range for which a condition in one symbol holds, by evaluation.
    fn by_evaluation(
        &self,
        condition: Condition,
        symbol: DimId,
        (low, high): (i64, i64),
    ) -> Option<Vec<i64>> {
        let program = DimProgram::new(self, &[condition.left, condition.right]);
        if program.leaves() != [symbol] {
            return None;
        }
        let mut results = Results::default();
        let mut values = Vec::new();
        for value in low..=high {
            program.run(&mut results, |_| Some(value));
            let sides = program.result(&results, 0).zip(program.result(&results, 1));
            if sides.and_then(|(left, right)| condition.relation.holds(left, right)) == Some(true) {
                values.push(value);
                if values.len() > MAX_VALUES {
                    return None;
                }
            }
        }
        Some(values)
    }

    /// The candidates for which the condition can hold; `None` if one of them is undecided.
    fn possible(
        &mut self,
        condition: Condition,
        candidates: impl Iterator<Item = i64>,
        symbol: DimId,
        domain: &Domain,
        effort: &mut Effort,
    ) -> Option<Vec<i64>> {
        let mut values = Vec::new();
        for value in candidates {
            let fixed = domain.clone().at_least(symbol, value).at_most(symbol, value);
            if self.example(condition, &fixed).is_some() {
                values.push(value);
            } else if self.examine_within(condition, &fixed, effort) != Verdict::Never {
                return None;
            }
            effort.spend(self)?;
            if values.len() > MAX_VALUES {
                return None;
            }
        }
        Some(values)
    }

    /// The divisors of the constant that the symbol has to divide, in increasing order.
    fn divisors(&self, goals: &[Goal], symbol: DimId) -> Option<Vec<i64>> {
        let [Goal::Zero(dim)] = *goals else { return None };
        let terms = self.terms(dim);
        let constant = constant_term(&terms).unsigned_abs();
        let everywhere =
            without_constant(&terms).iter().all(|term| self.factors(term.monomial).contains(&symbol));
        if constant == 0 || constant > MAX_DIVIDED || !everywhere {
            return None;
        }
        let small = (1..).take_while(|divisor| divisor * divisor <= constant);
        let mut divisors: Vec<u64> = small.filter(|divisor| constant.is_multiple_of(*divisor)).collect();
        let large: Vec<u64> = divisors.iter().map(|divisor| constant / divisor).collect();
        divisors.extend(large);
        divisors.sort_unstable();
        divisors.dedup();
        if divisors.len() > MAX_DIVISORS {
            return None;
        }
        divisors.into_iter().map(|divisor| i64::try_from(divisor).ok()).collect()
    }

    /// Whether no goal holds for any admissible binding.
    pub(crate) fn fails_everywhere(&mut self, goals: &[Goal], domain: &Domain) -> bool {
        goals.iter().all(|&goal| self.never_holds(goal, domain))
    }
}

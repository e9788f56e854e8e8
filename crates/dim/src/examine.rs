//! Decision of conditions: always, never, only for some values, or restricted.
//!
//! # Algorithm
//!
//! 1. The condition is written as goals `d = 0` or `d <= 0`, one of which has to hold. Known values of
//!    symbols are substituted. Factors known to be positive and contents are divided out; a factor that can
//!    be 0 becomes a separate goal.
//! 2. Goals that are proved or refuted are removed (see [`prove`](crate::prove)).
//! 3. Goals in one symbol, or in powers of one product of symbols, are solved exactly (see
//!    [`solutions`](crate::solutions)).
//! 4. A goal that is linear in a symbol determines it.
//! 5. Otherwise the condition is restricted if a violating binding is found (see
//!    [`witness`](crate::witness)).
//!
//! **Invariant:** every verdict except [`Verdict::Undecided`] is proved. A verdict that the condition can
//! fail has an evaluated violating binding, or one that the exact solutions in one symbol exclude.
//!
//! # Limits
//!
//! Every part is bounded: dims by the limits of the arena, proofs by the number of statements, exact
//! solutions by the period and the number of pieces, searches by the number of evaluated steps.

use std::collections::HashSet;

use smallvec::SmallVec;

use crate::arena::Dims;
use crate::bounds::Interval;
use crate::condition::{Condition, Goal, Relation};
use crate::decide::Decision;
use crate::domain::{Domain, symbols_of};
use crate::extremum::drop_redundant;
use crate::id::DimId;
use crate::poly::{merge, without_constant};
use crate::solutions::{Extent, MAX_VALUES, Pivot, Solutions};
use crate::work::Effort;

/// The result of deciding a condition over a [`Domain`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It holds for every admissible binding.
    Always,
    /// It holds for no admissible binding.
    Never,
    /// It holds only if the symbol has one of finitely many values.
    Only {
        /// The symbol with few values.
        symbol: DimId,
        /// All values for which the condition holds for some values of the other symbols, in increasing
        /// order.
        values: Vec<i64>,
    },
    /// It holds exactly if the symbol equals an expression of others, and fails for some admissible binding.
    Equals {
        /// The determined symbol.
        symbol: DimId,
        /// Its value, which does not contain the symbol.
        value: DimId,
    },
    /// It fails for some admissible binding.
    Restricted {
        /// Simpler conditions whose conjunction is equivalent.
        conditions: Vec<Condition>,
    },
    /// Neither a proof nor a violating binding was found.
    Undecided,
}

/// Maximum number of symbols of a condition whose values are enumerated.
const MAX_SYMBOLS: usize = 6;

/// Maximum number of sums of symbols in which goals are solved.
const MAX_SUMS: usize = 4;
/// Maximum number of goals that are compared with each other.
const MAX_ALTERNATIVES: usize = 4;
/// Maximum size of goals whose values are enumerated.
const MAX_ENUMERATED: u16 = 48;

impl Dims {
    /// Decides a condition for all admissible bindings of the symbols.
    ///
    /// Bindings for which a side of the condition is undefined are ignored. Anonymous variables are numbers
    /// with a known range: a verdict holds for all their values.
    pub fn examine(&mut self, condition: Condition, domain: &Domain) -> Verdict {
        let domain = domain.connected_part(self, &symbols_of(self, condition));
        let verdict = self.with_effort(|dims, effort| dims.examine_within(condition, &domain, effort));
        let verdict = domain.restore_verdict(self, verdict);
        // A symbol without a name has no meaning outside of the examination.
        if self.has_only_names(&verdict) { verdict } else { Verdict::Undecided }
    }

    pub(crate) fn examine_within(
        &mut self,
        condition: Condition,
        domain: &Domain,
        effort: &mut Effort,
    ) -> Verdict {
        if effort.spend(self).is_none() {
            return Verdict::Undecided;
        }
        if domain.is_empty(self) {
            return Verdict::Always;
        }
        let condition = self.simplify_within(condition, domain);
        let Some(goals) = self.alternatives(condition) else { return Verdict::Undecided };
        let known = self.known_goals(domain);
        let mut open: Vec<(usize, Goal)> = Vec::new();
        for (position, goal) in goals.into_iter().enumerate() {
            for goal in self.factored(goal, domain) {
                if known.contains(&goal) {
                    return Verdict::Always;
                }
                match self.decide_goal(goal, domain) {
                    Decision::Equal => return Verdict::Always,
                    Decision::Different => {}
                    Decision::Undecided => open.push((position, goal)),
                }
            }
        }
        let mut goals: Vec<Goal> = open.iter().map(|(_, goal)| *goal).collect();
        if goals.is_empty() {
            return Verdict::Never;
        }
        let mut exact = self.exact(&goals, domain);
        if exact.is_none() && goals.len() > 1 {
            self.drop_implied(&mut open, domain);
            goals = open.iter().map(|(_, goal)| *goal).collect();
        }
        if exact.is_none() {
            exact = self.exact_in_sum(&goals, domain);
        }
        match exact {
            Some(Verdict::Restricted { .. }) | None => {}
            Some(verdict) => return verdict,
        }
        if self.counterexample(condition, domain).is_none() {
            return Verdict::Undecided;
        }
        if let Some(verdict) = self.finitely_many(condition, &goals, domain, effort) {
            return verdict;
        }
        if let Some(verdict) = exact {
            return verdict;
        }
        if let [goal] = goals[..]
            && let Some(verdict) = self.by_remainders(goal, domain, effort)
        {
            return verdict;
        }
        if let [goal] = goals[..]
            && let Some(verdict) = self.simplest(goal, domain, effort)
        {
            return verdict;
        }
        Verdict::Restricted { conditions: vec![narrowed(condition, &open)] }
    }

    /// The goals that conditions of the domain assert.
    fn known_goals(&mut self, domain: &Domain) -> Vec<Goal> {
        let mut known = Vec::new();
        for condition in domain.conditions() {
            if let Some([goal]) = self.alternatives(condition).as_deref() {
                // One of the factors is zero, not each of them.
                let mut goals = self.factored(*goal, domain);
                goals.retain(|goal| self.as_constant(goal.dim()).is_none_or(|value| value == 0));
                if let [goal] = goals[..] {
                    known.push(goal);
                }
            }
        }
        known
    }

    /// The verdict if the goals can be solved exactly in one variable.
    fn exact(&mut self, goals: &[Goal], domain: &Domain) -> Option<Verdict> {
        let pivot = self.pivot(goals, domain)?;
        let period = self.common_period(goals)?;
        let solutions = self.solutions(goals, &pivot, period)?;
        let facts = self.facts_on(&pivot, domain);
        if facts.is_empty() {
            return self.verdict_of(&solutions, &pivot);
        }
        let mut all = goals.to_vec();
        all.extend(facts.iter().flatten());
        let period = self.common_period(&all)?;
        let mut admissible = self.solutions(&[Goal::Zero(DimId::ZERO)], &pivot, period)?;
        for fact in facts {
            let fact = self.solutions(&fact, &pivot, period)?;
            admissible = admissible.intersect(&fact);
        }
        let within = self.solutions(goals, &pivot, period)?.intersect(&admissible);
        if within.is_same(&admissible) {
            return Some(Verdict::Always);
        }
        // The facts decide which values remain, but are not repeated in a restriction.
        match self.verdict_of(&within, &pivot) {
            Some(Verdict::Restricted { .. }) | None => match self.verdict_of(&solutions, &pivot) {
                Some(Verdict::Only { symbol, .. }) => {
                    let values = within.values(MAX_VALUES)?;
                    Some(Verdict::Only { symbol, values })
                }
                verdict => verdict,
            },
            verdict => verdict,
        }
    }

    /// The verdict if the goals can be solved exactly in a sum of symbols, such as `seq + past`.
    fn exact_in_sum(&mut self, goals: &[Goal], domain: &Domain) -> Option<Verdict> {
        for sum in self.sums_of_symbols(goals) {
            let terms = self.terms(sum);
            let Some(symbol) = terms.iter().find(|term| term.coefficient == 1) else { continue };
            let bounds = terms.iter().fold(Interval::point(0), |bounds, term| {
                let own = domain.bounds_of(self, term.monomial);
                bounds.add(own.mul(Interval::point(term.coefficient)))
            });
            let variable = self.bounded(bounds);
            let rest = self.try_sub(sum, symbol.monomial)?;
            let value = self.try_sub(variable, rest)?;
            let mut replaced = Vec::with_capacity(goals.len());
            for goal in goals {
                replaced.push(goal.with(self.substitute(goal.dim(), &[(symbol.monomial, value)])));
            }
            if replaced.iter().any(|goal| *self.symbols_of(goal.dim()) != [variable]) {
                continue;
            }
            let pivot = Pivot { factors: SmallVec::from_slice(&[variable]), bounds };
            let Some(period) = self.common_period(&replaced) else { continue };
            let Some(solutions) = self.solutions(&replaced, &pivot, period) else { continue };
            if let Some(verdict) = self.described(&solutions, sum) {
                return Some(verdict);
            }
        }
        None
    }

    /// The sums of positive multiples of symbols in goals, without their constants.
    fn sums_of_symbols(&mut self, goals: &[Goal]) -> Vec<DimId> {
        let mut sums = Vec::new();
        let mut stack: Vec<DimId> = goals.iter().map(|goal| goal.dim()).collect();
        let mut seen = HashSet::new();
        while let Some(dim) = stack.pop() {
            if !seen.insert(dim) || sums.len() == MAX_SUMS {
                continue;
            }
            stack.extend(self.parts(dim));
            let terms = self.terms(dim);
            let symbols = without_constant(&terms);
            let sign = symbols.first().map_or(1, |term| term.coefficient.signum());
            let linear = symbols.len() > 1
                && symbols
                    .iter()
                    .all(|term| self.as_symbol(term.monomial).is_some() && term.coefficient.signum() == sign);
            if let Some(sum) = merge(&[], symbols, sign).filter(|_| linear)
                && let Some(sum) = self.intern_sum(&sum)
                && !sums.contains(&sum)
            {
                sums.push(sum);
            }
        }
        sums
    }

    /// Drops goals that imply another one.
    fn drop_implied(&mut self, open: &mut Vec<(usize, Goal)>, domain: &Domain) {
        if open.len() > MAX_ALTERNATIVES {
            return;
        }
        drop_redundant(open, |(_, own), (_, other)| {
            let Some(condition) = self.condition_of(*own) else { return false };
            let mut domain = domain.clone();
            domain.assume(self, condition);
            let dim = domain.substitute(self, other.dim());
            self.always_holds(other.with(dim), &domain)
        });
    }

    /// The conditions of the domain on the pivot alone, as goals of which one holds.
    fn facts_on(&mut self, pivot: &Pivot, domain: &Domain) -> Vec<Vec<Goal>> {
        let mut facts = Vec::new();
        for condition in domain.conditions() {
            let Some(goals) = self.alternatives(condition) else { continue };
            let same = self.pivot(&goals, domain).is_some_and(|other| other.factors == pivot.factors);
            if same
                && self
                    .common_period(&goals)
                    .is_some_and(|period| self.solutions(&goals, pivot, period).is_some())
            {
                facts.push(goals);
            }
        }
        facts
    }

    /// The symbol with the fewest possible values, if they are finitely many.
    fn finitely_many(
        &mut self,
        condition: Condition,
        goals: &[Goal],
        domain: &Domain,
        effort: &mut Effort,
    ) -> Option<Verdict> {
        let mut symbols: Vec<DimId> = goals.iter().flat_map(|goal| self.symbols_of(goal.dim())).collect();
        symbols.sort_unstable();
        symbols.dedup();
        // For several symbols, an inequality is more informative than a list of values of one.
        let is_unsuitable = goals.iter().any(|goal| {
            matches!(goal, Goal::NotPositive(_)) || self.summary(goal.dim()).size > MAX_ENUMERATED
        });
        if is_unsuitable || symbols.len() > MAX_SYMBOLS {
            return None;
        }
        let has_several = symbols.len() > 1;
        let mut fewest: Option<(DimId, Vec<i64>)> = None;
        for symbol in symbols {
            let Some(values) = self.finite(condition, goals, symbol, domain, effort) else { continue };
            if values.is_empty() {
                return Some(Verdict::Never);
            }
            // If all symbols have few values, those of one depend on the others.
            if has_several && values.len() > 1 && self.leaves_few(condition) {
                continue;
            }
            // Skipped if these are all values in the domain.
            let bounds = domain.bounds_of(self, symbol);
            if values.first() == Some(&bounds.low) && values.last() == Some(&bounds.high) && is_dense(&values)
            {
                continue;
            }
            if fewest.as_ref().is_none_or(|(_, known)| values.len() <= known.len()) {
                fewest = Some((symbol, values));
            }
        }
        fewest.map(|(symbol, values)| Verdict::Only { symbol, values })
    }

    /// The simplest verdict about one goal that fails for some admissible binding.
    fn simplest(&mut self, goal: Goal, domain: &Domain, effort: &mut Effort) -> Option<Verdict> {
        if let Goal::Zero(dim) = goal
            && let Some((symbol, value)) = self.determined(dim, domain)
        {
            return Some(match self.as_constant(value) {
                Some(value) => Verdict::Only { symbol, values: vec![value] },
                None => Verdict::Equals { symbol, value },
            });
        }
        let Some(parts) = self.all_of_arguments(goal, domain) else {
            let condition = self.condition_of(goal)?;
            return Some(Verdict::Restricted { conditions: vec![condition] });
        };
        let mut conditions: Vec<Condition> = Vec::new();
        for part in parts {
            let condition = self.condition_of(part)?;
            match self.examine_within(condition, domain, effort) {
                Verdict::Always => {}
                Verdict::Never => return Some(Verdict::Never),
                Verdict::Restricted { conditions: simple } => conditions.extend(simple),
                Verdict::Only { .. } | Verdict::Equals { .. } | Verdict::Undecided => {
                    conditions.push(condition);
                }
            }
        }
        match conditions[..] {
            [] => None,
            _ => Some(Verdict::Restricted { conditions }),
        }
    }

    /// The verdict about goals with known solutions; `None` if these have no simple description.
    fn verdict_of(&mut self, solutions: &Solutions, pivot: &Pivot) -> Option<Verdict> {
        let subject = self.intern_product(&pivot.factors)?;
        self.described(solutions, subject)
    }

    /// The verdict that a dim has one of the values of a set; `None` if the set has no simple description.
    pub(crate) fn described(&mut self, solutions: &Solutions, subject: DimId) -> Option<Verdict> {
        let symbol = self.as_symbol(subject).is_some().then_some(subject);
        let conditions = match solutions.extent() {
            Extent::All => return Some(Verdict::Always),
            Extent::Empty => return Some(Verdict::Never),
            Extent::Finite(values) => match (symbol, &values[..], progression(&values)) {
                (Some(symbol), _, _) => return Some(Verdict::Only { symbol, values }),
                (None, &[value], _) => vec![Condition::new(Relation::Equal, subject, self.constant(value))],
                (None, &[least, .., greatest], Some(modulus)) => {
                    let remainder = least.rem_euclid(modulus);
                    let bounds = solutions.bounds(least, Some(greatest), modulus);
                    self.range_conditions(subject, bounds, (modulus, remainder))?
                }
                (None, _, _) => return None,
            },
            Extent::Range { least, greatest, modulus, remainder } => {
                self.range_conditions(subject, (least, greatest), (modulus, remainder))?
            }
            Extent::Other => return None,
        };
        Some(Verdict::Restricted { conditions })
    }

    /// The conditions that a dim is between two bounds and has a remainder, in this order.
    fn range_conditions(
        &mut self,
        subject: DimId,
        (least, greatest): (Option<i64>, Option<i64>),
        (modulus, remainder): (i64, i64),
    ) -> Option<Vec<Condition>> {
        let mut conditions = Vec::new();
        if let Some(least) = least {
            conditions.push(Condition::new(Relation::AtMost, self.constant(least), subject));
        }
        if let Some(greatest) = greatest {
            conditions.push(Condition::new(Relation::AtMost, subject, self.constant(greatest)));
        }
        if modulus > 1 {
            let shift = self.constant(if remainder == 0 { 0 } else { modulus - remainder });
            let dividend = self.try_add(subject, shift)?;
            conditions.push(Condition::new(Relation::Divides, self.constant(modulus), dividend));
        }
        Some(conditions)
    }

    /// The bounds and the remainder that describe all values of a symbol, if these are at least three at
    /// equal distances.
    pub fn range_of_values(
        &mut self,
        symbol: DimId,
        values: &[i64],
        domain: &Domain,
    ) -> Option<Vec<Condition>> {
        let modulus = progression(values)?;
        let (&least, &greatest) = (values.first()?, values.last()?);
        let excludes = least >= self.least_of(symbol, domain).saturating_add(modulus);
        self.range_conditions(
            symbol,
            (excludes.then_some(least), Some(greatest)),
            (modulus, least.rem_euclid(modulus)),
        )
    }
}

/// The distance of at least three values with equal distances, in increasing order.
pub fn progression(values: &[i64]) -> Option<i64> {
    let [first, second, _, ..] = values else { return None };
    let distance = second.checked_sub(*first)?;
    values.windows(2).all(|pair| pair[1].checked_sub(pair[0]) == Some(distance)).then_some(distance)
}

/// Whether the values are consecutive.
fn is_dense(values: &[i64]) -> bool {
    values.windows(2).all(|pair| pair[0] + 1 == pair[1])
}

/// The condition without the alternatives that are known to fail.
fn narrowed(condition: Condition, open: &[(usize, Goal)]) -> Condition {
    let Condition { relation, left, right } = condition;
    let has = |position: usize| open.iter().any(|(other, _)| *other == position);
    match relation {
        Relation::Broadcast => match (has(0), has(1), has(2)) {
            (true, false, true) => Condition::new(Relation::OneOrEqual, left, right),
            (false, true, true) => Condition::new(Relation::OneOrEqual, right, left),
            (true, false, false) => Condition::new(Relation::Equal, left, DimId::ONE),
            (false, true, false) => Condition::new(Relation::Equal, right, DimId::ONE),
            (false, false, _) => Condition::new(Relation::Equal, left, right),
            (true, true, _) => condition,
        },
        Relation::OneOrEqual => match (has(0), has(1)) {
            (true, false) => Condition::new(Relation::Equal, left, DimId::ONE),
            (false, _) => Condition::new(Relation::Equal, left, right),
            (true, true) => condition,
        },
        Relation::Equal | Relation::AtMost | Relation::Divides => condition,
    }
}

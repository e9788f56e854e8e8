//! Decides conditions: always, never, only for some values, or restricted.
//!
//! # Algorithm
//!
//! 1. The condition is written as goals `d = 0` or `d <= 0`, of which one has to hold. Known values of symbols are put in,
//!    factors known to be positive and contents are divided out; a factor that can be 0 becomes a goal of its own.
//! 2. Goals that are proved to hold, or to fail, are removed (see [`prove`](super::prove)).
//! 3. Goals in one symbol, or in powers of one product of symbols, are solved exactly (see
//!    [`solutions`](super::solutions)).
//! 4. A goal that is linear in a symbol determines it.
//! 5. Otherwise the condition is restricted if a violating binding is found (see [`witness`](super::witness)).
//!
//! **Invariant:** every verdict except [`Verdict::Undecided`] is proved; a verdict that says that the condition can fail has
//! a violating binding that was evaluated, or that the exact solutions in one symbol leave out.
//!
//! # Limits
//!
//! Every part is bounded: dims by the limits of the arena, proofs by the number of statements, exact solutions by the
//! period and the number of pieces, searches by the number of evaluated steps.

use super::arena::Dims;
use super::condition::{Condition, Goal, Relation, without_content};
use super::decide::Decision;
use super::domain::Domain;
use super::id::DimId;
use super::poly::{Term, collect};
use super::solutions::{Extent, Pivot, Solutions};

/// What is known of a condition over a [`Domain`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It holds for every admissible binding.
    Always,
    /// It holds for no admissible binding.
    Never,
    /// It holds only if the symbol has one of finitely many values.
    Only {
        /// The symbol.
        symbol: DimId,
        /// All values for which the condition holds for some values of the other symbols, in increasing order.
        values: Vec<i64>,
    },
    /// It holds exactly if the symbol equals an expression of others, and fails for some admissible binding.
    Equals {
        /// The symbol.
        symbol: DimId,
        /// Its value, which does not mention the symbol.
        value: DimId,
    },
    /// It fails for some admissible binding.
    Restricted {
        /// Conditions that hold together exactly where the condition holds, in simpler form.
        conditions: Vec<Condition>,
    },
    /// Neither a proof nor a violating binding was found.
    Undecided,
}

impl Dims {
    /// Decides a condition for all admissible bindings of the symbols.
    ///
    /// Bindings for which a side of the condition is undefined are ignored. Anonymous variables are treated as numbers of
    /// which only the range is known: a verdict holds for all their values.
    pub fn examine(&mut self, condition: Condition, domain: &Domain) -> Verdict {
        let condition = domain.substituted(self, condition);
        if domain.is_empty(self) {
            return Verdict::Always;
        }
        let Some(goals) = self.alternatives(condition) else { return Verdict::Undecided };
        let mut open = Vec::new();
        for (position, goal) in goals.into_iter().enumerate() {
            for goal in self.factored(goal, domain) {
                match self.decide_goal(goal, domain) {
                    Decision::Equal => return Verdict::Always,
                    Decision::Different => {}
                    Decision::Undecided => open.push((position, goal)),
                }
            }
        }
        if open.is_empty() {
            return Verdict::Never;
        }
        let goals: Vec<Goal> = open.iter().map(|(_, goal)| *goal).collect();
        let narrowed = narrowed(condition, &open);
        if let Some(pivot) = self.pivot(&goals, domain)
            && let Some(solutions) = self.solutions(&goals, &pivot)
            && let Some(verdict) = self.verdict_of(&solutions, &pivot)
        {
            return match verdict {
                Verdict::Restricted { .. } if self.counterexample(condition, domain).is_none() => {
                    Verdict::Undecided
                }
                verdict => verdict,
            };
        }
        if self.counterexample(condition, domain).is_none() {
            return Verdict::Undecided;
        }
        if let [goal] = goals[..] {
            if let Goal::Zero(dim) = goal
                && let Some((symbol, value)) = self.determined(dim, domain)
            {
                return Verdict::Equals { symbol, value };
            }
            if let Some(simple) = self.condition_of(goal) {
                return Verdict::Restricted { conditions: vec![simple] };
            }
        }
        Verdict::Restricted { conditions: vec![narrowed] }
    }

    /// The verdict on goals whose solutions are known; `None` if these have no simple description.
    fn verdict_of(&mut self, solutions: &Solutions, pivot: &Pivot) -> Option<Verdict> {
        let subject = self.intern_product(&pivot.factors)?;
        let symbol = (pivot.factors.len() == 1).then_some(subject);
        let conditions = match solutions.extent() {
            Extent::All => return Some(Verdict::Always),
            Extent::Empty => return Some(Verdict::Never),
            Extent::Finite(values) => match (symbol, &values[..]) {
                (Some(symbol), _) => return Some(Verdict::Only { symbol, values }),
                (None, &[value]) => {
                    let value = self.constant(value);
                    vec![Condition::new(Relation::Equal, subject, value)]
                }
                (None, _) => return None,
            },
            Extent::UpTo(most) => vec![Condition::new(Relation::AtMost, subject, self.constant(most))],
            Extent::From(least) => vec![Condition::new(Relation::AtMost, self.constant(least), subject)],
            Extent::Between(least, most) => vec![
                Condition::new(Relation::AtMost, self.constant(least), subject),
                Condition::new(Relation::AtMost, subject, self.constant(most)),
            ],
            Extent::Residue { modulus, remainder } => {
                let shift = self.constant(if remainder == 0 { 0 } else { modulus - remainder });
                let dividend = self.try_add(subject, shift)?;
                vec![Condition::new(Relation::Divides, self.constant(modulus), dividend)]
            }
            Extent::Other => return None,
        };
        Some(Verdict::Restricted { conditions })
    }

    /// Goals of which one holds exactly if `goal` does: without content, and without common factors.
    fn factored(&mut self, goal: Goal, domain: &Domain) -> Vec<Goal> {
        let goal = without_content(goal, self);
        let terms = self.terms(goal.dim());
        let Some((first, others)) = terms.split_first() else { return vec![goal] };
        if first.monomial == DimId::ONE {
            return vec![goal];
        }
        let mut common = self.factors(first.monomial);
        for term in others {
            let mut factors = self.factors(term.monomial);
            common.retain(|atom| {
                let found = factors.iter().position(|factor| factor == atom);
                found.map(|at| factors.remove(at)).is_some()
            });
        }
        let mut zeros = Vec::new();
        let mut divided = Vec::new();
        for atom in common {
            if self.is_at_least(atom, 1, domain) {
                divided.push(atom);
            } else if matches!(goal, Goal::Zero(_)) || self.is_at_least(atom, 0, domain) {
                divided.push(atom);
                zeros.push(Goal::Zero(atom));
            }
        }
        let Some(divisor) = self.intern_product(&divided) else { return vec![goal] };
        let mut rest: Vec<Term> = Vec::with_capacity(terms.len());
        for Term { coefficient, monomial } in terms {
            let Some(monomial) = self.divide_monomials(monomial, divisor) else { return vec![goal] };
            rest.push(Term { coefficient, monomial });
        }
        let Some(rest) = collect(rest).and_then(|rest| self.intern_sum(&rest)) else { return vec![goal] };
        zeros.dedup();
        zeros.insert(0, without_content(goal.with(rest), self));
        zeros
    }

    /// The symbol that has to have one value for the dim to be 0, and the value: `a*x + b = 0` with a positive `a` that
    /// divides `b`. The youngest such symbol is taken.
    fn determined(&mut self, dim: DimId, domain: &Domain) -> Option<(DimId, DimId)> {
        let terms = self.terms(dim);
        let symbols = self.symbols_of(dim);
        for &symbol in symbols.iter().rev() {
            let (mut factor, mut rest) = (Vec::new(), Vec::new());
            for &Term { coefficient, monomial } in &terms {
                match self.divide_monomials(monomial, symbol) {
                    Some(monomial) => factor.push(Term { coefficient, monomial }),
                    None => rest.push(Term { coefficient: coefficient.checked_neg()?, monomial }),
                }
            }
            let (Some(factor), Some(rest)) = (collect(factor), collect(rest)) else { continue };
            let (Some(factor), Some(rest)) = (self.intern_sum(&factor), self.intern_sum(&rest)) else {
                continue;
            };
            let mentioned = |dims: &Self, dim| dims.symbols_of(dim).contains(&symbol);
            if factor == DimId::ZERO || mentioned(self, factor) || mentioned(self, rest) {
                continue;
            }
            let negated = self.try_sub(DimId::ZERO, factor)?;
            if !self.is_at_least(factor, 1, domain) && !self.is_at_least(negated, 1, domain) {
                continue;
            }
            if let Some(value) = self.div_exact(rest, factor) {
                return Some((symbol, value));
            }
        }
        None
    }
}

/// The condition, where some of its alternatives are known to fail.
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

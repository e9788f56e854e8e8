//! Simplification of goals and conditions: common factors, minima, and dims under the facts of a domain.
//!
//! | goal | becomes |
//! |---|---|
//! | `x*d = 0` | `d = 0`, or also `x = 0` where `x` is not known to be positive |
//! | `x*d <= 0` for `x >= 0` | `d <= 0`, as above |
//! | `k*min(a, b) + r <= 0` for `k > 0` | `k*a + r <= 0` or `k*b + r <= 0` |
//! | `r - k*min(a, b) <= 0` for `k > 0` | `r - k*a <= 0` and `r - k*b <= 0` |
//! | `min(a, b) - a = 0` | `a - b <= 0` |
//! | `k*min(a, b) + r = 0`, where `k*b + r = 0` and `b <= a` never hold together | `k*a + r = 0` and `a - b <= 0` |
//!
//! Each rule preserves the truth of the goal for all admissible bindings.

use std::collections::{HashMap, HashSet};

use crate::arena::{Dims, Kind};
use crate::condition::{Condition, Goal, Relation, without_content};
use crate::domain::Domain;
use crate::extremum::drop_redundant;
use crate::id::DimId;
use crate::poly::{Term, Terms, collect, merge};

/// Maximum number of atoms simplified in one dim.
const MAX_ATOMS: usize = 12;

/// A term that is a multiple of a minimum, and the other terms.
struct Isolated {
    scale: i64,
    arguments: Vec<DimId>,
    rest: Terms,
}

impl Dims {
    /// Goals of which one holds exactly if `goal` does, without content, common factors, and minima that are
    /// bounded from above.
    pub(crate) fn factored(&mut self, goal: Goal, domain: &Domain) -> Vec<Goal> {
        let goal = without_content(goal, self);
        let mut goals = self.without_common_factor(goal, domain).unwrap_or_else(|| vec![goal]);
        let mut at = 0;
        while at < goals.len() && goals.len() <= MAX_ATOMS {
            match self.one_of_arguments(goals[at]) {
                Some(cases) => {
                    goals.remove(at);
                    goals.extend(cases);
                }
                None => at += 1,
            }
        }
        goals
    }

    fn without_common_factor(&mut self, goal: Goal, domain: &Domain) -> Option<Vec<Goal>> {
        let terms = self.terms(goal.dim());
        let mut zeros = Vec::new();
        let mut divided = Vec::new();
        for atom in self.common_factors(&terms) {
            if self.is_at_least(atom, 1, domain) {
                divided.push(atom);
            } else if matches!(goal, Goal::Zero(_)) || self.is_at_least(atom, 0, domain) {
                divided.push(atom);
                zeros.push(Goal::Zero(atom));
            }
        }
        if divided.is_empty() {
            return None;
        }
        let divisor = self.intern_product(&divided)?;
        let mut rest: Vec<Term> = Vec::with_capacity(terms.len());
        for Term { coefficient, monomial } in terms {
            rest.push(Term { coefficient, monomial: self.divide_monomials(monomial, divisor)? });
        }
        let rest = collect(rest)?;
        let rest = self.intern_sum(&rest)?;
        zeros.dedup();
        zeros.insert(0, without_content(goal.with(rest), self));
        Some(zeros)
    }

    /// A minimum that is a term by itself and does not occur elsewhere in the dim.
    fn isolated_minimum(&self, dim: DimId) -> Option<Isolated> {
        let terms = self.terms(dim);
        terms.iter().find_map(|term| {
            let arguments = self.as_min(term.monomial)?.to_vec();
            let mut rest = terms.clone();
            rest.retain(|other| other.monomial != term.monomial);
            let elsewhere =
                rest.iter().any(|other| self.nodes(other.monomial).any(|node| node == term.monomial));
            (!elsewhere).then_some(Isolated { scale: term.coefficient, arguments, rest })
        })
    }

    /// The dim with each argument in place of the minimum.
    fn cases(&mut self, isolated: &Isolated) -> Option<Vec<DimId>> {
        let case = |argument: &DimId| {
            let terms = merge(&isolated.rest, &self.terms(*argument), isolated.scale)?;
            self.intern_sum(&terms)
        };
        isolated.arguments.iter().map(case).collect()
    }

    /// Goals of which one holds exactly if the goal does.
    fn one_of_arguments(&mut self, goal: Goal) -> Option<Vec<Goal>> {
        let Goal::NotPositive(dim) = goal else { return None };
        let isolated = self.isolated_minimum(dim).filter(|isolated| isolated.scale > 0)?;
        Some(self.cases(&isolated)?.into_iter().map(Goal::NotPositive).collect())
    }

    /// Goals whose conjunction is equivalent to the goal.
    pub(crate) fn all_of_arguments(&mut self, goal: Goal, domain: &Domain) -> Option<Vec<Goal>> {
        let isolated = self.isolated_minimum(goal.dim())?;
        let cases = self.cases(&isolated)?;
        if let Goal::NotPositive(_) = goal {
            return (isolated.scale < 0).then(|| cases.into_iter().map(Goal::NotPositive).collect());
        }
        let Isolated { arguments, .. } = isolated;
        let least = match cases.iter().position(|case| *case == DimId::ZERO) {
            Some(least) => least,
            None => self.only_possible_case(&arguments, &cases, domain)?,
        };
        let mut goals = vec![Goal::Zero(cases[least])];
        for &other in arguments.iter().filter(|other| **other != arguments[least]) {
            goals.push(Goal::NotPositive(self.try_sub(arguments[least], other)?));
        }
        goals.retain(|goal| *goal != Goal::Zero(DimId::ZERO));
        Some(goals)
    }

    /// The only argument of a minimum that can be the least one while its case is 0.
    fn only_possible_case(&mut self, arguments: &[DimId], cases: &[DimId], domain: &Domain) -> Option<usize> {
        let mut possible = None;
        for (at, &case) in cases.iter().enumerate() {
            let mut domain = domain.clone();
            for &other in arguments.iter().filter(|other| **other != arguments[at]) {
                domain.assume(self, Condition::new(Relation::AtMost, arguments[at], other));
            }
            if !domain.is_empty(self) && !self.fails_everywhere(&[Goal::Zero(case)], &domain) {
                if possible.is_some() {
                    return None;
                }
                possible = Some(at);
            }
        }
        possible
    }

    /// The simplest form of a dim that is equal for all admissible bindings: known values of symbols are
    /// substituted, arguments of minima that are never the least are removed, and quotients with one value
    /// are replaced by it.
    pub fn simplify(&mut self, dim: DimId, domain: &Domain) -> DimId {
        let domain = &domain.connected_part(self, &self.symbols_of(dim));
        let simple = self.simplified(dim, domain);
        let restored = domain.restore(self, simple);
        if self.is_of_names(restored) { restored } else { dim }
    }

    /// [`Dims::simplify`] with the symbols that the domain introduced.
    fn simplified(&mut self, dim: DimId, domain: &Domain) -> DimId {
        let mut dim = domain.substitute(self, dim);
        if self.summary(dim).nesting == 0 {
            return dim;
        }
        let mut done = HashSet::new();
        for _ in 0..MAX_ATOMS {
            let Some(atom) = self.atom_except(dim, &done) else { break };
            done.insert(atom);
            let simple = self.simplified_atom(atom, domain);
            if simple != atom {
                dim = self.replace_nodes(dim, HashMap::from([(atom, simple)]));
            }
        }
        dim
    }

    /// The condition with both sides simplified, see [`Dims::simplify`], with the symbols that the domain
    /// introduced.
    pub(crate) fn simplify_within(&mut self, condition: Condition, domain: &Domain) -> Condition {
        condition.map(|side| self.simplified(side, domain))
    }

    /// An innermost floor or minimum of the dim that is not done.
    fn atom_except(&self, dim: DimId, done: &HashSet<DimId>) -> Option<DimId> {
        let (mut stack, mut seen, mut found) = (vec![dim], HashSet::new(), None);
        while let Some(dim) = stack.pop() {
            if !seen.insert(dim) || self.summary(dim).nesting == 0 {
                continue;
            }
            if matches!(self.kind(dim), Some(Kind::Min(_) | Kind::Floor { .. })) && !done.contains(&dim) {
                // Children are older than their parents.
                found = Some(found.map_or(dim, |known: DimId| known.min(dim)));
            }
            stack.extend(self.parts(dim));
        }
        found
    }

    fn simplified_atom(&mut self, atom: DimId, domain: &Domain) -> DimId {
        if let Some(value) = self.only_value(atom, domain) {
            return self.constant(value);
        }
        let Some(arguments) = self.as_min(atom) else { return atom };
        let mut arguments = arguments.to_vec();
        drop_redundant(&mut arguments, |&own, &other| {
            self.try_sub(own, other).is_some_and(|gap| self.is_at_least(gap, 0, domain))
        });
        self.try_min_all(&arguments).unwrap_or(atom)
    }

    /// The symbol that must have one value for the dim to be 0, and the value: `a*x + b = 0` with a positive
    /// `a` that divides `b`. The youngest such symbol is used.
    pub(crate) fn determined(&mut self, dim: DimId, domain: &Domain) -> Option<(DimId, DimId)> {
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

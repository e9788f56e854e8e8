//! Goals that hold only for multiples: `h*w = 49*(h//7)*(w//7)`.
//!
//! Each symbol `h` in a floor by a constant is written as `d*q + s` with a quotient `q` and a remainder
//! `s < d`. If the goal fails whenever `s` is at least 1, it implies that `d` divides `h`. With all these
//! remainders 0 the goal has no floor left, and is decided as usual.
//!
//! Proofs by cases: a symbol in a minimum is at its least value or above it, and a symbol with few values has
//! each of them.

use smallvec::SmallVec;

use crate::arena::{Dims, Kind};
use crate::bounds::Interval;
use crate::condition::{Condition, Goal, Relation};
use crate::domain::{Domain, symbols_of};
use crate::examine::Verdict;
use crate::id::DimId;
use crate::poly::without_constant;
use crate::solutions::{MAX_PERIOD, common_multiple};
use crate::work::Effort;

/// Maximum number of symbols that are divided.
const MAX_SYMBOLS: usize = 4;
/// Maximum number of values of a symbol that are separate cases.
const MAX_VALUES: i64 = 16;
/// Maximum number of nested case distinctions.
const MAX_DEPTH: u32 = 4;

/// A symbol `divisor*quotient + remainder`.
struct Divided {
    symbol: DimId,
    divisor: i64,
    remainder: DimId,
}

impl Dims {
    /// The divisibilities that a goal implies, with what remains of the goal.
    pub(crate) fn by_remainders(
        &mut self,
        goal: Goal,
        domain: &Domain,
        effort: &mut Effort,
    ) -> Option<Verdict> {
        let Goal::Zero(dim) = goal else { return None };
        let (divided, split) = self.divided_symbols(dim, domain)?;
        let mut conditions = Vec::new();
        let mut whole = domain.clone();
        for Divided { symbol, divisor, remainder } in divided {
            let uneven = split.clone().at_least(remainder, 1);
            if self.never_by_cases(goal, &uneven, MAX_DEPTH, effort) {
                let condition = Condition::new(Relation::Divides, self.constant(divisor), symbol);
                whole.assume(self, condition);
                conditions.push(condition);
            }
        }
        let rest = Condition::new(Relation::Equal, dim, DimId::ZERO);
        if conditions.is_empty() {
            return None;
        }
        let verdict = self.examine_within(rest, &whole, effort);
        match whole.restore_verdict(self, verdict) {
            Verdict::Always => {}
            Verdict::Never => return Some(Verdict::Never),
            Verdict::Restricted { conditions: more } => conditions.extend(more),
            Verdict::Equals { symbol, value } => {
                conditions.push(Condition::new(Relation::Equal, symbol, value));
            }
            Verdict::Only { .. } | Verdict::Undecided => {
                let simple = whole.substitute(self, dim);
                let simple = self.condition_of(goal.with(simple))?;
                conditions.push(whole.restore_condition(self, simple));
            }
        }
        Some(Verdict::Restricted { conditions })
    }

    /// The symbols in floors by constants, and the domain in which each is a quotient and a remainder.
    fn divided_symbols(&mut self, dim: DimId, domain: &Domain) -> Option<(Vec<Divided>, Domain)> {
        let mut divisors: SmallVec<[(DimId, i64); 4]> = SmallVec::new();
        for node in self.nodes(dim).collect::<Vec<_>>() {
            let Some((numerator, denominator)) = self.as_floor(node) else { continue };
            let divisor = self.as_constant(denominator).filter(|divisor| *divisor > 1)?;
            for term in without_constant(&self.terms(numerator)) {
                for symbol in self.symbols_of(term.monomial) {
                    match divisors.iter_mut().find(|(known, _)| *known == symbol) {
                        Some((_, known)) => *known = common_multiple(*known, divisor)?,
                        None => divisors.push((symbol, divisor)),
                    }
                }
            }
        }
        if divisors.is_empty() || divisors.len() > MAX_SYMBOLS || divisors.iter().any(|it| it.1 > MAX_PERIOD)
        {
            return None;
        }
        divisors.sort_unstable();
        let (mut divided, mut split) = (Vec::new(), domain.clone());
        for (symbol, divisor) in divisors {
            let Interval { low, high } = domain.bounds_of(self, symbol);
            let most = if high == i64::MAX { high } else { high.div_euclid(divisor) };
            let quotient = self.bounded(Interval { low: low.max(0) / divisor, high: most });
            let remainder = self.bounded(Interval { low: 0, high: divisor - 1 });
            let scale = self.constant(divisor);
            let multiple = self.try_mul(scale, quotient)?;
            let value = self.try_add(multiple, remainder)?;
            split.assume(self, Condition::new(Relation::Equal, symbol, value));
            divided.push(Divided { symbol, divisor, remainder });
        }
        Some((divided, split))
    }

    /// Whether a goal holds for no admissible binding, proved by cases.
    fn never_by_cases(&mut self, goal: Goal, domain: &Domain, depth: u32, effort: &mut Effort) -> bool {
        if effort.spend(self).is_none() {
            return false;
        }
        if domain.is_empty(self) {
            return true;
        }
        let simple = goal.with(domain.substitute(self, goal.dim()));
        if self.never_holds(simple, domain) {
            return true;
        }
        if depth == 0 {
            return false;
        }
        let Some((symbol, parts)) = self.cases_of(simple.dim(), domain) else { return false };
        parts.into_iter().all(|Interval { low, high }| {
            let case = domain.clone().at_least(symbol, low).at_most(symbol, high);
            self.never_by_cases(goal, &case, depth - 1, effort)
        })
    }

    /// A symbol to distinguish, and the intervals of its cases.
    fn cases_of(&mut self, dim: DimId, domain: &Domain) -> Option<(DimId, Vec<Interval>)> {
        let mut in_minima: Vec<DimId> = Vec::new();
        for node in self.nodes(dim).collect::<Vec<_>>() {
            if matches!(self.kind(node), Some(Kind::Min(_))) {
                in_minima.extend(self.symbols_of(node));
            }
        }
        in_minima.sort_unstable();
        for symbol in in_minima {
            let bounds = domain.bounds_of(self, symbol);
            if bounds.low == 0 && bounds.high > 0 {
                return Some((symbol, vec![Interval::point(0), Interval { low: 1, ..bounds }]));
            }
        }
        let few = |bounds: Interval| bounds.high != i64::MAX && bounds.high - bounds.low < MAX_VALUES;
        for symbol in self.symbols_of(dim) {
            let bounds = domain.bounds_of(self, symbol);
            if few(bounds) && bounds.low < bounds.high {
                return Some((symbol, (bounds.low..=bounds.high).map(Interval::point).collect()));
            }
        }
        None
    }

    /// Whether a condition holds for no admissible binding: as [`Dims::examine`] decides, or by cases.
    pub fn never(&mut self, condition: Condition, domain: &Domain) -> bool {
        let domain = &domain.connected_part(self, &symbols_of(self, condition));
        self.with_effort(|dims, effort| dims.never_within(condition, domain, effort))
    }

    fn never_within(&mut self, condition: Condition, domain: &Domain, effort: &mut Effort) -> bool {
        if self.examine_within(condition, domain, effort) == Verdict::Never {
            return true;
        }
        let condition = domain.substituted(self, condition);
        let Some((symbol, parts)) = self.cases_of(condition.left, domain) else { return false };
        parts.into_iter().all(|Interval { low, high }| {
            let case = domain.clone().at_least(symbol, low).at_most(symbol, high);
            case.is_empty(self) || self.examine_within(condition, &case, effort) == Verdict::Never
        })
    }
}

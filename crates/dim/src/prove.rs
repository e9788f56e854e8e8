//! Proofs of statements about dims over a [`Domain`].
//!
//! The dim is copied to a separate arena, in which every leaf that is at least `k` is written as `k + x` for
//! a new leaf `x` from 0 on. Multiplied out, `(1 + x)*(1 + y) - (1 + x)` has no negative term left, so the
//! interval arithmetic of [`bounds`](crate::bounds) proves what it cannot prove for `a*b - a`. Floors and
//! minima are brought to their lowest form under the bounds of the domain. Then the statement is proved
//!
//! 1. by bounds, divisibility and residues, as in [`decide`](crate::decide);
//! 2. by adding multiples of known facts `f >= 0` such that a term cancels;
//! 3. by cases: each argument of a minimum is the least one, which adds facts; each remainder of a symbol by
//!    the divisor of a floor; a symbol in a product is at its least value, or above it.
//!
//! Proofs are sound; `false` means that none was found. [`MAX_WORK`] and [`MAX_PROOF`] limit the work of one
//! proof, and [`MAX_FACTS`] the conditions of the domain.

use std::collections::HashMap;

use crate::arena::Dims;
use crate::bounds::Interval;
use crate::condition::{Goal, Relation};
use crate::decide::Decision;
use crate::domain::Domain;
use crate::id::DimId;
use crate::poly::{Term, Terms, gcd, merge};
use crate::work::MAX_PROOF;

/// Maximum number of terms visited by one proof.
const MAX_WORK: usize = 1 << 14;
/// Estimated visits of each term when a sum with floors or minima is bounded.
const RELAXATION_WORK: usize = 50;
/// Maximum number of conditions of the domain in a proof.
const MAX_FACTS: usize = 16;
/// Maximum divisor for which a proof tries all remainders.
const MAX_MODULUS: i64 = 8;
/// Maximum number of symbols that are split into their least value and the values above it, in one case.
const MAX_SPLITS: u32 = 2;
/// Maximum number of facts added to one statement.
const MAX_FACTS_ADDED: u32 = 3;

/// A statement about a dim of the prover's arena.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Claim {
    Zero,
    NonZero,
    NotPositive,
}

/// Whether leaves are shifted to start at 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Style {
    Shifted,
    /// For dims that are too large when multiplied out.
    Plain,
}

/// An arena in which the leaves have the bounds of a domain.
pub(crate) struct Prover<'d> {
    dims: Dims,
    domain: &'d Domain,
    style: Style,
    leaves: HashMap<DimId, DimId>,
    /// Dims that are at least 0.
    facts: Vec<DimId>,
    work: usize,
    /// Remaining number of symbols that may be split into their least value and the values above it.
    splits: u32,
}

/// The arena of a prover before its first statement. Consecutive statements are often about one domain, whose
/// conditions take as long to copy as a proof.
#[derive(Clone)]
pub(crate) struct Prepared {
    domain: Domain,
    style: Style,
    /// The number of bindings of the main arena.
    epoch: usize,
    dims: Dims,
    leaves: HashMap<DimId, DimId>,
    facts: Vec<DimId>,
}

impl<'d> Prover<'d> {
    fn new(main: &mut Dims, domain: &'d Domain, style: Style) -> Self {
        let epoch = main.binding_count();
        let mut known = main.prepared.iter();
        if let Some(known) = known.find(|it| it.style == style && it.epoch == epoch && it.domain == *domain) {
            let (dims, leaves, facts) = (known.dims.clone(), known.leaves.clone(), known.facts.clone());
            return Self { dims, domain, style, leaves, facts, work: 0, splits: MAX_SPLITS };
        }
        let prover = Self::prepare(main, domain, style);
        if !prover.facts.is_empty() {
            let Self { dims, leaves, facts, .. } = &prover;
            let (dims, leaves, facts) = (dims.clone(), leaves.clone(), facts.clone());
            let prepared = Prepared { domain: domain.clone(), style, epoch, dims, leaves, facts };
            main.prepared.retain(|it| it.style != style);
            main.prepared.push(prepared);
        }
        prover
    }

    fn prepare(main: &Dims, domain: &'d Domain, style: Style) -> Self {
        let (dims, leaves, facts) = (Dims::new(), HashMap::new(), Vec::new());
        let mut prover = Self { dims, domain, style, leaves, facts, work: 0, splits: MAX_SPLITS };
        prover.dims.limit_to_proof();
        for condition in domain.conditions().take(MAX_FACTS) {
            let (left, right) = (prover.import(main, condition.left), prover.import(main, condition.right));
            match condition.relation {
                Relation::AtMost => prover.facts.push(prover.dims.sub(right, left)),
                Relation::Equal => {
                    let facts = [prover.dims.sub(right, left), prover.dims.sub(left, right)];
                    prover.facts.extend(facts);
                }
                Relation::Divides => {
                    let remainder = prover.dims.modulo(right, left);
                    let facts = [remainder, prover.dims.neg(remainder)];
                    prover.facts.extend(facts);
                }
                Relation::OneOrEqual | Relation::Broadcast => {}
            }
        }
        prover
    }

    fn import(&mut self, main: &Dims, dim: DimId) -> DimId {
        let Self { dims, domain, style, leaves, facts: _, work: _, splits: _ } = self;
        dims.copy_from(main, dim, &mut |dims, leaf| {
            *leaves.entry(leaf).or_insert_with(|| {
                let bounds = domain.bounds_of(main, leaf);
                if *style == Style::Plain || bounds.low == i64::MIN {
                    return dims.bounded(bounds);
                }
                let high = bounds.add(Interval::point(bounds.low.saturating_neg())).high;
                let rest = dims.bounded(Interval { low: 0, high: high.max(0) });
                let low = dims.constant(bounds.low);
                dims.add(rest, low)
            })
        })
    }

    fn prove(&mut self, claim: Claim, dim: DimId) -> bool {
        self.work = MAX_WORK;
        let facts = self.facts.clone();
        self.claim(claim, dim, &facts)
    }

    fn claim(&mut self, claim: Claim, dim: DimId, facts: &[DimId]) -> bool {
        if facts.iter().any(|&fact| self.dims.summary(fact).bounds.high < 0) {
            // No binding is in this case.
            return true;
        }
        if !self.spend(8 * usize::from(self.dims.summary(dim).size)) {
            return false;
        }
        self.direct(claim, dim, facts)
            || self.by_minimum(claim, dim, facts)
            || self.by_residue(claim, dim, facts)
            || self.by_least_value(claim, dim, facts)
    }

    /// Spends work; returns whether the budget allows it.
    fn spend(&mut self, work: usize) -> bool {
        let allowed = self.work >= work && self.dims.visited() <= MAX_PROOF;
        self.work = self.work.saturating_sub(work);
        allowed
    }

    /// Spends the work of bounding a sum; returns whether the budget allows it.
    fn spend_bounds(&mut self, terms: &[Term]) -> bool {
        let nested = terms.iter().any(|term| self.dims.summary(term.monomial).nesting > 0);
        self.spend(terms.len() * if nested { RELAXATION_WORK } else { 1 })
    }

    /// Proves a statement without cases.
    fn direct(&mut self, claim: Claim, dim: DimId, facts: &[DimId]) -> bool {
        let terms = self.dims.terms(dim);
        if !self.spend_bounds(&terms) {
            return false;
        }
        let facts: Vec<Terms> = facts.iter().map(|&fact| self.dims.terms(fact)).collect();
        match claim {
            Claim::NotPositive => self.is_not_positive(&terms, &facts, MAX_FACTS_ADDED),
            Claim::Zero => {
                self.dims.compare_to_zero(&terms) == Decision::Equal
                    || !facts.is_empty()
                        && [1, -1].into_iter().all(|sign| self.sum_is_not_positive(&[], &terms, sign, &facts))
            }
            Claim::NonZero => {
                // `1 - dim <= 0` or `1 + dim <= 0`.
                let one = [Term { coefficient: 1, monomial: DimId::ONE }];
                self.dims.compare_to_zero(&terms) == Decision::Different
                    || !facts.is_empty()
                        && [1, -1]
                            .into_iter()
                            .any(|sign| self.sum_is_not_positive(&one, &terms, sign, &facts))
            }
        }
    }

    /// Whether `a + sign * b` is at most 0.
    fn sum_is_not_positive(&mut self, a: &[Term], b: &[Term], sign: i64, facts: &[Terms]) -> bool {
        merge(a, b, sign).is_some_and(|terms| self.is_not_positive(&terms, facts, MAX_FACTS_ADDED))
    }

    /// Adds multiples of facts such that a term cancels, until the bounds are not positive.
    fn is_not_positive(&mut self, terms: &[Term], facts: &[Terms], depth: u32) -> bool {
        if !self.spend_bounds(terms) {
            return false;
        }
        if self.dims.high_of_terms(terms) <= 0 {
            return true;
        }
        if depth == 0 {
            return false;
        }
        for fact in facts {
            for term in terms.iter().filter(|term| term.coefficient > 0) {
                let Ok(at) = fact.binary_search_by_key(&term.monomial, |other| other.monomial) else {
                    continue;
                };
                let other = fact[at].coefficient;
                if other >= 0 {
                    continue;
                }
                let common = gcd(term.coefficient.unsigned_abs(), other.unsigned_abs());
                let Ok(common) = i64::try_from(common) else { continue };
                let sum = merge(&[], terms, -(other / common))
                    .and_then(|terms| merge(&terms, fact, term.coefficient / common));
                if let Some(sum) = sum
                    && self.is_not_positive(&sum, facts, depth - 1)
                {
                    return true;
                }
            }
        }
        false
    }

    /// Proves by cases: each argument of a minimum is the least one.
    fn by_minimum(&mut self, claim: Claim, dim: DimId, facts: &[DimId]) -> bool {
        let Some((atom, arguments)) = self.a_minimum(dim) else { return false };
        arguments.iter().all(|&least| {
            let others = arguments.iter().filter(|other| **other != least);
            let more = others.map(|&other| self.dims.sub(other, least)).collect();
            self.claim_for(claim, dim, facts, (atom, least), more)
        })
    }

    fn a_minimum(&self, dim: DimId) -> Option<(DimId, Vec<DimId>)> {
        self.dims.nodes(dim).find_map(|node| Some((node, self.dims.as_min(node)?.to_vec())))
    }

    /// Proves by cases: the remainders of a symbol by the divisor of a floor.
    fn by_residue(&mut self, claim: Claim, dim: DimId, facts: &[DimId]) -> bool {
        let Some((leaf, modulus)) = self.a_residue(dim) else { return false };
        let bounds = self.dims.summary(leaf).bounds;
        (0..modulus).all(|remainder| {
            if bounds.high < remainder {
                return true;
            }
            let high = if bounds.high == i64::MAX { i64::MAX } else { (bounds.high - remainder) / modulus };
            let quotient = self.dims.bounded(Interval { low: 0, high });
            let (modulus, remainder) = (self.dims.constant(modulus), self.dims.constant(remainder));
            let multiple = self.dims.mul(quotient, modulus);
            let value = self.dims.add(multiple, remainder);
            self.claim_for(claim, dim, facts, (leaf, value), Vec::new())
        })
    }

    /// Proves a statement for one value of a node, which implies more facts.
    fn claim_for(
        &mut self,
        claim: Claim,
        dim: DimId,
        facts: &[DimId],
        case: (DimId, DimId),
        more: Vec<DimId>,
    ) -> bool {
        let mut replace = |dim: DimId| self.dims.replace_nodes(dim, HashMap::from([case]));
        let facts: Vec<DimId> = facts.iter().map(|&fact| replace(fact)).chain(more).collect();
        let dim = self.dims.replace_nodes(dim, HashMap::from([case]));
        self.claim(claim, dim, &facts)
    }

    /// Proves by cases: a symbol in a product has its least value, or a greater one.
    fn by_least_value(&mut self, claim: Claim, dim: DimId, facts: &[DimId]) -> bool {
        if self.splits == 0 || self.style == Style::Plain {
            return false;
        }
        let Some((leaf, bounds)) = self.a_factor(dim) else { return false };
        self.splits -= 1;
        let high = if bounds.high == i64::MAX { i64::MAX } else { bounds.high - 1 };
        let rest = self.dims.bounded(Interval { low: 0, high });
        let above = self.dims.add(rest, DimId::ONE);
        let mut holds = |value| self.claim_for(claim, dim, facts, (leaf, value), Vec::new());
        let proved = holds(above) && holds(DimId::ZERO);
        self.splits += 1;
        proved
    }

    /// A leaf that occurs in a product of the sum, has the lower bound 0 and can be greater, with its bounds.
    fn a_factor(&self, dim: DimId) -> Option<(DimId, Interval)> {
        let terms = self.dims.terms(dim);
        let products = terms.iter().filter(|term| self.dims.summary(term.monomial).degree > 1);
        products.flat_map(|term| self.dims.factors(term.monomial)).find_map(|factor| {
            let bounds = self.dims.summary(factor).bounds;
            (self.dims.is_leaf(factor) && bounds.low == 0 && bounds.high > 0).then_some((factor, bounds))
        })
    }

    fn a_residue(&self, dim: DimId) -> Option<(DimId, i64)> {
        self.dims.nodes(dim).find_map(|node| {
            let (numerator, denominator) = self.dims.as_floor(node)?;
            let divisor = self.dims.as_constant(denominator).filter(|divisor| *divisor > 1)?;
            self.dims.terms(numerator).iter().find_map(|term| {
                let common = gcd(divisor.unsigned_abs(), term.coefficient.unsigned_abs());
                let modulus = divisor / i64::try_from(common).ok()?;
                let factors = self.dims.factors(term.monomial);
                let natural =
                    |leaf: &&DimId| self.dims.is_leaf(**leaf) && self.dims.summary(**leaf).bounds.low == 0;
                let leaf = factors.iter().find(natural)?;
                (1 < modulus && modulus <= MAX_MODULUS).then_some((*leaf, modulus))
            })
        })
    }
}

impl Dims {
    /// Whether a statement about a resolved dim holds for all admissible bindings.
    fn prove(&mut self, claim: Claim, dim: DimId, domain: &Domain) -> bool {
        [Style::Shifted, Style::Plain].into_iter().any(|style| {
            let mut prover = Prover::new(self, domain, style);
            let dim = prover.import(self, dim);
            let proved = prover.prove(claim, dim);
            self.count_work_of(&prover.dims);
            proved
        })
    }

    /// Whether a goal holds for all admissible bindings, for none, or is undecided.
    pub(crate) fn decide_goal(&mut self, goal: Goal, domain: &Domain) -> Decision {
        if self.always_holds(goal, domain) {
            Decision::Equal
        } else if self.never_holds(goal, domain) {
            Decision::Different
        } else {
            Decision::Undecided
        }
    }

    /// Whether a goal is proved to hold for all admissible bindings.
    pub(crate) fn always_holds(&mut self, goal: Goal, domain: &Domain) -> bool {
        match goal {
            Goal::Zero(dim) => self.prove(Claim::Zero, dim, domain),
            Goal::NotPositive(dim) => self.prove(Claim::NotPositive, dim, domain),
        }
    }

    /// Whether a goal is proved to hold for no admissible binding.
    pub(crate) fn never_holds(&mut self, goal: Goal, domain: &Domain) -> bool {
        match goal {
            Goal::Zero(dim) => self.prove(Claim::NonZero, dim, domain),
            Goal::NotPositive(dim) => self.is_at_least(dim, 1, domain),
        }
    }

    /// The only value of a resolved dim over all admissible bindings, if bounds prove it.
    pub(crate) fn only_value(&mut self, dim: DimId, domain: &Domain) -> Option<i64> {
        let mut prover = Prover::new(self, domain, Style::Shifted);
        let dim = prover.import(self, dim);
        self.count_work_of(&prover.dims);
        prover.dims.as_constant(dim).or_else(|| prover.dims.summary(dim).bounds.single())
    }

    /// Whether a resolved dim is at least `least` for all admissible bindings.
    pub(crate) fn is_at_least(&mut self, dim: DimId, least: i64, domain: &Domain) -> bool {
        let least = self.constant(least);
        self.try_sub(least, dim).is_some_and(|gap| self.prove(Claim::NotPositive, gap, domain))
    }
}

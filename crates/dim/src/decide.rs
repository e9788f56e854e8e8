//! Comparison of two dims for all values of their symbols.
//!
//! Two dims are equal if their difference is the zero polynomial. They are different if it is never zero
//! because
//!
//! - its bounds exclude zero (see [`crate::bounds`]);
//! - the coefficients have a common divisor that does not divide the constant (`2*N` is never `2*M + 1`);
//! - it is a polynomial in one atom without a root modulo a small number (`N*N` is never 2).
//!
//! All other cases are undecided: equality of integer polynomials is undecidable in general. An undecided
//! equality is kept as an equation.

use crate::arena::Dims;
use crate::id::DimId;
use crate::poly::{Term, constant_term, content, without_constant};

/// Whether two dims are equal, for all values of the symbols: integers from 0 on, with anonymous integers of
/// any sign and divisors other than zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Decision {
    /// Equal for all values.
    Equal,
    /// Equal for no value.
    Different,
    /// Depends on the values, or not proved.
    Undecided,
}

/// The moduli that are tried for a polynomial in one atom.
const MODULI: [i64; 8] = [3, 4, 5, 7, 8, 9, 11, 13];

impl Dims {
    /// Compares two dims for all values of their symbols.
    pub fn compare(&mut self, a: DimId, b: DimId) -> Decision {
        let (a, b) = (self.resolve(a), self.resolve(b));
        if a == b {
            return Decision::Equal;
        }
        if self.summary(a).bounds.is_disjoint(self.summary(b).bounds) {
            return Decision::Different;
        }
        let simple = |dim| self.is_leaf(dim) || self.as_constant(dim).is_some();
        let decision = if simple(a) && simple(b) {
            Decision::Undecided
        } else {
            self.difference(a, b).map_or(Decision::Undecided, |terms| self.compare_to_zero(&terms))
        };
        if decision == Decision::Undecided { self.compare_by_facts(a, b) } else { decision }
    }

    /// Whether the dim is at least 1 for all values.
    pub fn is_positive(&mut self, dim: DimId) -> bool {
        self.bounds(dim).0.is_some_and(|low| low > 0)
    }

    /// The dim with the shorter text.
    #[must_use]
    pub fn simpler(&self, a: DimId, b: DimId) -> DimId {
        if self.summary(b).size < self.summary(a).size { b } else { a }
    }

    /// Whether the dim is at least 0 for all values.
    pub fn is_non_negative(&mut self, dim: DimId) -> bool {
        self.bounds(dim).0.is_some_and(|low| low >= 0)
    }

    /// Whether the dim contains a minimum.
    pub fn has_minimum(&self, dim: DimId) -> bool {
        self.summary(dim).nesting > 0 && self.nodes(dim).any(|node| self.as_min(node).is_some())
    }

    /// Whether the dim contains a floor or a minimum.
    pub fn has_floor(&self, dim: DimId) -> bool {
        self.summary(dim).nesting > 0
    }

    /// Whether the dim may be 1: false only if that was disproved.
    pub fn is_one_possible(&mut self, dim: DimId) -> bool {
        self.compare(dim, DimId::ONE) != Decision::Different
    }

    /// Whether the polynomial is zero.
    pub(crate) fn compare_to_zero(&mut self, terms: &[Term]) -> Decision {
        if terms.is_empty() {
            return Decision::Equal;
        }
        let bounds = self.bounds_of_terms(terms);
        if bounds.single() == Some(0) {
            return Decision::Equal;
        }
        let common = content(without_constant(terms));
        let constant = constant_term(terms);
        let indivisible = common != 0 && !constant.unsigned_abs().is_multiple_of(common);
        if !bounds.contains(0) || indivisible || self.has_no_root(terms) {
            return Decision::Different;
        }
        Decision::Undecided
    }

    /// The atom of a polynomial in one atom, and the exponent and coefficient of each term.
    pub(crate) fn in_one_atom(&self, terms: &[Term]) -> Option<(DimId, Vec<(u32, i64)>)> {
        let mut atom = None;
        let mut powers = Vec::with_capacity(terms.len());
        for term in terms {
            let factors = self.factors(term.monomial);
            for &factor in &factors {
                if *atom.get_or_insert(factor) != factor {
                    return None;
                }
            }
            powers.push((u32::try_from(factors.len()).ok()?, term.coefficient));
        }
        Some((atom?, powers))
    }

    /// Whether a polynomial in one atom has no root modulo one of the [`MODULI`].
    fn has_no_root(&self, terms: &[Term]) -> bool {
        let Some((_, powers)) = self.in_one_atom(terms) else { return false };
        if powers.iter().all(|&(exponent, _)| exponent <= 1) {
            return false;
        }
        MODULI.iter().any(|&modulus| {
            let is_root = |residue: i64| {
                let sum: i64 = powers
                    .iter()
                    .map(|&(exponent, coefficient)| {
                        let power = (0..exponent).fold(1, |power, _| power * residue % modulus);
                        coefficient.rem_euclid(modulus) * power
                    })
                    .sum();
                sum % modulus == 0
            };
            !(0..modulus).any(is_root)
        })
    }
}

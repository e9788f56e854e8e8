//! Polynomials as sorted lists of terms: the arithmetic that [`Dims`] and the constants of pools share.
//!
//! A polynomial is a list of [`Term`]s, each a coefficient and a *monomial*. The arithmetic needs only an
//! order of monomials, so each arena chooses its own: [`Dims`] interns a product of atoms and uses its
//! [`DimId`]; a pool, whose ids decide digests, interns only the products of a result and multiplies lists of
//! atoms.
//!
//! **Invariant:** a list of terms is sorted by monomial, and has no duplicate monomial and no zero
//! coefficient. So equal polynomials are equal lists. In [`Dims`] the monomial of the constant term is
//! [`DimId::ONE`], which sorts last, and the terms of an interned sum never have the coefficient `i64::MIN`,
//! so each can be negated.
//!
//! ```
//! use typeloom_dim::poly::{Term, collect, merge};
//!
//! let term = |coefficient, monomial| Term { coefficient, monomial };
//! // `2*n + m + n - m` is `3*n`, and `3*n - 3*n` is zero.
//! let sum = collect(vec![term(2, "n"), term(1, "m"), term(1, "n"), term(-1, "m")]).unwrap();
//! assert_eq!(sum[..], [term(3, "n")]);
//! assert!(merge(&sum, &[term(1, "n")], -3).unwrap().is_empty());
//! ```

use smallvec::SmallVec;

use crate::arena::{Dims, Kind, MAX_DEGREE};
use crate::id::DimId;

/// A coefficient and a monomial: one, an atom, or a product of atoms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Term<M = DimId> {
    /// The coefficient.
    pub coefficient: i64,
    /// The monomial.
    pub monomial: M,
}

/// A polynomial without an id.
pub type Terms<M = DimId> = SmallVec<[Term<M>; 4]>;

/// Maximum number of pairs of terms in a product.
const MAX_PAIRS: usize = 1024;

/// `a + scale * b`; `None` on overflow.
pub fn merge<M: Clone + Ord>(a: &[Term<M>], b: &[Term<M>], scale: i64) -> Option<Terms<M>> {
    let mut sum = Terms::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    loop {
        let order = match (a.peek(), b.peek()) {
            (None, None) => return Some(sum),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(a), Some(b)) => a.monomial.cmp(&b.monomial),
        };
        let left = if order.is_le() { a.next() } else { None };
        let right = if order.is_ge() { b.next() } else { None };
        let monomial = &left.or(right)?.monomial;
        let right = right.map_or(Some(0), |right| right.coefficient.checked_mul(scale))?;
        let coefficient = left.map_or(0, |left| left.coefficient).checked_add(right)?;
        if coefficient != 0 {
            sum.push(Term { coefficient, monomial: monomial.clone() });
        }
    }
}

/// Sorts terms and adds up those of the same monomial; `None` on overflow.
pub fn collect<M: Clone + Ord>(mut terms: Vec<Term<M>>) -> Option<Terms<M>> {
    terms.sort_unstable_by(|a, b| a.monomial.cmp(&b.monomial));
    let mut sum = Terms::new();
    for equal in terms.chunk_by(|a, b| a.monomial == b.monomial) {
        // The order of equal monomials is arbitrary, so partial sums must not overflow.
        let coefficient: i128 = equal.iter().map(|term| i128::from(term.coefficient)).sum();
        if coefficient != 0 {
            sum.push(Term {
                coefficient: i64::try_from(coefficient).ok()?,
                monomial: equal[0].monomial.clone(),
            });
        }
    }
    Some(sum)
}

/// The greatest common divisor, positive unless both numbers are zero.
pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The greatest common divisor of all coefficients, which is positive unless there is none.
pub fn content<M>(terms: &[Term<M>]) -> u64 {
    terms.iter().fold(0, |common, term| gcd(common, term.coefficient.unsigned_abs()))
}

/// The quotient of two integers, rounded down; `None` for a divisor of 0 and on overflow.
pub fn floor_of_quotient(a: i128, b: i128) -> Option<i128> {
    let quotient = a.checked_div(b)?;
    Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
}

/// The constant term.
pub(crate) fn constant_term(terms: &[Term]) -> i64 {
    match terms.last() {
        Some(term) if term.monomial == DimId::ONE => term.coefficient,
        _ => 0,
    }
}

/// The terms with a symbol in them.
pub(crate) fn without_constant(terms: &[Term]) -> &[Term] {
    match terms.split_last() {
        Some((last, rest)) if last.monomial == DimId::ONE => rest,
        _ => terms,
    }
}

impl Dims {
    /// The terms of a resolved dim.
    pub(crate) fn terms_of<'a>(&'a self, dim: DimId, scratch: &'a mut [Term; 1]) -> &'a [Term] {
        let single = match self.kind(dim) {
            Some(Kind::Sum(span)) => return self.sum_terms(span),
            Some(Kind::Constant(value)) => Term { coefficient: value, monomial: DimId::ONE },
            Some(
                Kind::Symbol(_) | Kind::Variable(_) | Kind::Floor { .. } | Kind::Min(_) | Kind::Product(_),
            ) => Term { coefficient: 1, monomial: dim },
            None => match dim.inline_value() {
                None | Some(0) => return &[],
                Some(value) => Term { coefficient: value, monomial: DimId::ONE },
            },
        };
        scratch[0] = single;
        scratch
    }

    /// A copy of the terms of a resolved dim.
    pub(crate) fn terms(&self, dim: DimId) -> Terms {
        Terms::from_slice(self.terms_of(dim, &mut [EMPTY]))
    }

    /// The atoms of a monomial, sorted, with repetition.
    pub(crate) fn factors_of<'a>(&'a self, monomial: DimId, scratch: &'a mut [DimId; 1]) -> &'a [DimId] {
        match self.kind(monomial) {
            Some(Kind::Product(span)) => self.list(span),
            None => &[],
            Some(_) => {
                scratch[0] = monomial;
                scratch
            }
        }
    }

    /// A copy of the atoms of a monomial.
    pub(crate) fn factors(&self, monomial: DimId) -> SmallVec<[DimId; MAX_DEGREE]> {
        SmallVec::from_slice(self.factors_of(monomial, &mut [DimId::ONE]))
    }

    /// The atoms that all terms have, with repetition.
    pub(crate) fn common_factors(&self, terms: &[Term]) -> SmallVec<[DimId; MAX_DEGREE]> {
        let mut common = terms.first().map(|term| self.factors(term.monomial)).unwrap_or_default();
        for term in terms.iter().skip(1) {
            let mut factors = self.factors(term.monomial);
            common.retain(|atom| {
                let found = factors.iter().position(|factor| factor == atom);
                found.map(|at| factors.remove(at)).is_some()
            });
        }
        common
    }

    /// `a - b` of resolved dims, without interning it; `None` on overflow.
    pub(crate) fn difference(&self, a: DimId, b: DimId) -> Option<Terms> {
        merge(self.terms_of(a, &mut [EMPTY]), self.terms_of(b, &mut [EMPTY]), -1)
    }

    /// The product of two monomials; `None` beyond the limits.
    pub(crate) fn multiply_monomials(&mut self, a: DimId, b: DimId) -> Option<DimId> {
        if a == DimId::ONE || b == DimId::ONE {
            return Some(if a == DimId::ONE { b } else { a });
        }
        let mut factors = self.factors(a);
        factors.extend_from_slice(self.factors_of(b, &mut [DimId::ONE]));
        factors.sort_unstable();
        self.intern_product(&factors)
    }

    /// The product of two polynomials; `None` beyond the limits.
    pub(crate) fn multiply(&mut self, a: &[Term], b: &[Term]) -> Option<Terms> {
        if a.len() * b.len() > MAX_PAIRS || self.is_exhausted() {
            return None;
        }
        self.count_work(a.len() * b.len());
        let mut products = Vec::with_capacity(a.len() * b.len());
        for left in a {
            for right in b {
                let coefficient = left.coefficient.checked_mul(right.coefficient)?;
                let monomial = self.multiply_monomials(left.monomial, right.monomial)?;
                products.push(Term { coefficient, monomial });
            }
        }
        collect(products)
    }

    /// The quotient of two monomials, if `divisor` divides `monomial`.
    pub(crate) fn divide_monomials(&mut self, monomial: DimId, divisor: DimId) -> Option<DimId> {
        if divisor == DimId::ONE {
            return Some(monomial);
        }
        if monomial == divisor {
            return Some(DimId::ONE);
        }
        let mut factors = self.factors(monomial);
        for factor in self.factors(divisor) {
            let at = factors.binary_search(&factor).ok()?;
            factors.remove(at);
        }
        self.intern_product(&factors)
    }
}

pub(crate) const EMPTY: Term = Term { coefficient: 0, monomial: DimId::ONE };

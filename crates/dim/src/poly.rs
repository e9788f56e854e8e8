//! Polynomials during a computation: sorted lists of terms.
//!
//! **Invariant:** a list of terms is sorted by monomial, and has no duplicate monomial and no zero
//! coefficient. The monomial of the constant term is [`DimId::ONE`], which sorts last.
//!
//! **Invariant:** the terms of an interned sum never have the coefficient `i64::MIN`, so each can be negated.

use smallvec::SmallVec;

use crate::arena::{Dims, Kind, MAX_DEGREE};
use crate::id::DimId;

/// A coefficient and a monomial: [`DimId::ONE`], an atom, or a product of atoms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Term {
    pub(crate) coefficient: i64,
    pub(crate) monomial: DimId,
}

/// A polynomial without an id.
pub(crate) type Terms = SmallVec<[Term; 4]>;

/// Maximum number of pairs of terms in a product.
const MAX_PAIRS: usize = 1024;

/// `a + scale * b`; `None` on overflow.
pub(crate) fn merge(a: &[Term], b: &[Term], scale: i64) -> Option<Terms> {
    let mut sum = Terms::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.iter().copied().peekable(), b.iter().copied().peekable());
    loop {
        let order = match (a.peek(), b.peek()) {
            (None, None) => return Some(sum),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(a), Some(b)) => a.monomial.cmp(&b.monomial),
        };
        let left = if order.is_le() { a.next() } else { None };
        let right = if order.is_ge() { b.next() } else { None };
        let monomial = left.or(right)?.monomial;
        let right = right.map_or(Some(0), |right| right.coefficient.checked_mul(scale))?;
        let coefficient = left.map_or(0, |left| left.coefficient).checked_add(right)?;
        if coefficient != 0 {
            sum.push(Term { coefficient, monomial });
        }
    }
}

/// Sorts terms and adds up those of the same monomial; `None` on overflow.
pub(crate) fn collect(mut terms: Vec<Term>) -> Option<Terms> {
    terms.sort_unstable_by_key(|term| term.monomial);
    let mut sum = Terms::new();
    for term in terms {
        match sum.last_mut() {
            Some(last) if last.monomial == term.monomial => {
                last.coefficient = last.coefficient.checked_add(term.coefficient)?;
            }
            _ => sum.push(term),
        }
    }
    sum.retain(|term| term.coefficient != 0);
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

/// The greatest common divisor of all coefficients.
pub(crate) fn content(terms: &[Term]) -> u64 {
    terms.iter().fold(0, |common, term| gcd(common, term.coefficient.unsigned_abs()))
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

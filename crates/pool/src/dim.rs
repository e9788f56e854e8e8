//! Constants in the normal form of bundles: dims of tensors and other constant arguments.
//!
//! A constant is a polynomial with integer coefficients over *atoms*: symbols, variables, quotients,
//! remainders, minima and maxima. The normal form is the expanded polynomial: an integer plus distinct
//! monomials with non-zero coefficients, so equal polynomials are one type. Quotients and remainders are
//! folded if both operands are integers or if an integer divisor divides every coefficient.
//!
//! The unknown constant absorbs every operation: two unknown constants may differ, so they must not cancel.
//!
//! # Other forms of constants
//!
//! The polynomials are those of [`typeloom_dim::poly`]. The forms of quotients and minima differ from those
//! of [`typeloom_dim::Dims`] for a reason: digests are computed from the form here, and every reader of a
//! bundle has to compute the same ones, so this form is small and its rules are part of the format
//! (`docs/bundle-format.md`). `Dims` brings more quotients to a lowest form (`(2*n + 1)//2` is `n`) and may
//! add rules without a new format. `typeloom-interface` converts between the two, in one module (`dims`);
//! what `Dims` writes is in this form already.
//!
//! Terms have no such normal form: [`typeloom_term::normal`] only folds known values, with the operators of
//! Rust, because Rust compares constant expressions syntactically. The module `term` converts between the
//! two.
//!
//! **Invariant:** a [`Tag::DimSum`] is not a single monomial with coefficient 1; monomials are atoms or
//! products of at least two atoms; the children of commutative nodes are sorted by id inside a pool and by
//! digest in portable forms.

use smallvec::SmallVec;
use typeloom_dim::poly::{Term, Terms, collect, content, floor_of_quotient, merge};

use crate::error::PoolError;
use crate::pool::{Idx, Pool};
use crate::tag::{Sort, Tag};

/// Maximum number of terms or factors of one constant expression.
pub const MAX_TERMS: usize = 256;

/// The atoms of a product, sorted by id, with repetition. The empty product is that of the integer term,
/// which is the first term.
type Monomial = SmallVec<[u32; 4]>;
type Poly = Terms<Monomial>;

pub(crate) fn int_words(value: i64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

pub(crate) fn int_of(low: u32, high: u32) -> i64 {
    (u64::from(low) | u64::from(high) << 32) as i64
}

fn integer(value: i64) -> Poly {
    let term = Term { coefficient: value, monomial: Monomial::new() };
    std::iter::once(term).filter(|term| term.coefficient != 0).collect()
}

impl Pool {
    /// Interns an integer constant.
    ///
    /// # Errors
    /// If the pool is full.
    pub fn dim_const(&mut self, value: i64) -> Result<Idx, PoolError> {
        Ok(Idx::from_raw(self.intern_words(Tag::DimConst, &int_words(value))?))
    }

    /// Interns a named symbol, such as a batch size.
    ///
    /// # Errors
    /// If the name breaks the rules for names.
    pub fn dim_symbol(&mut self, name: &str) -> Result<Idx, PoolError> {
        let name = self.name(name)?;
        Ok(Idx::from_raw(self.intern_words(Tag::DimSymbol, &[name.0])?))
    }

    /// Interns the unknown constant.
    ///
    /// # Errors
    /// If the pool is full.
    pub fn dim_unknown(&mut self) -> Result<Idx, PoolError> {
        Ok(Idx::from_raw(self.intern_words(Tag::DimUnknown, &[])?))
    }

    /// Interns a sum of constants.
    ///
    /// # Errors
    /// If a child is not a constant of this pool, or the result is too large.
    pub fn dim_add(&mut self, terms: &[Idx]) -> Result<Idx, PoolError> {
        let mut words = vec![0, 0];
        for term in terms {
            words.extend([1, 0, term.number()]);
        }
        self.intern_dim(Tag::DimSum, &words).map(Idx::from_raw)
    }

    /// Interns a constant times an integer.
    ///
    /// # Errors
    /// If the child is not a constant of this pool, or the result is too large.
    pub fn dim_scale(&mut self, factor: i64, dim: Idx) -> Result<Idx, PoolError> {
        let [low, high] = int_words(factor);
        self.intern_dim(Tag::DimSum, &[0, 0, low, high, dim.number()]).map(Idx::from_raw)
    }

    /// Interns a product of constants.
    ///
    /// # Errors
    /// If a child is not a constant of this pool, or the result is too large.
    pub fn dim_mul(&mut self, factors: &[Idx]) -> Result<Idx, PoolError> {
        self.intern_operands(Tag::DimProduct, factors)
    }

    /// Interns a quotient rounded down.
    ///
    /// # Errors
    /// If a child is not a constant of this pool, or the divisor is zero.
    pub fn dim_floor_div(&mut self, dividend: Idx, divisor: Idx) -> Result<Idx, PoolError> {
        self.intern_operands(Tag::DimFloorDiv, &[dividend, divisor])
    }

    /// Interns the remainder of a quotient rounded down.
    ///
    /// # Errors
    /// If a child is not a constant of this pool, or the divisor is zero.
    pub fn dim_mod(&mut self, dividend: Idx, divisor: Idx) -> Result<Idx, PoolError> {
        self.intern_operands(Tag::DimMod, &[dividend, divisor])
    }

    /// Interns the minimum of at least one constant.
    ///
    /// # Errors
    /// If `dims` is empty, or a child is not a constant of this pool.
    pub fn dim_min(&mut self, dims: &[Idx]) -> Result<Idx, PoolError> {
        self.intern_operands(Tag::DimMin, dims)
    }

    /// Interns the maximum of at least one constant.
    ///
    /// # Errors
    /// If `dims` is empty, or a child is not a constant of this pool.
    pub fn dim_max(&mut self, dims: &[Idx]) -> Result<Idx, PoolError> {
        self.intern_operands(Tag::DimMax, dims)
    }

    fn intern_operands(&mut self, tag: Tag, operands: &[Idx]) -> Result<Idx, PoolError> {
        let words: Vec<u32> = operands.iter().map(|operand| operand.number()).collect();
        self.intern_dim(tag, &words).map(Idx::from_raw)
    }

    fn as_int(&self, dim: u32) -> Option<i64> {
        match (self.nodes[dim as usize].tag, self.words(dim)) {
            (Tag::DimConst, &[low, high]) => Some(int_of(low, high)),
            _ => None,
        }
    }

    fn factors(&self, monomial: u32) -> Monomial {
        match self.nodes[monomial as usize].tag {
            Tag::DimProduct => Monomial::from_slice(self.words(monomial)),
            _ => Monomial::from_slice(&[monomial]),
        }
    }

    fn poly(&self, dim: u32) -> Poly {
        let words = self.words(dim);
        match self.nodes[dim as usize].tag {
            Tag::DimConst => integer(int_of(words[0], words[1])),
            Tag::DimSum => {
                let mut poly = integer(int_of(words[0], words[1]));
                poly.extend(words[2..].chunks_exact(3).map(|term| Term {
                    coefficient: int_of(term[0], term[1]),
                    monomial: self.factors(term[2]),
                }));
                poly.sort_unstable_by(|a, b| a.monomial.cmp(&b.monomial));
                poly
            }
            _ => Poly::from_iter([Term { coefficient: 1, monomial: self.factors(dim) }]),
        }
    }

    fn intern_poly(&mut self, poly: &[Term<Monomial>]) -> Result<u32, PoolError> {
        let (int, poly) = match poly {
            [Term { coefficient, monomial }, rest @ ..] if monomial.is_empty() => (*coefficient, rest),
            _ => (0, poly),
        };
        if poly.len() > MAX_TERMS {
            return Err(PoolError::ConstTooLarge);
        }
        let mut terms = Vec::with_capacity(poly.len());
        for Term { coefficient, monomial } in poly {
            let id = match monomial[..] {
                [atom] => atom,
                _ => self.intern_words(Tag::DimProduct, monomial)?,
            };
            terms.push((id, *coefficient));
        }
        terms.sort_unstable();
        match *terms {
            [] => self.intern_words(Tag::DimConst, &int_words(int)),
            [(monomial, 1)] if int == 0 => Ok(monomial),
            _ => {
                let mut words = int_words(int).to_vec();
                for (id, coefficient) in terms {
                    words.extend(int_words(coefficient));
                    words.push(id);
                }
                self.intern_words(Tag::DimSum, &words)
            }
        }
    }

    /// The sum of an integer and multiples of constants, given as the words of a [`Tag::DimSum`].
    fn sum(&self, words: &[u32]) -> Result<Poly, PoolError> {
        let mut terms = integer(int_of(words[0], words[1])).into_vec();
        for multiple in words[2..].chunks_exact(3) {
            let scale = int_of(multiple[0], multiple[1]);
            for Term { coefficient, monomial } in self.poly(multiple[2]) {
                let coefficient = coefficient.checked_mul(scale).ok_or(PoolError::ConstOverflow)?;
                terms.push(Term { coefficient, monomial });
            }
        }
        collect(terms).ok_or(PoolError::ConstOverflow)
    }

    fn product(&self, factors: &[u32]) -> Result<Poly, PoolError> {
        let mut product = integer(1);
        for &factor in factors {
            let right = self.poly(factor);
            let mut next = Poly::new();
            for Term { coefficient, monomial } in &product {
                let mut row = right.to_vec();
                for term in &mut row {
                    term.monomial.extend_from_slice(monomial);
                    term.monomial.sort_unstable();
                    if term.monomial.len() > MAX_TERMS {
                        return Err(PoolError::ConstTooLarge);
                    }
                }
                // Products with one monomial are distinct, and may be in another order.
                row.sort_unstable_by(|a, b| a.monomial.cmp(&b.monomial));
                next = merge(&next, &row, *coefficient).ok_or(PoolError::ConstOverflow)?;
                if next.len() > MAX_TERMS + 1 {
                    return Err(PoolError::ConstTooLarge);
                }
            }
            product = next;
        }
        Ok(product)
    }

    /// Interns the normal form of a constant. Its children are in the pool, but in any order.
    pub(crate) fn intern_dim(&mut self, tag: Tag, words: &[u32]) -> Result<u32, PoolError> {
        // Sums and products may have any number of operands before normalization.
        let fits = match tag {
            Tag::DimSum => words.len() >= 2 && (words.len() - 2).is_multiple_of(3),
            Tag::DimProduct | Tag::DimMin | Tag::DimMax => true,
            _ => crate::layout::fixed_len(tag) == Some(words.len() as u32),
        };
        if !fits {
            return Err(PoolError::Layout { tag });
        }
        let mut children = Vec::new();
        let mut unknown = false;
        crate::layout::for_each_child(tag, words, |child| children.push(child));
        for &child in &children {
            let node = self.nodes.get(child as usize).filter(|_| child != 0);
            let node = node.ok_or(PoolError::UnknownType(Idx::from_raw(child.max(1))))?;
            unknown |= node.tag == Tag::DimUnknown;
            let found = self.sort(Idx::from_raw(child));
            if found != Sort::Const {
                return Err(PoolError::WrongSort { tag, expected: Sort::Const, found });
            }
        }
        if children.len() > MAX_TERMS {
            return Err(PoolError::ConstTooLarge);
        }
        if unknown {
            return self.intern_words(Tag::DimUnknown, &[]);
        }
        match tag {
            Tag::DimSum => {
                let sum = self.sum(words)?;
                self.intern_poly(&sum)
            }
            Tag::DimProduct => {
                let product = self.product(words)?;
                self.intern_poly(&product)
            }
            Tag::DimFloorDiv | Tag::DimMod => self.intern_division(tag, words[0], words[1]),
            Tag::DimMin | Tag::DimMax => self.intern_extreme(tag, &children),
            _ => self.intern_words(tag, words),
        }
    }

    /// Interns a quotient or a remainder.
    fn intern_division(&mut self, tag: Tag, dividend: u32, divisor: u32) -> Result<u32, PoolError> {
        let Some(by) = self.as_int(divisor) else { return self.intern_words(tag, &[dividend, divisor]) };
        if by == 0 {
            return Err(PoolError::DivisionByZero);
        }
        let floor = |a: i64| {
            let quotient = floor_of_quotient(a.into(), by.into());
            quotient.ok_or(PoolError::ConstOverflow)
        };
        let narrow = |value: i128| i64::try_from(value).map_err(|_| PoolError::ConstOverflow);
        let mut poly = self.poly(dividend);
        let is_multiple = content(&poly).is_multiple_of(by.unsigned_abs());
        match (tag, self.as_int(dividend)) {
            (Tag::DimFloorDiv, Some(int)) => self.dim_const(narrow(floor(int)?)?).map(Idx::number),
            (_, Some(int)) => {
                let rest = i128::from(int) - i128::from(by) * floor(int)?;
                self.dim_const(narrow(rest)?).map(Idx::number)
            }
            (Tag::DimFloorDiv, None) if is_multiple => {
                for term in &mut poly {
                    term.coefficient = narrow(floor(term.coefficient)?)?;
                }
                self.intern_poly(&poly)
            }
            (_, None) if is_multiple => self.intern_words(Tag::DimConst, &[0, 0]),
            (_, None) => self.intern_words(tag, &[dividend, divisor]),
        }
    }

    fn intern_extreme(&mut self, tag: Tag, dims: &[u32]) -> Result<u32, PoolError> {
        let mut int: Option<i64> = None;
        let mut others = Vec::new();
        // The operands are in normal form, so a nested minimum (or maximum) contains no further one.
        for &dim in dims {
            let nested = [dim];
            let parts = if self.nodes[dim as usize].tag == tag { self.words(dim) } else { &nested };
            for &part in parts {
                match self.as_int(part) {
                    Some(value) if tag == Tag::DimMin => int = Some(int.map_or(value, |i| i.min(value))),
                    Some(value) => int = Some(int.map_or(value, |i| i.max(value))),
                    None => others.push(part),
                }
            }
        }
        if let Some(value) = int {
            others.push(self.intern_words(Tag::DimConst, &int_words(value))?);
        }
        others.sort_unstable();
        others.dedup();
        if others.len() > MAX_TERMS {
            return Err(PoolError::ConstTooLarge);
        }
        match *others {
            [] => Err(PoolError::Layout { tag }),
            [only] => Ok(only),
            _ => self.intern_words(tag, &others),
        }
    }
}

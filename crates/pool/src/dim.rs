//! Constants in normal form: dims of tensors and other constant arguments.
//!
//! A constant is a polynomial with integer coefficients over *atoms*: symbols, variables, quotients,
//! remainders, minima and maxima. The normal form is the expanded polynomial: an integer plus distinct
//! monomials with non-zero coefficients, so equal polynomials are one type. Quotients and remainders are
//! folded if both operands are integers or if an integer divisor divides every coefficient.
//!
//! The unknown constant absorbs every operation: two unknown constants may differ, so they must not cancel.
//!
//! Terms have no such normal form: [`typeloom_term::normal`] only folds known values, because Rust compares
//! constant expressions syntactically. `term` converts between the two.
//!
//! **Invariant:** a [`Tag::DimSum`] is not a single monomial with coefficient 1; monomials are atoms or
//! products of at least two atoms; the children of commutative nodes are sorted by id inside a pool and by
//! digest in portable forms.

use std::collections::BTreeMap;

use crate::error::PoolError;
use crate::pool::{Idx, Pool};
use crate::tag::{Sort, Tag};

/// Maximum number of terms or factors of one constant expression.
pub const MAX_TERMS: usize = 256;

/// Coefficients by monomial (sorted atoms with repetition). The empty monomial is the integer term.
type Poly = BTreeMap<Vec<u32>, i64>;

pub(crate) fn int_words(value: i64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

pub(crate) fn int_of(low: u32, high: u32) -> i64 {
    (u64::from(low) | u64::from(high) << 32) as i64
}

fn add_term(poly: &mut Poly, monomial: Vec<u32>, coefficient: i64) -> Result<(), PoolError> {
    let slot = poly.entry(monomial).or_insert(0);
    *slot = slot.checked_add(coefficient).ok_or(PoolError::ConstOverflow)?;
    Ok(())
}

fn floor_div(a: i64, b: i64) -> Result<i64, PoolError> {
    let quotient = a.checked_div(b).ok_or(PoolError::ConstOverflow)?;
    Ok(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
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

    fn factors(&self, monomial: u32) -> Vec<u32> {
        match self.nodes[monomial as usize].tag {
            Tag::DimProduct => self.words(monomial).to_vec(),
            _ => vec![monomial],
        }
    }

    fn poly(&self, dim: u32) -> Poly {
        let words = self.words(dim);
        let mut poly = Poly::new();
        match self.nodes[dim as usize].tag {
            Tag::DimConst => {
                poly.insert(Vec::new(), int_of(words[0], words[1]));
            }
            Tag::DimSum => {
                poly.insert(Vec::new(), int_of(words[0], words[1]));
                for term in words[2..].chunks_exact(3) {
                    poly.insert(self.factors(term[2]), int_of(term[0], term[1]));
                }
            }
            _ => {
                poly.insert(self.factors(dim), 1);
            }
        }
        poly
    }

    fn intern_poly(&mut self, mut poly: Poly) -> Result<u32, PoolError> {
        let int = poly.remove(&Vec::new()).unwrap_or(0);
        poly.retain(|_, coefficient| *coefficient != 0);
        if poly.len() > MAX_TERMS {
            return Err(PoolError::ConstTooLarge);
        }
        let mut terms = Vec::with_capacity(poly.len());
        for (monomial, coefficient) in poly {
            let id = match *monomial {
                [atom] => atom,
                _ => self.intern_words(Tag::DimProduct, &monomial)?,
            };
            terms.push((id, coefficient));
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
                let mut sum = Poly::new();
                sum.insert(Vec::new(), int_of(words[0], words[1]));
                for term in words[2..].chunks_exact(3) {
                    let scale = int_of(term[0], term[1]);
                    for (monomial, coefficient) in self.poly(term[2]) {
                        let scaled = coefficient.checked_mul(scale).ok_or(PoolError::ConstOverflow)?;
                        add_term(&mut sum, monomial, scaled)?;
                    }
                }
                self.intern_poly(sum)
            }
            Tag::DimProduct => {
                let mut product = Poly::from([(Vec::new(), 1)]);
                for &factor in words {
                    let mut next = Poly::new();
                    for (left, a) in &product {
                        for (right, b) in self.poly(factor) {
                            let mut monomial = [&left[..], &right].concat();
                            monomial.sort_unstable();
                            if monomial.len() > MAX_TERMS {
                                return Err(PoolError::ConstTooLarge);
                            }
                            let scaled = a.checked_mul(b).ok_or(PoolError::ConstOverflow)?;
                            add_term(&mut next, monomial, scaled)?;
                            if next.len() > MAX_TERMS + 1 {
                                return Err(PoolError::ConstTooLarge);
                            }
                        }
                    }
                    next.retain(|_, coefficient| *coefficient != 0);
                    product = next;
                }
                self.intern_poly(product)
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
        let wide = i128::from(by);
        let mut poly = self.poly(dividend);
        let is_multiple = poly.values().all(|&c| i128::from(c) % wide == 0);
        match (tag, self.as_int(dividend)) {
            (Tag::DimFloorDiv, Some(int)) => {
                self.intern_words(Tag::DimConst, &int_words(floor_div(int, by)?))
            }
            (_, Some(int)) => {
                let rest = (i128::from(int) % wide + wide) % wide;
                let rest = i64::try_from(rest).map_err(|_| PoolError::ConstOverflow)?;
                self.intern_words(Tag::DimConst, &int_words(rest))
            }
            (Tag::DimFloorDiv, None) if is_multiple => {
                for coefficient in poly.values_mut() {
                    *coefficient = floor_div(*coefficient, by)?;
                }
                self.intern_poly(poly)
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

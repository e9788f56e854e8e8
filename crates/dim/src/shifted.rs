//! Bounds of sums of products, each atom counted from its least value.
//!
//! `(a + 1)*(b + 1)` is stored as `a*b + a + b + 1`. For `a, b >= -1` the intervals of its terms give no
//! bound, but with `a = x - 1` and `b = y - 1` the sum is `x*y`, whose terms are never negative. So each atom
//! with a known least value is replaced by that value plus a number from 0 on, and the sum is multiplied out.
//! If only the constant may be negative, it is a lower bound.
//!
//! Such atoms are the floors in models on images (`(height - 1)//32`).
//!
//! **Limit:** sums that multiply out to more than [`MAX_TERMS`] terms get no bound.

use smallvec::SmallVec;

use crate::arena::Dims;
use crate::id::DimId;
use crate::poly::Term;

/// Maximum number of terms of a multiplied-out sum.
const MAX_TERMS: usize = 64;

/// A product of the shifted atoms, sorted.
type Product = SmallVec<[DimId; 4]>;

impl Dims {
    /// A lower bound of `sign` times the sum, if some product has an atom that can be negative.
    pub(crate) fn shifted_low(&self, terms: &[Term], sign: i64) -> Option<i64> {
        let mut negative = false;
        for term in terms {
            let mut scratch = [DimId::ONE];
            let factors = self.factors_of(term.monomial, &mut scratch);
            negative |= factors.len() > 1 && factors.iter().any(|atom| self.summary(*atom).bounds.low < 0);
        }
        if !negative {
            return None;
        }
        let mut sum: Vec<(Product, i64)> = Vec::new();
        for term in terms {
            self.expand(*term, sign, &mut sum)?;
        }
        let mut low = 0;
        for (product, coefficient) in sum {
            match product.is_empty() {
                true => low = coefficient,
                false if coefficient < 0 => return None,
                false => {}
            }
        }
        Some(low)
    }

    /// Adds a term, multiplied out over the shifted atoms.
    fn expand(&self, term: Term, sign: i64, sum: &mut Vec<(Product, i64)>) -> Option<()> {
        let mut scratch = [DimId::ONE];
        let mut products = vec![(Product::new(), term.coefficient.checked_mul(sign)?)];
        if term.monomial != DimId::ONE {
            for &atom in self.factors_of(term.monomial, &mut scratch) {
                let low = self.summary(atom).bounds.low;
                if low == i64::MIN {
                    return None;
                }
                for at in 0..products.len() {
                    let (product, coefficient) = &mut products[at];
                    let rest = (product.clone(), coefficient.checked_mul(low)?);
                    product.push(atom);
                    if low != 0 {
                        products.push(rest);
                    }
                }
                if products.len() > MAX_TERMS {
                    return None;
                }
            }
        }
        for (product, coefficient) in products {
            match sum.iter_mut().find(|(known, _)| *known == product) {
                Some((_, known)) => *known = known.checked_add(coefficient)?,
                None => sum.push((product, coefficient)),
            }
        }
        (sum.len() <= MAX_TERMS).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Decision, Dims};

    #[test]
    fn a_product_of_extents_that_were_multiplied_out_is_never_negative() {
        let mut dims = Dims::new();
        let area = dims.parse("batch*((h - 1)//32 + 1)*((w - 1)//32 + 1)").unwrap();
        assert_eq!(dims.bounds(area), (Some(0), None));
        let minus_one = dims.constant(-1);
        assert_eq!(dims.compare(area, minus_one), Decision::Different);
        let less = dims.sub(minus_one, area);
        assert_eq!(dims.bounds(less), (None, Some(-1)));
    }

    #[test]
    fn a_negative_product_gets_no_bound_from_the_shift() {
        let mut dims = Dims::new();
        let difference = dims.parse("((h - 1)//32)*((w - 1)//32) - 1").unwrap();
        assert_eq!(dims.bounds(difference).0, None);
    }

    #[test]
    fn a_remainder_by_a_symbol_is_never_negative() {
        let mut dims = Dims::new();
        let remainder = dims.parse("3 % h").unwrap();
        assert_eq!(dims.bounds(remainder).0, Some(0));
    }
}

//! Amounts: numbers of bytes or operations, as polynomials over the symbols of a model.
//!
//! A [`DimId`] has coefficients of 64 bits and at most 64 terms. The work of a large model exceeds both, so an
//! amount stores its terms itself, with coefficients of 128 bits that saturate.

use std::collections::{BTreeSet, HashMap};

use typeloom_dim::{DimId, DimView, Dims};

/// A sum of multiples of products of extents.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Amount {
    constant: i128,
    /// Products with coefficients other than 0, sorted by product.
    terms: Vec<(DimId, i128)>,
    /// Whether terms beyond [`MAX_TERMS`] were left out.
    is_cut: bool,
}

/// Maximum number of terms, which bounds the time of a sum. A model with more unknown extents has no total.
const MAX_TERMS: usize = 512;

impl From<i128> for Amount {
    fn from(constant: i128) -> Self {
        Self { constant, ..Self::default() }
    }
}

impl Amount {
    /// An extent as an amount.
    pub fn of_dim(dims: &mut Dims, dim: DimId) -> Self {
        let dim = dims.resolve(dim);
        match dims.view(dim) {
            DimView::Constant(value) => Self::from(i128::from(value)),
            DimView::Sum(constant, terms) => {
                let mut terms: Vec<(DimId, i128)> =
                    terms.into_iter().map(|(factor, dim)| (dim, i128::from(factor))).collect();
                terms.sort_unstable_by_key(|(dim, _)| *dim);
                Self { constant: i128::from(constant), terms, is_cut: false }
            }
            DimView::Symbol
            | DimView::Variable
            | DimView::Product(_)
            | DimView::FloorDiv(..)
            | DimView::Min(_) => Self { terms: vec![(dim, 1)], ..Self::default() },
        }
    }

    /// The number, if no symbol decides it.
    #[must_use]
    pub fn as_number(&self) -> Option<i128> {
        (self.terms.is_empty() && !self.is_cut).then_some(self.constant)
    }

    /// Whether it is 0 for all values of the symbols.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.as_number() == Some(0)
    }

    /// Whether an extent in it is unknown, so it has no value for given symbols.
    #[must_use]
    pub fn is_unknown(&self, dims: &Dims) -> bool {
        self.is_cut || self.terms.iter().any(|(product, _)| dims.is_anonymous(*product))
    }

    /// The products of extents in it.
    pub(crate) fn products(&self) -> impl Iterator<Item = (DimId, i128)> {
        self.terms.iter().copied()
    }

    pub(crate) fn constant(&self) -> i128 {
        self.constant
    }

    /// Adds a multiple of another amount.
    pub fn add(&mut self, other: &Self, factor: i128) {
        self.constant = self.constant.saturating_add(other.constant.saturating_mul(factor));
        self.is_cut |= other.is_cut;
        if other.terms.is_empty() {
            return;
        }
        let (mut left, mut right) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some((a, _)), Some((b, _))) => a.cmp(b),
            };
            let a = if order.is_le() { left.next() } else { None };
            let b = if order.is_ge() { right.next() } else { None };
            let Some((product, _)) = a.or(b) else { break };
            let own = a.map_or(0, |(_, coefficient)| *coefficient);
            let added = b.map_or(0, |(_, coefficient)| coefficient.saturating_mul(factor));
            let sum = own.saturating_add(added);
            if sum != 0 {
                terms.push((*product, sum));
            }
        }
        self.is_cut |= terms.len() > MAX_TERMS;
        terms.truncate(MAX_TERMS);
        self.terms = terms;
    }

    /// The sum of two amounts.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        sum.add(other, 1);
        sum
    }

    /// A multiple.
    #[must_use]
    pub fn scaled(&self, factor: i128) -> Self {
        let mut scaled = Self::default();
        scaled.add(self, factor);
        scaled
    }

    /// The product with an extent.
    #[must_use]
    pub fn times(&self, dims: &mut Dims, factor: DimId) -> Self {
        let mut product = Self::of_dim(dims, factor).scaled(self.constant);
        product.is_cut |= self.is_cut;
        for (monomial, coefficient) in &self.terms {
            let part = dims.mul(*monomial, factor);
            product.add(&Self::of_dim(dims, part), *coefficient);
        }
        product
    }

    /// Whether each coefficient is at least that of the other amount. Then this amount is at least as large
    /// for all values, because extents are not negative.
    #[must_use]
    pub fn dominates(&self, other: &Self) -> bool {
        if self.constant < other.constant {
            return false;
        }
        let mut own = self.terms.iter().peekable();
        for (product, coefficient) in &other.terms {
            // A product that only this amount has.
            while let Some((_, extra)) = own.next_if(|(mine, _)| mine < product) {
                if *extra < 0 {
                    return false;
                }
            }
            let mine = own.next_if(|(mine, _)| mine == product).map_or(0, |(_, mine)| *mine);
            if mine < *coefficient {
                return false;
            }
        }
        own.all(|(_, extra)| *extra >= 0)
    }

    /// The least amount that dominates both.
    #[must_use]
    pub fn bound(&self, other: &Self) -> Self {
        let products: BTreeSet<DimId> = self.terms.iter().chain(&other.terms).map(|(it, _)| *it).collect();
        let of = |amount: &Self, product: DimId| {
            let at = amount.terms.binary_search_by_key(&product, |(it, _)| *it);
            at.map_or(0, |at| amount.terms[at].1)
        };
        let terms = products.into_iter().map(|it| (it, of(self, it).max(of(other, it))));
        let terms = terms.filter(|(_, coefficient)| *coefficient != 0).collect();
        Self { constant: self.constant.max(other.constant), terms, is_cut: self.is_cut || other.is_cut }
    }

    /// The value for values of the symbols; `None` if one is missing or the number overflows.
    #[must_use]
    pub fn evaluate(&self, dims: &Dims, values: &[(DimId, i64)]) -> Option<i128> {
        if self.is_cut {
            return None;
        }
        self.terms.iter().try_fold(self.constant, |sum, (product, coefficient)| {
            let value = i128::from(dims.evaluate(*product, values)?);
            sum.checked_add(value.checked_mul(*coefficient)?)
        })
    }

    /// The symbols that decide it.
    #[must_use]
    pub fn symbols(&self, dims: &Dims) -> BTreeSet<DimId> {
        self.terms.iter().flat_map(|(product, _)| dims.symbols_of(*product)).collect()
    }

    /// The amount as text, in the notation of extents.
    pub fn text(&self, dims: &mut Dims) -> String {
        const MAX_SHOWN: usize = 24;
        if let Some(number) = self.as_number() {
            return number.to_string();
        }
        let narrow =
            |(product, coefficient): &(DimId, i128)| Some((i64::try_from(*coefficient).ok()?, *product));
        let terms: Option<Vec<(i64, DimId)>> = self.terms.iter().map(narrow).collect();
        if let (Some(terms), Ok(constant)) = (&terms, i64::try_from(self.constant))
            && terms.len() <= MAX_SHOWN
            && !self.is_cut
        {
            let dim = dims.combination(constant, terms);
            return dims.display(dim).to_string();
        }
        // Beyond the limits of a dim, the terms are written one after the other.
        let mut text = String::new();
        for (product, coefficient) in self.terms.iter().take(MAX_SHOWN) {
            let sign = match (text.is_empty(), *coefficient < 0) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            text.push_str(&format!("{sign}{}*({})", coefficient.unsigned_abs(), dims.display(*product)));
        }
        match self.terms.len().checked_sub(MAX_SHOWN) {
            _ if self.is_cut => text.push_str(" + (more terms)"),
            Some(rest) if rest > 0 => text.push_str(&format!(" + ({rest} more terms)")),
            Some(_) | None => {}
        }
        match self.constant {
            0 => {}
            constant if constant < 0 => text.push_str(&format!(" - {}", constant.unsigned_abs())),
            constant => text.push_str(&format!(" + {constant}")),
        }
        text
    }
}

/// Numbers to sort amounts by: their values at 64 for each symbol and unknown extent. Products of extents are
/// evaluated once.
#[derive(Debug, Default)]
pub struct Magnitudes {
    products: HashMap<DimId, i128>,
}

impl Magnitudes {
    /// The number of an amount, 0 if that is negative.
    pub fn of(&mut self, dims: &Dims, amount: &Amount) -> u128 {
        let value = amount.products().fold(amount.constant, |sum, (product, coefficient)| {
            let value = self.products.entry(product).or_insert_with(|| {
                let mut leaves = dims.symbols_of(product);
                leaves.extend(dims.variables_of(product));
                let values: Vec<(DimId, i64)> = leaves.into_iter().map(|leaf| (leaf, 64)).collect();
                i128::from(dims.evaluate(product, &values).unwrap_or(0))
            });
            sum.saturating_add(value.saturating_mul(coefficient))
        });
        u128::try_from(value).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(dims: &mut Dims, text: &str) -> Amount {
        let dim = dims.parse(text).expect("it is a dim");
        Amount::of_dim(dims, dim)
    }

    #[test]
    fn arithmetic_is_that_of_polynomials() {
        let mut dims = Dims::new();
        let (a, b) = (amount(&mut dims, "3*n*m + n + 2"), amount(&mut dims, "n*m - n"));
        let (sum, expected) = (a.plus(&b.scaled(2)), amount(&mut dims, "5*n*m - n + 2"));
        assert_eq!(sum, expected);
        let n = dims.symbol("n");
        assert_eq!(b.times(&mut dims, n), amount(&mut dims, "n*n*m - n*n"));
        let m = dims.symbol("m");
        assert_eq!(sum.evaluate(&dims, &[(n, 2), (m, 3)]), Some(30));
        assert_eq!(sum.evaluate(&dims, &[(n, 2)]), None);
        assert_eq!(sum.plus(&expected.scaled(-1)), Amount::default());
    }

    #[test]
    fn domination_compares_coefficients() {
        let mut dims = Dims::new();
        let [a, b, c, d] = ["2*n + m", "n + m", "n + 2*m + 1", "n - k"].map(|it| amount(&mut dims, it));
        assert!(a.dominates(&b) && !b.dominates(&a) && !a.dominates(&c) && !c.dominates(&a));
        assert!(!d.dominates(&Amount::default()) && b.dominates(&d));
        let bound = a.bound(&c);
        assert!(bound.dominates(&a) && bound.dominates(&c));
        assert_eq!(bound, amount(&mut dims, "2*n + 2*m + 1"));
    }

    #[test]
    fn the_number_of_terms_is_bounded() {
        let mut dims = Dims::new();
        let mut sum = Amount::default();
        for _ in 0..2 * MAX_TERMS {
            let unknown = dims.fresh();
            sum.add(&Amount::of_dim(&mut dims, unknown), 3);
        }
        assert!(sum.is_unknown(&dims) && sum.evaluate(&dims, &[]).is_none());
        assert!(sum.products().count() == MAX_TERMS && sum.text(&mut dims).ends_with("(more terms)"));
    }

    #[test]
    fn large_coefficients_have_a_text() {
        let mut dims = Dims::new();
        let huge = amount(&mut dims, "n").scaled(i128::from(i64::MAX) * 4);
        assert_eq!(huge.text(&mut dims), "36893488147419103228*(n)");
        assert_eq!(huge.scaled(i128::MAX).scaled(i128::MAX).text(&mut dims), format!("{}*(n)", i128::MAX));
    }
}

//! Hash-consing: one node for each content, with its cached properties; `None` beyond the limits.

use crate::arena::{Dims, Kind, MAX_ARGUMENTS, MAX_DEGREE, MAX_NESTING, MAX_SIZE, MAX_TERMS, Summary};
use crate::bounds::Interval;
use crate::id::DimId;
use crate::poly::Term;

impl Dims {
    /// The sum of terms that are sorted by monomial, distinct, and without a zero coefficient. `None` if it
    /// is beyond the limits.
    pub(crate) fn intern_sum(&mut self, terms: &[Term]) -> Option<DimId> {
        match terms {
            [] => return Some(DimId::ZERO),
            [term] if term.monomial == DimId::ONE => return Some(self.constant(term.coefficient)),
            [Term { coefficient: 1, monomial }] => return Some(*monomial),
            _ => {}
        }
        debug_assert!(terms.is_sorted_by(|a, b| a.monomial < b.monomial), "terms are sorted and distinct");
        self.count_work(terms.len());
        let words =
            terms.iter().map(|term| term.monomial.word().rotate_left(32) ^ term.coefficient.cast_unsigned());
        let hash = self.hash(1, words);
        if let Some(found) =
            self.find(hash, |dims, kind| matches!(kind, Kind::Sum(span) if dims.sum_terms(*span) == terms))
        {
            return Some(found);
        }
        if terms.len() > MAX_TERMS || terms.iter().any(|term| term.coefficient == i64::MIN) {
            return None;
        }
        let mut summary = Summary::leaf(Interval::point(0), 0, false);
        for term in terms {
            summary.degree = summary.degree.max(self.summary(term.monomial).degree);
        }
        self.absorb(&mut summary, terms.iter().map(|term| term.monomial), 0)?;
        summary.bounds = self.bounds_of_terms(terms);
        if let Some(value) = summary.bounds.single() {
            return Some(self.constant(value));
        }
        let span = self.push_terms(terms);
        Some(self.push(Kind::Sum(span), summary, hash))
    }

    /// The product of atoms that are sorted by id. `None` if it is beyond the limits.
    pub(crate) fn intern_product(&mut self, factors: &[DimId]) -> Option<DimId> {
        match factors {
            [] => return Some(DimId::ONE),
            [atom] => return Some(*atom),
            _ => {}
        }
        debug_assert!(factors.is_sorted(), "factors are sorted");
        self.count_work(1);
        let hash = self.hash(2, factors.iter().map(|factor| factor.word()));
        if let Some(found) =
            self.find(hash, |dims, kind| matches!(kind, Kind::Product(span) if dims.list(*span) == factors))
        {
            return Some(found);
        }
        if factors.len() > MAX_DEGREE {
            return None;
        }
        let mut summary = Summary::leaf(self.bounds_of_factors(factors), 0, false);
        summary.degree = u8::try_from(factors.len()).ok()?;
        self.absorb(&mut summary, factors.iter().copied(), 0)?;
        let span = self.push_list(factors);
        Some(self.push(Kind::Product(span), summary, hash))
    }

    /// The floor of a quotient that is already in lowest form. `None` if it is beyond the limits.
    pub(crate) fn intern_floor(&mut self, numerator: DimId, denominator: DimId) -> Option<DimId> {
        self.count_work(1);
        let hash = self.hash(3, [numerator.word(), denominator.word()]);
        let same = |_: &Self, kind: &Kind| matches!(kind, Kind::Floor { numerator: n, denominator: d } if *n == numerator && *d == denominator);
        if let Some(found) = self.find(hash, same) {
            return Some(found);
        }
        let bounds = self.summary(numerator).bounds.floor_div(self.summary(denominator).bounds);
        if let Some(value) = bounds.single() {
            return Some(self.constant(value));
        }
        let mut summary = Summary::leaf(bounds, 1, false);
        self.absorb(&mut summary, [numerator, denominator], 1)?;
        Some(self.push(Kind::Floor { numerator, denominator }, summary, hash))
    }

    /// The minimum of at least two dims that are sorted by id and in lowest form. `None` if it is beyond the
    /// limits.
    pub(crate) fn intern_min(&mut self, arguments: &[DimId]) -> Option<DimId> {
        debug_assert!(arguments.len() > 1 && arguments.is_sorted(), "arguments are sorted");
        let hash = self.hash(4, arguments.iter().map(|argument| argument.word()));
        if let Some(found) =
            self.find(hash, |dims, kind| matches!(kind, Kind::Min(span) if dims.list(*span) == arguments))
        {
            return Some(found);
        }
        if arguments.len() > MAX_ARGUMENTS {
            return None;
        }
        let bounds = arguments.iter().map(|&argument| self.summary(argument).bounds).reduce(Interval::min)?;
        if let Some(value) = bounds.single() {
            return Some(self.constant(value));
        }
        let mut summary = Summary::leaf(bounds, 1, false);
        self.absorb(&mut summary, arguments.iter().copied(), 1)?;
        let span = self.push_list(arguments);
        Some(self.push(Kind::Min(span), summary, hash))
    }

    /// Adds the sizes, the nesting and the mention of variables of `parts`; `None` beyond the limits.
    fn absorb(
        &self,
        summary: &mut Summary,
        parts: impl IntoIterator<Item = DimId>,
        levels: u8,
    ) -> Option<()> {
        let mut size = 0usize;
        for part in parts {
            let part = self.summary(part);
            size += usize::from(part.size);
            summary.nesting = summary.nesting.max(part.nesting + levels);
            summary.variable |= part.variable;
        }
        summary.size = u16::try_from(size).ok().filter(|_| size <= MAX_SIZE)?;
        (summary.nesting <= MAX_NESTING).then_some(())
    }
}

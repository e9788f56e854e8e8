//! The maximum of many amounts, as few candidates.
//!
//! The peak of a run is the maximum over its steps of the live bytes, which are polynomials. Most of them are
//! at most another one for all values of the symbols: all coefficients are at most those of the other one.
//! Comparing each pair takes quadratic time. Instead, the first pass evaluates each amount at a few points,
//! and keeps the largest one for each point. The second pass compares each amount with the candidates, and
//! adds it if none of them dominates it for symbols from 1 on: both are written as polynomials in `s - 1` for
//! each symbol `s`, and their coefficients are compared. A difference of such polynomials without a negative
//! coefficient is not negative (a shift of variables, as for positive polynomials on an orthant).
//!
//! **Cost:** linear in the number of amounts: at most 8 comparisons for each. Of more
//! candidates, the last is replaced by a bound of both, and the result is an upper bound.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use typeloom_dim::{DimId, Dims};

use crate::amount::{Amount, Magnitudes};

/// Maximum number of candidates.
const MAX_CANDIDATES: usize = 8;

/// Values of the symbols at a point: all the same, or one large and the others small.
const POINTS: usize = 8;

/// Evaluates amounts at fixed points.
struct Points {
    /// The positions of symbols and unknown extents, in the order of their first use.
    leaves: BTreeMap<DimId, usize>,
    products: BTreeMap<DimId, [f64; POINTS]>,
}

impl Points {
    /// The value of a symbol at a point.
    fn leaf(position: usize, point: usize) -> i64 {
        match point {
            0 => 1,
            1 => 64,
            2 => 4096,
            // One of the symbols is large.
            _ if position % (POINTS - 3) == point - 3 => 4096,
            _ => 3,
        }
    }

    fn product(&mut self, dims: &Dims, product: DimId) -> [f64; POINTS] {
        if let Some(known) = self.products.get(&product) {
            return *known;
        }
        let mut leaves = dims.symbols_of(product);
        leaves.extend(dims.variables_of(product));
        let count = self.leaves.len();
        for (at, leaf) in leaves.iter().enumerate() {
            self.leaves.entry(*leaf).or_insert(count + at);
        }
        let values = std::array::from_fn(|point| {
            let values: Vec<(DimId, i64)> =
                leaves.iter().map(|leaf| (*leaf, Self::leaf(self.leaves[leaf], point))).collect();
            dims.evaluate(product, &values).map_or(0.0, |value| value as f64)
        });
        self.products.insert(product, values);
        values
    }

    fn amount(&mut self, dims: &Dims, amount: &Amount) -> [f64; POINTS] {
        let mut sums = [amount.constant() as f64; POINTS];
        for (product, coefficient) in amount.products() {
            let values = self.product(dims, product);
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += coefficient as f64 * value;
            }
        }
        sums
    }
}

/// An amount and where it occurs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate<T> {
    /// The amount.
    pub amount: Amount,
    /// The first place with the amount.
    pub at: T,
}

/// The maximum of amounts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Maximum<T> {
    /// The amounts of which the largest is the maximum; none dominates another one.
    pub candidates: Vec<Candidate<T>>,
    /// Whether the maximum can be smaller than the largest candidate, which then is a bound.
    pub is_bound: bool,
}

impl<T> Default for Maximum<T> {
    fn default() -> Self {
        Self { candidates: Vec::new(), is_bound: false }
    }
}

impl<T: Copy> Maximum<T> {
    /// The maximum of the amounts that `walk` passes to its argument. `walk` is called twice, with the same
    /// amounts.
    pub(crate) fn of(
        dims: &mut Dims,
        mut walk: impl FnMut(&mut Dims, &mut dyn FnMut(&mut Dims, &Amount, T)),
    ) -> Self {
        let mut points = Points { leaves: BTreeMap::new(), products: BTreeMap::new() };
        let mut best: [Option<(f64, Candidate<T>)>; POINTS] = std::array::from_fn(|_| None);
        walk(dims, &mut |dims, amount, at| {
            let values = points.amount(dims, amount);
            for (best, value) in best.iter_mut().zip(values) {
                if best.as_ref().is_none_or(|(most, _)| value > *most) {
                    *best = Some((value, Candidate { amount: amount.clone(), at }));
                }
            }
        });
        let mut maximum = Self::default();
        let mut shifts = Shifts::default();
        for (_, Candidate { amount, at }) in best.into_iter().flatten() {
            maximum.insert(dims, &mut shifts, &amount, at);
        }
        walk(dims, &mut |dims, amount, at| maximum.insert(dims, &mut shifts, amount, at));
        let mut magnitudes = Magnitudes::default();
        maximum.candidates.sort_by_cached_key(|it| Reverse(magnitudes.of(dims, &it.amount)));
        maximum
    }

    /// Adds an amount, unless a candidate dominates it.
    fn insert(&mut self, dims: &mut Dims, shifts: &mut Shifts, amount: &Amount, at: T) {
        if self.candidates.iter().any(|candidate| candidate.amount.dominates(amount)) {
            return;
        }
        let shifted = shifts.amount(dims, amount);
        let known = shifts.candidates.iter();
        if known.clone().any(|candidate| candidate.dominates(&shifted)) {
            return;
        }
        let is_kept: Vec<bool> = known.map(|candidate| !shifted.dominates(candidate)).collect();
        let mut kept = is_kept.iter();
        self.candidates.retain(|_| kept.next() == Some(&true));
        let mut kept = is_kept.iter();
        shifts.candidates.retain(|_| kept.next() == Some(&true));
        if self.candidates.len() < MAX_CANDIDATES {
            self.candidates.push(Candidate { amount: amount.clone(), at });
            shifts.candidates.push(shifted);
        } else if let Some(last) = self.candidates.last_mut() {
            last.amount = last.amount.bound(amount);
            self.is_bound = true;
            let shifted = shifts.amount(dims, &last.amount);
            shifts.candidates.pop();
            shifts.candidates.push(shifted);
        }
    }
}

/// Amounts in terms of `s - 1` instead of each symbol `s`.
#[derive(Default)]
struct Shifts {
    products: BTreeMap<DimId, Amount>,
    /// The candidates.
    candidates: Vec<Amount>,
}

impl Shifts {
    fn amount(&mut self, dims: &mut Dims, amount: &Amount) -> Amount {
        let mut shifted = Amount::from(amount.constant());
        for (product, coefficient) in amount.products() {
            let known = self.products.entry(product).or_insert_with(|| {
                let symbols = dims.symbols_of(product);
                let next = symbols.into_iter().map(|symbol| (symbol, dims.add(symbol, DimId::ONE)));
                let next: Vec<(DimId, DimId)> = next.collect();
                let product = dims.substitute(product, &next);
                Amount::of_dim(dims, product)
            });
            shifted.add(known, coefficient);
        }
        shifted
    }
}

impl<T> Maximum<T> {
    /// The maximum as text: one amount, or `max(a, b)`.
    pub fn text(&self, dims: &mut Dims) -> String {
        let texts: Vec<String> = self.candidates.iter().map(|it| it.amount.text(dims)).collect();
        match &texts[..] {
            [] => "0".to_owned(),
            [one] => one.clone(),
            several => format!("max({})", several.join(", ")),
        }
    }

    /// The number, if no symbol decides it.
    #[must_use]
    pub fn as_number(&self) -> Option<i128> {
        self.candidates.iter().try_fold(0, |most, it| Some(it.amount.as_number()?.max(most)))
    }

    /// The value for values of the symbols; `None` if one is missing or the number overflows.
    #[must_use]
    pub fn evaluate(&self, dims: &Dims, values: &[(DimId, i64)]) -> Option<i128> {
        self.candidates.iter().try_fold(0, |most, it| Some(it.amount.evaluate(dims, values)?.max(most)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maximum(dims: &mut Dims, texts: &[&str]) -> Maximum<usize> {
        let amounts: Vec<Amount> = texts
            .iter()
            .map(|text| {
                let dim = dims.parse(text).expect("it is a dim");
                Amount::of_dim(dims, dim)
            })
            .collect();
        Maximum::of(dims, |dims, visit| {
            for (at, amount) in amounts.iter().enumerate() {
                visit(dims, amount, at);
            }
        })
    }

    #[test]
    fn dominated_amounts_are_no_candidates() {
        let mut dims = Dims::new();
        let found = maximum(&mut dims, &["n", "n*m + n", "n*m", "2*n", "2*n + k", "n*m + n"]);
        assert_eq!(found.text(&mut dims), "max(n*(m + 1), 2*n + k)");
        // `n*m` is at least `n` for `m` from 1 on.
        assert_eq!(maximum(&mut dims, &["n*m + 2", "n + 2"]).text(&mut dims), "n*m + 2");
        assert!(!found.is_bound);
        assert_eq!(found.candidates[0].at, 1);
        let [n, m, k] = ["n", "m", "k"].map(|name| dims.symbol(name));
        assert_eq!(found.evaluate(&dims, &[(n, 5), (m, 0), (k, 9)]), Some(19));
        assert_eq!(found.evaluate(&dims, &[(n, 5), (m, 4), (k, 9)]), Some(25));
    }

    #[test]
    fn more_candidates_than_the_limit_become_a_bound() {
        let mut dims = Dims::new();
        let texts: Vec<String> = (0..40).map(|at| format!("s{at}")).collect();
        let found = maximum(&mut dims, &texts.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(found.is_bound && found.candidates.len() == MAX_CANDIDATES);
        let values: Vec<(DimId, i64)> = texts.iter().map(|name| (dims.symbol(name), 7)).collect();
        assert!(found.evaluate(&dims, &values).is_some_and(|value| value >= 7));
    }
}

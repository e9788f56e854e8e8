//! Reductions of floats, accumulated in `f64` partial results so that loops vectorise.

use super::Reduction;
use crate::element::Real;

/// Number of partial results of a row, and number of adjacent rows that are reduced together.
const LANES: usize = 16;

/// Sums a function of the elements of a row.
#[inline(always)]
fn sum<T: Real>(row: &[T], each: impl Fn(f64) -> f64) -> f64 {
    let mut partial = [0.0; LANES];
    let (groups, rest) = row.as_chunks::<LANES>();
    for group in groups {
        for (partial, value) in partial.iter_mut().zip(group) {
            *partial += each(T::to_f64(*value));
        }
    }
    for (partial, value) in partial.iter_mut().zip(rest) {
        *partial += each(T::to_f64(*value));
    }
    join(partial, |a, b| a + b)
}

/// Joins partial results pairwise.
#[inline(always)]
fn join<A: Copy>(mut partial: [A; LANES], each: impl Fn(A, A) -> A) -> A {
    let mut half = LANES / 2;
    while half > 0 {
        for at in 0..half {
            partial[at] = each(partial[at], partial[at + half]);
        }
        half /= 2;
    }
    partial[0]
}

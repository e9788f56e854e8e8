//! Reductions of floats over the middle of three axes, in partial results so that the loops vectorise.
//!
//! Sums accumulate in `f64`. A row along the last axis is reduced in a fixed number of partial results;
//! otherwise the elements of adjacent rows are reduced together, element by element of the axis.
//!
//! Plain form: `row` in `ops::reduce`, which reduces integers.

use crate::element::{Number, Real, vectorised};
use crate::fast::threads;
use crate::ops::reduce::{BLOCK, Blocks, Reduction, part};

/// Number of partial results of a row.
const LANES: usize = 16;

/// Reduces `[outer, extent, inner]` to `[outer, inner]`. No extent is 0.
pub(crate) fn reduce<T: Real>(data: &[T], extent: usize, inner: usize, kind: Reduction, out: &mut [T]) {
    let each = |at: usize, out: &mut [T]| {
        vectorised::<T, _>(
            #[inline(always)]
            || {
                if inner == 1 {
                    for (out, row) in out.iter_mut().zip(data[at * extent..].chunks_exact(extent)) {
                        *out = along_row(row, kind);
                    }
                } else {
                    for (elements, out) in Blocks::new(at, out, extent, inner) {
                        let data = &data[elements];
                        for (block, out) in out.chunks_mut(BLOCK).enumerate() {
                            across_rows(&data[block * BLOCK..], inner, kind, out);
                        }
                    }
                }
            },
        );
    };
    threads::in_parts(out, part(extent, inner), &each);
}

#[inline(always)]
fn absolute(value: f64) -> f64 {
    value.abs()
}

#[inline(always)]
fn square(value: f64) -> f64 {
    value * value
}

#[inline(always)]
fn along_row<T: Real>(row: &[T], kind: Reduction) -> T {
    let value = match kind {
        Reduction::Max => return fold(row, T::LOWEST, Number::max_of),
        Reduction::Min => return fold(row, T::HIGHEST, Number::min_of),
        Reduction::Prod => return fold(row, T::ONE, Number::times),
        Reduction::Sum => sum(row, |value| value),
        Reduction::Mean => sum(row, |value| value) / row.len() as f64,
        Reduction::L1 => sum(row, absolute),
        Reduction::L2 => sum(row, square).sqrt(),
        Reduction::SumSquare => sum(row, square),
        Reduction::LogSum => sum(row, |value| value).ln(),
        Reduction::LogSumExp => {
            let most = fold(row, T::LOWEST, Number::max_of);
            // The general formula does not apply: `inf - inf` is NaN.
            if !most.is_finite() {
                return most;
            }
            let most = Number::to_f64(most);
            most + sum(row, |value| T::wide_exponential(value - most)).ln()
        }
    };
    T::from_f64(value)
}

/// Sums a function of the elements of a row.
#[inline(always)]
fn sum<T: Real>(row: &[T], each: impl Fn(f64) -> f64) -> f64 {
    let mut partial = [0.0; LANES];
    let (groups, rest) = row.as_chunks::<LANES>();
    // New arrays, because loops over two iterators are not always unrolled in a large function.
    for group in groups {
        partial = std::array::from_fn(
            #[inline(always)]
            |at| partial[at] + each(Number::to_f64(group[at])),
        );
    }
    for (partial, value) in partial.iter_mut().zip(rest) {
        *partial += each(Number::to_f64(*value));
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

/// Folds a row in partial results, which are then joined pairwise.
#[inline(always)]
pub(crate) fn fold_with<T: Real>(
    row: &[T],
    first: T,
    each: impl Fn(T, T) -> T,
    both: impl Fn(T, T) -> T,
) -> T {
    let mut partial = [first; LANES];
    let (groups, rest) = row.as_chunks::<LANES>();
    for group in groups {
        partial = std::array::from_fn(
            #[inline(always)]
            |at| each(partial[at], group[at]),
        );
    }
    for (partial, value) in partial.iter_mut().zip(rest) {
        *partial = each(*partial, *value);
    }
    join(partial, both)
}

/// As [`fold_with`], if results are joined as elements are.
#[inline(always)]
pub(crate) fn fold<T: Real>(row: &[T], first: T, each: impl Fn(T, T) -> T + Copy) -> T {
    fold_with(row, first, each, each)
}

/// Reduces at most [`BLOCK`] adjacent rows, whose elements follow at a distance of `inner`.
#[inline(always)]
fn across_rows<T: Real>(data: &[T], inner: usize, kind: Reduction, out: &mut [T]) {
    match kind {
        Reduction::Max => fold_rows(data, inner, T::LOWEST, out, Number::max_of),
        Reduction::Min => fold_rows(data, inner, T::HIGHEST, out, Number::min_of),
        Reduction::Prod => fold_rows(data, inner, T::ONE, out, Number::times),
        Reduction::Sum => sum_rows(data, inner, out, |_, value| value, |sum, _| sum),
        Reduction::Mean => sum_rows(data, inner, out, |_, value| value, |sum, extent| sum / extent as f64),
        Reduction::L1 => sum_rows(data, inner, out, |_, value| absolute(value), |sum, _| sum),
        Reduction::L2 => sum_rows(data, inner, out, |_, value| square(value), |sum, _| sum.sqrt()),
        Reduction::SumSquare => sum_rows(data, inner, out, |_, value| square(value), |sum, _| sum),
        Reduction::LogSum => sum_rows(data, inner, out, |_, value| value, |sum, _| sum.ln()),
        Reduction::LogSumExp => {
            let mut most = [T::LOWEST; BLOCK];
            let most = &mut most[..out.len()];
            fold_rows(data, inner, T::LOWEST, most, Number::max_of);
            let power = |at: usize, value| T::wide_exponential(value - Number::to_f64(most[at]));
            sum_rows(data, inner, out, power, |sum, _| sum.ln());
            for (out, most) in out.iter_mut().zip(most) {
                *out = if most.is_finite() { *most + *out } else { *most };
            }
        }
    }
}

#[inline(always)]
fn fold_rows<T: Real>(data: &[T], inner: usize, first: T, out: &mut [T], each: impl Fn(T, T) -> T) {
    let mut partial = [first; BLOCK];
    let partial = &mut partial[..out.len()];
    for line in data.chunks(inner) {
        for (partial, value) in partial.iter_mut().zip(line) {
            *partial = each(*partial, *value);
        }
    }
    out.copy_from_slice(partial);
}

#[inline(always)]
fn sum_rows<T: Real>(
    data: &[T],
    inner: usize,
    out: &mut [T],
    each: impl Fn(usize, f64) -> f64,
    finish: impl Fn(f64, usize) -> f64,
) {
    let mut sums = [0.0; BLOCK];
    let sums = &mut sums[..out.len()];
    let mut extent = 0;
    for line in data.chunks(inner) {
        extent += 1;
        for (at, (sum, value)) in sums.iter_mut().zip(line).enumerate() {
            *sum += each(at, Number::to_f64(*value));
        }
    }
    for (out, sum) in out.iter_mut().zip(sums) {
        *out = T::from_f64(finish(*sum, extent));
    }
}

/// Mean of the squares of a row.
#[inline(always)]
pub(crate) fn mean_square<T: Real>(row: &[T]) -> f64 {
    sum(row, square) / row.len() as f64
}

/// Mean and variance of a row.
#[inline(always)]
pub(crate) fn moments<T: Real>(row: &[T]) -> (f64, f64) {
    let mean = sum(row, |value| value) / row.len() as f64;
    let variance = sum(row, |value| square(value - mean)) / row.len() as f64;
    (mean, variance)
}

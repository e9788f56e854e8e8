//! Vector-matrix products. Each matrix element is used once, so nothing is packed.

use pulp::{Arch, Simd, WithSimd};

use super::MIN_PARALLEL;
use super::lane::Lane;
use crate::threads;

/// Largest number of columns that are accumulated together.
const BLOCK: usize = 1024;

/// Smallest number of columns of a task.
const MIN_BLOCK: usize = 64;

/// Number of accumulator vectors of a dot product.
const SUMS: usize = 4;

/// `row * matrix`. The matrix has `out.len()` columns and is column-major if `by_column`.
pub(super) fn row_times<T: Lane>(row: &[T], matrix: &[T], by_column: bool, out: &mut [T]) {
    let columns = out.len();
    let is_parallel = threads::should_split(row.len() * columns, 2 * MIN_PARALLEL);
    let shares = if is_parallel { 2 * rayon::current_num_threads() } else { 1 };
    let size = columns.div_ceil(shares).next_multiple_of(MIN_BLOCK).min(BLOCK);
    let work = |block: usize, out: &mut [T]| {
        Arch::new().dispatch(Part { row, matrix, by_column, columns, first: block * size, out });
    };
    threads::each_chunk(out, size, is_parallel, 1, &work);
}

struct Part<'a, T> {
    row: &'a [T],
    matrix: &'a [T],
    by_column: bool,
    columns: usize,
    first: usize,
    out: &'a mut [T],
}

impl<T: Lane> WithSimd for Part<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Part { row, matrix, by_column, columns, first, out } = self;
        if by_column {
            for (at, out) in out.iter_mut().enumerate() {
                *out = dot(simd, row, &matrix[(first + at) * row.len()..][..row.len()]);
            }
            return;
        }
        out.fill(T::ZERO);
        for (step, factor) in row.iter().enumerate() {
            let line = &matrix[step * columns + first..][..out.len()];
            for (out, element) in out.iter_mut().zip(line) {
                *out = out.plus(factor.times(*element));
            }
        }
    }
}

#[inline(always)]
fn dot<T: Lane, S: Simd>(simd: S, a: &[T], b: &[T]) -> T {
    let (left, right) = (T::vectors::<S>(a), T::vectors::<S>(b));
    let mut sums = [T::splat(simd, T::ZERO); SUMS];
    let (left_blocks, left_rest) = left.as_chunks::<SUMS>();
    let (right_blocks, right_rest) = right.as_chunks::<SUMS>();
    for (left, right) in left_blocks.iter().zip(right_blocks) {
        for (sum, (left, right)) in sums.iter_mut().zip(left.iter().zip(right)) {
            *sum = T::fused(simd, *left, *right, *sum);
        }
    }
    for (left, right) in left_rest.iter().zip(right_rest) {
        sums[0] = T::fused(simd, *left, *right, sums[0]);
    }
    let [one, two, three, four] = sums;
    let sum = T::sum(simd, T::sum(simd, one, two), T::sum(simd, three, four));
    // Vectors of any type have at most 16 elements.
    let mut elements = [T::ZERO; 16];
    T::store(simd, sum, &mut elements[..T::lanes::<S>()]);
    let whole = left.len() * T::lanes::<S>();
    let rest = a[whole..].iter().zip(&b[whole..]).fold(T::ZERO, |sum, (a, b)| sum.plus(a.times(*b)));
    elements.iter().fold(rest, |sum, element| sum.plus(*element))
}

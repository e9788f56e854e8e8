//! Vector-matrix products. Each matrix element is used once, so nothing is packed.

use pulp::{Simd, WithSimd};

use super::MIN_PARALLEL;
use super::lane::{Lane, dispatch};
use crate::fast::threads;

/// Largest number of columns that are accumulated together.
const BLOCK: usize = 1024;

/// Smallest number of columns of a task.
const MIN_BLOCK: usize = 64;

/// Number of steps that are added to the results together, so that these are loaded and stored less often.
const STEPS: usize = 4;

/// `row * matrix`. The matrix has `out.len()` columns and is column-major if `by_column`.
pub(super) fn row_times<T: Lane>(row: &[T], matrix: &[T], by_column: bool, out: &mut [T]) {
    let columns = out.len();
    let is_parallel = threads::should_split(row.len() * columns, 2 * MIN_PARALLEL);
    let shares = if is_parallel { 2 * rayon::current_num_threads() } else { 1 };
    let size = columns.div_ceil(shares).next_multiple_of(MIN_BLOCK).min(BLOCK);
    let work = |block: usize, out: &mut [T]| {
        dispatch::<T, _>(Part { row, matrix, by_column, columns, first: block * size, out });
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
    fn with_simd<S: Simd>(self, _: S) {
        let Part { row, matrix, by_column, columns, first, out } = self;
        if by_column {
            for (at, out) in out.iter_mut().enumerate() {
                let column = &matrix[(first + at) * row.len()..][..row.len()];
                let pairs = row.iter().zip(column);
                *out = pairs.fold(T::ZERO, |sum, (a, b)| sum.plus(a.times(*b)));
            }
            return;
        }
        out.fill(T::ZERO);
        let width = out.len();
        let line = |step: usize| &matrix[step * columns + first..][..width];
        let (groups, rest) = row.as_chunks::<STEPS>();
        for (group, [a, b, c, d]) in groups.iter().enumerate() {
            let at = group * STEPS;
            let lines = line(at).iter().zip(line(at + 1)).zip(line(at + 2).iter().zip(line(at + 3)));
            for (out, ((one, two), (three, four))) in out.iter_mut().zip(lines) {
                let sum = out.plus(a.times(*one)).plus(b.times(*two));
                *out = sum.plus(c.times(*three)).plus(d.times(*four));
            }
        }
        for (step, factor) in rest.iter().enumerate() {
            for (out, element) in out.iter_mut().zip(line(row.len() - rest.len() + step)) {
                *out = out.plus(factor.times(*element));
            }
        }
    }
}

//! Products of few rows with a column-major matrix, as dot products.
//!
//! Both sides are adjacent in memory along the inner axis, so both are read without packing. A tile computes
//! a few rows and columns; its partial sums are vectors along the inner axis, whose elements are added at the
//! end. A packed product is faster for many rows, because its sums need no such addition; for few rows,
//! packing takes longer than the product.
//!
//! **Invariant:** the order in which the products of a result are added depends on the shapes of both
//! matrices only, so the bits do not depend on the number of threads.

use pulp::{Simd, WithSimd};

use super::lane::{Lane, dispatch};
use super::{run_tasks, threads_for};

/// Maximum number of rows, or of columns, of these products.
const MAX_FEW: usize = 64;

/// Time to add the elements of a vector of sums, in the time to pack an element. Measured.
const SUMMATION: usize = 6;

/// Number of columns of a tile.
const ACROSS: usize = 4;

/// Maximum number of elements of the narrower side in a block of the inner axis, which stay in the L2 cache.
const MAX_BLOCK: usize = 1 << 16;

/// Inner extents of blocks are multiples of this number, which is that of a cache line and of any vector.
const LINE: usize = 64;

/// `out = alpha * left * right + addend`.
pub(super) struct Dots<'a, T> {
    /// Row-major.
    pub(super) left: &'a [T],
    /// Column-major.
    pub(super) right: &'a [T],
    /// The inner extent.
    pub(super) depth: usize,
    pub(super) columns: usize,
    pub(super) alpha: T,
    /// In the layout of the result.
    pub(super) addend: Option<&'a [T]>,
}

/// Whether this product of a row-major and a column-major matrix is computed faster without packing, which
/// each column needs once, while each result needs a summation.
pub(crate) fn fits<T: Lane>(rows: usize, depth: usize, columns: usize) -> bool {
    let few = rows.min(columns);
    T::IS_FLOAT && (few == 1 || few <= MAX_FEW && few * SUMMATION <= depth)
}

impl<T: Lane> Dots<'_, T> {
    /// Computes the product, in parallel if it is large.
    pub(super) fn run(&self, out: &mut [T]) {
        if out.is_empty() {
            return;
        }
        let rows = out.len() / self.columns;
        let block = (MAX_BLOCK / rows.min(self.columns) / LINE).max(1) * LINE;
        let threads = threads_for(out.len() * self.depth);
        let shares = if threads == 1 { 1 } else { 2 * threads };
        let (band, width) = if rows > self.columns {
            (rows.div_ceil(shares).next_multiple_of(ACROSS), self.columns)
        } else {
            (rows, self.columns.div_ceil(shares).next_multiple_of(ACROSS))
        };
        let mut parts = Vec::with_capacity(rows.div_ceil(band) * self.columns.div_ceil(width));
        for (at, out) in out.chunks_mut(band * self.columns).enumerate() {
            let first = parts.len();
            for out in out.chunks_exact_mut(self.columns) {
                for (share, line) in out.chunks_mut(width).enumerate() {
                    if parts.len() <= first + share {
                        let lines = Vec::with_capacity(band);
                        let first_column = share * width;
                        parts.push(Part { dots: self, block, first_row: at * band, first_column, lines });
                    }
                    parts[first + share].lines.push(line);
                }
            }
        }
        run_tasks(parts, threads, &|part| dispatch::<T, _>(part));
    }
}

/// Adjacent rows and columns of a product.
struct Part<'a, T> {
    dots: &'a Dots<'a, T>,
    /// Inner extent of a block.
    block: usize,
    first_row: usize,
    first_column: usize,
    /// The columns of this part in each of its rows.
    lines: Vec<&'a mut [T]>,
}

impl<T: Lane> WithSimd for Part<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let height = if S::REGISTER_COUNT >= 32 { 4 } else { 2 };
        let (rows, columns) = (self.lines.len(), self.lines.first().map_or(0, |line| line.len()));
        // With an inner extent of 0 the epilogue must still run.
        for first in (0..self.dots.depth.max(1)).step_by(self.block) {
            // The wider side is read once for each block.
            if rows <= columns {
                for column in (0..columns).step_by(ACROSS) {
                    for row in (0..rows).step_by(height) {
                        self.tile_at(simd, height.min(rows - row), row, column, first);
                    }
                }
            } else {
                for row in (0..rows).step_by(height) {
                    for column in (0..columns).step_by(ACROSS) {
                        self.tile_at(simd, height.min(rows - row), row, column, first);
                    }
                }
            }
        }
    }
}

impl<T: Lane> Part<'_, T> {
    /// Computes a tile of this number of rows.
    #[inline(always)]
    fn tile_at<S: Simd>(&mut self, simd: S, height: usize, row: usize, column: usize, first: usize) {
        match height {
            1 => self.tile::<S, 1>(simd, row, column, first),
            2 => self.tile::<S, 2>(simd, row, column, first),
            _ => self.tile::<S, 4>(simd, row, column, first),
        }
    }

    /// Adds the products of a block of the inner axis, beginning at the step `first`, to a tile of the
    /// result.
    #[inline(always)]
    fn tile<S: Simd, const R: usize>(&mut self, simd: S, row: usize, column: usize, first: usize) {
        let Self { dots, block, first_row, first_column, ref mut lines } = *self;
        let depth = dots.depth;
        let steps = block.min(depth - first);
        let (rows, columns) = (lines.len(), lines[row].len());
        // Rows and columns past the end repeat the last one. Their results are dropped.
        // Loops, because `array::from_fn` would be compiled for each closure and instruction set.
        let (mut left, mut right): ([&[T]; R], [&[T]; ACROSS]) = ([&[]; R], [&[]; ACROSS]);
        for (at, left) in left.iter_mut().enumerate() {
            *left = &dots.left[(first_row + (row + at).min(rows - 1)) * depth + first..][..steps];
        }
        for (at, right) in right.iter_mut().enumerate() {
            *right = &dots.right[(first_column + (column + at).min(columns - 1)) * depth + first..][..steps];
        }
        let sums = sums::<T, S, R>(simd, left, right);
        let is_last = first + steps == depth;
        for (at, (line, sums)) in lines[row..].iter_mut().zip(sums).enumerate() {
            let start = (first_row + row + at) * dots.columns + first_column + column;
            for (at, (out, sum)) in line[column..].iter_mut().zip(sums).enumerate() {
                let sum = if first == 0 { sum } else { out.plus(sum) };
                *out = if is_last { dots.finished(sum, start + at) } else { sum };
            }
        }
    }
}

impl<T: Lane> Dots<'_, T> {
    #[inline(always)]
    fn finished(&self, sum: T, at: usize) -> T {
        let scaled = if self.alpha == T::ONE { sum } else { self.alpha.times(sum) };
        match self.addend {
            Some(addend) => scaled.plus(addend[at]),
            None => scaled,
        }
    }
}

/// The dot products of rows and columns, which have equal lengths.
#[inline(always)]
fn sums<T: Lane, S: Simd, const R: usize>(
    simd: S,
    left: [&[T]; R],
    right: [&[T]; ACROSS],
) -> [[T; ACROSS]; R] {
    let lanes = T::lanes::<S>();
    let steps = left[0].len() / lanes;
    let mut rows: [&[T::Vector<S>]; R] = [&[]; R];
    let mut columns: [&[T::Vector<S>]; ACROSS] = [&[]; ACROSS];
    for (row, left) in rows.iter_mut().zip(left) {
        *row = &T::vectors::<S>(left)[..steps];
    }
    for (column, right) in columns.iter_mut().zip(right) {
        *column = &T::vectors::<S>(right)[..steps];
    }
    let mut sums = [[T::splat(simd, T::ZERO); ACROSS]; R];
    for step in 0..steps {
        for (sums, row) in sums.iter_mut().zip(&rows) {
            for (sum, column) in sums.iter_mut().zip(&columns) {
                *sum = T::fused(simd, row[step], column[step], *sum);
            }
        }
    }
    let whole = steps * lanes;
    if whole < left[0].len() {
        for (sums, row) in sums.iter_mut().zip(&left) {
            let row = T::load(simd, &row[whole..]);
            for (sum, column) in sums.iter_mut().zip(&right) {
                *sum = T::fused(simd, row, T::load(simd, &column[whole..]), *sum);
            }
        }
    }
    let mut totals = [[T::ZERO; ACROSS]; R];
    for (totals, sums) in totals.iter_mut().zip(&sums) {
        for (total, sum) in totals.iter_mut().zip(sums) {
            *total = T::total(simd, *sum);
        }
    }
    totals
}

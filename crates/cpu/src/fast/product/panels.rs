//! Products whose right side is packed once and used for many left sides of a few rows.

use pulp::{Simd, WithSimd};

use super::TileSize;
use super::lane::{Lane, dispatch};
use super::tile::{TilePosition, tile};

/// Edge of the blocks in which a matrix is transposed.
const EDGE: usize = 16;

/// Width of a panel in vectors, which is that of floats.
const ACROSS: usize = 3;

/// The right side of a product, packed into panels of columns, step by step along the inner axis. The last
/// panel is padded with zeros.
#[derive(Clone, Debug)]
pub(crate) struct Panels<T> {
    data: Vec<T>,
    depth: usize,
    columns: usize,
    /// Columns per panel.
    width: usize,
}

impl<T: Lane> Panels<T> {
    /// Packs a column-major matrix: column `c` is the slice of `depth` elements from `c * depth` on.
    pub(crate) fn pack(from: &[T], depth: usize, columns: usize) -> Self {
        let width = TileSize::of::<T>().lanes * ACROSS;
        let mut data = vec![T::ZERO; columns.div_ceil(width) * width * depth];
        if depth > 0 {
            for (panel, to) in data.chunks_exact_mut(width * depth).enumerate() {
                let from = &from[panel * width * depth..];
                let columns = width.min(from.len() / depth);
                for first in (0..depth).step_by(EDGE) {
                    let steps = EDGE.min(depth - first);
                    for column in 0..columns {
                        for (step, value) in from[column * depth + first..][..steps].iter().enumerate() {
                            to[(first + step) * width + column] = *value;
                        }
                    }
                }
            }
        }
        Self { data, depth, columns, width }
    }

    /// `out = left * self`; both are row-major, with any number of rows.
    pub(crate) fn multiply(&self, left: &[T], scratch: &mut Vec<T>, out: &mut [T]) {
        if self.depth == 0 {
            out.fill(T::ZERO);
        } else if self.columns > 0 {
            dispatch::<T, _>(Product { panels: self, left, scratch, out });
        }
    }
}

struct Product<'a, T> {
    panels: &'a Panels<T>,
    left: &'a [T],
    scratch: &'a mut Vec<T>,
    out: &'a mut [T],
}

impl<T: Lane> WithSimd for Product<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let rows = self.out.len() / self.panels.columns;
        if rows == 1 {
            self.by_rows::<S, 1>(simd);
        } else if S::REGISTER_COUNT >= 32 {
            if rows > 4 { self.by_rows::<S, 8>(simd) } else { self.by_rows::<S, 4>(simd) }
        } else {
            // The sums and operands of 4 rows do not fit in 16 registers.
            self.by_rows::<S, 3>(simd);
        }
    }
}

impl<T: Lane> Product<'_, T> {
    #[inline(always)]
    fn by_rows<S: Simd, const R: usize>(self, simd: S) {
        let Self { panels, left, scratch, out } = self;
        let (depth, width, columns) = (panels.depth, panels.width, panels.columns);
        for (group, out) in out.chunks_mut(R * columns).enumerate() {
            let rows = out.len() / columns;
            let left = &left[group * R * depth..][..rows * depth];
            // One row is already in the order of the steps.
            if R > 1 {
                scratch.clear();
                scratch.resize(R * depth, T::ZERO);
                for (row, left) in left.chunks_exact(depth).enumerate() {
                    for (to, from) in scratch[row..].iter_mut().step_by(R).zip(left) {
                        *to = *from;
                    }
                }
            }
            let left = if R > 1 { &scratch[..] } else { left };
            let mut lines = out.chunks_exact_mut(columns);
            let mut lines: [&mut [T]; R] = std::array::from_fn(|_| lines.next().unwrap_or_default());
            let lines = &mut lines[..rows];
            for (at, panel) in panels.data.chunks_exact(width * depth).enumerate() {
                let place = TilePosition { row: 0, column: at * width, block: 0, columns };
                tile::<T, S, R, ACROSS>(simd, left, panel, lines, place, true, None);
            }
        }
    }
}

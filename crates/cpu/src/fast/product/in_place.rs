//! Products with sliding windows that are read without packing.
//!
//! At any kernel position, windows of stride 1 read adjacent elements. The columns of such a product are
//! therefore numbered like the elements of a plane in memory, and one load at the offset of a step yields the
//! elements of adjacent columns. Columns between the last window of a row and the first of the next are
//! computed with the others, and dropped when results are written.

use std::rc::Rc;

use pulp::{Simd, WithSimd};

use super::grid::{Grid, Part};
use super::lane::Lane;
use super::operands::{DEPTH, Lines, Rows};
use super::tile::{Finish, finished};
use super::{Sharing, TileSize};

/// Number of readable elements required after the last one that windows read.
pub(crate) const SLACK: usize = 64;

/// Maximum tile width in elements.
const WIDEST: usize = 48;

/// Windows with stride 1 along every axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sliding<'a> {
    /// Offset of each step of the inner axis.
    pub(crate) steps: &'a [usize],
    /// The rows of windows. The first begins with 0.
    pub(crate) lines: Lines<'a>,
}

impl Sliding<'_> {
    /// Number of columns, including dropped ones.
    pub(crate) fn columns(&self) -> usize {
        self.lines.starts.last().map_or(0, |last| last + self.lines.len)
    }
}

/// A product `left * windows` with an epilogue, written to `out`.
pub(crate) struct InPlace<'a, T> {
    pub(crate) left: &'a Rows<T>,
    /// The elements, followed by [`SLACK`] elements with arbitrary values.
    pub(crate) data: &'a [T],
    /// Row-major, with as many rows as `left` and as many columns as windows.
    pub(crate) out: &'a mut [T],
    pub(crate) finish: Finish<'a, T>,
}

/// Columns that are computed together.
pub(super) struct Tile {
    first_column: usize,
    vectors: usize,
    /// Index of the first row of windows that ends in the tile or behind it.
    first_line: usize,
    /// Index of the first window in the tile.
    first_window: usize,
    windows: usize,
}

/// Part of a product: some of the rows and some of the tiles.
pub(super) struct Task<'g, 'a, T> {
    left: &'a Rows<T>,
    data: &'a [T],
    sliding: Sliding<'a>,
    tiles: &'g [Tile],
    /// For each row, the results of these tiles.
    out: &'g mut [&'a mut [T]],
    first_panel: usize,
    finish: Finish<'a, T>,
}

/// The tiles of a product with windows.
pub(super) fn tiles<T: Lane>(sliding: Sliding<'_>) -> Vec<Tile> {
    let size = TileSize::of::<T>();
    let (panel, lanes) = (size.columns(), size.lanes);
    let (lines, columns) = (sliding.lines, sliding.columns());
    let mut line = 0;
    // Number of windows before a column, given the first row that ends behind it.
    let before = |line: usize, column: usize| {
        let start = lines.starts.get(line).copied().unwrap_or(column);
        line * lines.len + column.saturating_sub(start)
    };
    let skip = |mut line: usize, column: usize| {
        while lines.starts.get(line).is_some_and(|start| start + lines.len <= column) {
            line += 1;
        }
        line
    };
    let of = (0..columns).step_by(panel).map(|first_column| {
        let end = columns.min(first_column + panel);
        let (first_line, first_window) = (line, before(line, first_column));
        line = skip(line, end);
        let windows = before(line, end) - first_window;
        Tile {
            first_column,
            vectors: (end - first_column).div_ceil(lanes),
            first_line,
            first_window,
            windows,
        }
    });
    of.collect()
}

/// A product, cut.
pub(super) struct Cut<'a, T> {
    left: &'a Rows<T>,
    data: &'a [T],
    sliding: Sliding<'a>,
    tiles: Rc<[Tile]>,
    /// Number of tiles of a block.
    size: usize,
    grid: Grid<'a, T>,
    finish: Finish<'a, T>,
}

impl<'a, T: Lane> Cut<'a, T> {
    pub(super) fn new(
        job: InPlace<'a, T>,
        sliding: Sliding<'a>,
        tiles: Rc<[Tile]>,
        sharing: Sharing,
    ) -> Self {
        let InPlace { left, data, out, finish } = job;
        let panels = left.rows.div_ceil(left.height);
        let (blocks, bands) = sharing.parts(tiles.len(), panels, left.height);
        let size = tiles.len().div_ceil(blocks).max(1);
        let width = |tiles: &[Tile]| tiles.iter().map(|tile| tile.windows).sum();
        let widths: Vec<usize> = tiles.chunks(size).map(width).collect();
        let grid = Grid::new(out, left.rows, &widths, panels.div_ceil(bands) * left.height);
        Self { left, data, sliding, tiles, size, grid, finish }
    }

    pub(super) fn tasks(&mut self) -> impl Iterator<Item = Task<'_, 'a, T>> {
        let Self { left, data, sliding, tiles, size, grid, finish } = self;
        grid.parts().map(|Part { block, first_row, out }| {
            let first = block * *size;
            let tiles = &tiles[first..tiles.len().min(first + *size)];
            Task {
                left,
                data,
                sliding: *sliding,
                tiles,
                out,
                first_panel: first_row / left.height,
                finish: *finish,
            }
        })
    }
}

impl<T: Lane> WithSimd for Task<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if S::REGISTER_COUNT >= 32 {
            compute::<T, S, 8>(simd, self);
        } else {
            compute::<T, S, 6>(simd, self);
        }
    }
}

#[inline(always)]
fn compute<T: Lane, S: Simd, const R: usize>(simd: S, task: Task<'_, '_, T>) {
    let Task { left, data, sliding, tiles, out: rows, first_panel, finish } = task;
    let (steps, lines) = (sliding.steps, sliding.lines);
    let first_window = tiles.first().map_or(0, |tile| tile.first_window);
    for (at, out) in rows.chunks_mut(R).enumerate() {
        let panel = first_panel + at;
        for tile in tiles {
            let within = Within { panel, first_window, lines, tile };
            match (tile.vectors, T::across::<S>()) {
                (3, 3..) => columns::<T, S, R, 3>(simd, left, data, steps, out, within, &finish),
                (2, 2..) => columns::<T, S, R, 2>(simd, left, data, steps, out, within, &finish),
                _ => columns::<T, S, R, 1>(simd, left, data, steps, out, within, &finish),
            }
        }
    }
}

/// Position of a tile and its rows in the result.
#[derive(Clone, Copy)]
struct Within<'t> {
    panel: usize,
    /// First window of the row parts.
    first_window: usize,
    lines: Lines<'t>,
    tile: &'t Tile,
}

/// Computes `R` rows of a tile of `V` vectors.
#[inline(always)]
fn columns<T: Lane, S: Simd, const R: usize, const V: usize>(
    simd: S,
    left: &Rows<T>,
    data: &[T],
    steps: &[usize],
    out: &mut [&mut [T]],
    within: Within<'_>,
    finish: &Finish<'_, T>,
) {
    let Within { panel, first_window, lines, tile } = within;
    let windows = lines.starts.len() * lines.len;
    let lanes = T::lanes::<S>();
    let data = &data[tile.first_column..];
    let mut sums = [[T::splat(simd, T::ZERO); V]; R];
    for (block, steps) in steps.chunks(DEPTH).enumerate() {
        let left = left.panel(block * DEPTH, panel).as_chunks::<R>().0;
        for (left, offset) in left.iter().zip(steps) {
            // A fixed-size array, so that the compiler unrolls the loops over it.
            let Some(right) = T::vectors::<S>(&data[*offset..][..V * lanes]).first_chunk::<V>() else {
                return;
            };
            for (sums, left) in sums.iter_mut().zip(left) {
                let left = T::splat(simd, *left);
                for (sum, right) in sums.iter_mut().zip(right) {
                    *sum = T::fused(simd, left, *right, *sum);
                }
            }
        }
    }
    let mut line = [T::ZERO; WIDEST];
    for (at, (row, sums)) in out.iter_mut().zip(sums).enumerate() {
        for (part, sum) in line.chunks_exact_mut(lanes).zip(sums) {
            T::store(simd, sum, part);
        }
        let number = panel * R + at;
        let mut window = tile.first_window;
        let last = tile.first_window + tile.windows;
        for start in &lines.starts[tile.first_line..] {
            if window == last {
                break;
            }
            // Windows before the tile, and the place of the next one in it.
            let (before, place) =
                (tile.first_column.saturating_sub(*start), start.saturating_sub(tile.first_column));
            let len = (lines.len - before).min(last - window);
            let from = &line[place..place + len];
            let to = &mut row[window - first_window..][..len];
            for (v, (from, to)) in from.chunks(lanes).zip(to.chunks_mut(lanes)).enumerate() {
                let place = number * windows + window + v * lanes;
                let value = finished(simd, T::load(simd, from), finish, number, place, to.len());
                T::store(simd, value, to);
            }
            window += len;
        }
    }
}

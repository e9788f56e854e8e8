//! Products with sliding windows that are read without packing.
//!
//! At any kernel position, windows of stride 1 read adjacent elements. The columns of such a product are
//! therefore numbered like the elements of a plane in memory, and one load at the offset of a step yields the
//! elements of adjacent columns. Columns between the last window of a row and the first of the next are
//! computed with the others, and dropped when results are written.

use pulp::{Simd, WithSimd};

use super::lane::Lane;
use super::operands::{DEPTH, Rows};
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
    /// Offset of each window, in increasing order, beginning with 0.
    pub(crate) windows: &'a [usize],
}

impl Sliding<'_> {
    /// Number of columns, including dropped ones.
    pub(crate) fn columns(&self) -> usize {
        self.windows.last().map_or(0, |last| last + 1)
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
    /// Index of the first window in the tile.
    first_window: usize,
    windows: usize,
    /// Runs of adjacent windows: position of the first one in the tile, and length.
    runs: Vec<(usize, usize)>,
}

/// Part of a product: some of the rows and some of the tiles.
pub(super) struct Task<'a, 't, T> {
    left: &'a Rows<T>,
    data: &'a [T],
    steps: &'a [usize],
    tiles: &'t [Tile],
    /// For each row, the results of these tiles.
    out: Vec<&'a mut [T]>,
    first_panel: usize,
    /// Total number of windows.
    windows: usize,
    finish: Finish<'a, T>,
}

/// The tiles of a product with windows.
pub(super) fn tiles<T: Lane>(sliding: &Sliding<'_>) -> Vec<Tile> {
    let size = TileSize::of::<T>();
    let (panel, lanes) = (size.columns(), size.lanes);
    let (windows, columns) = (sliding.windows, sliding.columns());
    let mut tiles = Vec::with_capacity(columns.div_ceil(panel));
    let mut first_window = 0;
    for first_column in (0..columns).step_by(panel) {
        let end = columns.min(first_column + panel);
        let mut runs: Vec<(usize, usize)> = Vec::new();
        let own = windows[first_window..].iter().take_while(|window| **window < end);
        let mut count = 0;
        for place in own.map(|window| window - first_column) {
            count += 1;
            match runs.last_mut() {
                Some((start, len)) if *start + *len == place => *len += 1,
                Some(_) | None => runs.push((place, 1)),
            }
        }
        let vectors = (end - first_column).div_ceil(lanes);
        tiles.push(Tile { first_column, vectors, first_window, windows: count, runs });
        first_window += count;
    }
    tiles
}

/// Cuts a product into parts.
pub(super) fn split<'a, 't, T: Lane>(
    job: InPlace<'a, T>,
    sliding: Sliding<'a>,
    tiles: &'t [Tile],
    sharing: Sharing,
) -> Vec<Task<'a, 't, T>> {
    let InPlace { left, data, out, finish } = job;
    let windows = sliding.windows.len();
    let panels = left.rows.div_ceil(left.height);
    let (blocks, bands) = sharing.parts(tiles.len(), panels, left.height);
    let tiles_of_block = tiles.len().div_ceil(blocks).max(1);
    let blocks = tiles.len().div_ceil(tiles_of_block);
    let band = panels.div_ceil(bands).max(1);
    let mut tasks = Vec::with_capacity(blocks * bands);
    let bands = panels.div_ceil(band);
    for tiles in tiles.chunks(tiles_of_block) {
        for first_panel in (0..panels).step_by(band) {
            let out = Vec::with_capacity(band * left.height);
            let steps = sliding.steps;
            tasks.push(Task { left, data, steps, tiles, out, first_panel, windows, finish });
        }
    }
    for (row, mut out) in out.chunks_exact_mut(windows.max(1)).enumerate() {
        let band = row / left.height / band;
        for (block, tiles) in tiles.chunks(tiles_of_block).enumerate() {
            let (part, rest) = out.split_at_mut(tiles.iter().map(|tile| tile.windows).sum());
            out = rest;
            if let Some(task) = tasks.get_mut(block * bands + band) {
                task.out.push(part);
            }
        }
    }
    tasks
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
fn compute<T: Lane, S: Simd, const R: usize>(simd: S, mut task: Task<'_, '_, T>) {
    let Task { left, data, steps, tiles, out: rows, first_panel, windows, finish } = &mut task;
    let first_window = tiles.first().map_or(0, |tile| tile.first_window);
    for (at, out) in rows.chunks_mut(R).enumerate() {
        let panel = *first_panel + at;
        for tile in *tiles {
            let within = Within { panel, first_window, windows: *windows, tile };
            match (tile.vectors, T::across::<S>()) {
                (3, 3..) => columns::<T, S, R, 3>(simd, left, data, steps, out, within, finish),
                (2, 2..) => columns::<T, S, R, 2>(simd, left, data, steps, out, within, finish),
                _ => columns::<T, S, R, 1>(simd, left, data, steps, out, within, finish),
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
    windows: usize,
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
    let Within { panel, first_window, windows, tile } = within;
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
        for (start, len) in &tile.runs {
            let from = &line[*start..start + len];
            let to = &mut row[window - first_window..][..*len];
            for (v, (from, to)) in from.chunks(lanes).zip(to.chunks_mut(lanes)).enumerate() {
                let place = number * windows + window + v * lanes;
                let value = finished(simd, T::load(simd, from), finish, number, place, to.len());
                T::store(simd, value, to);
            }
            window += len;
        }
    }
}

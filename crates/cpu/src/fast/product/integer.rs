//! Products of matrices of 8-bit integers with sums of 32 bits, which wrap.
//!
//! The left side is widened to 16 bits and its zero points are subtracted ([`Left`]), so that two adjacent
//! steps of the inner axis are one 32-bit word. The right side keeps 8 bits ([`Right`]): panels of columns,
//! with the two steps of a pair next to each other. The kernel widens a vector of pairs, multiplies it by a
//! word of the left side, and adds the two products of each pair (`madd`): `i16 * i16 + i16 * i16` never
//! overflows 32 bits, because the left side is in `-255..=255` and the right side in `-128..=127`.
//!
//! Unsigned elements of the right side are stored as `element - 128`, and so are their zero points. A zero
//! point `z` of the right side is not subtracted from its elements:
//! `sum(a * (b - z)) = sum(a * b) - z * sum(a)`, and the row sums of `a` are known once the left side is
//! packed. Symmetric weights need no correction.
//!
//! There is one block along the inner axis: the width of a block of columns is chosen so that all of its
//! steps fit in the L2 cache, and sums stay in registers until they are complete.
//!
//! **Limit:** the multiply-add of pairs is used on x86-64 with AVX2 or AVX-512. Other processors run the same
//! loops over arrays, which the compiler vectorises. Results are equal.
//!
//! Plain form: `expected` in `tests.rs`.

use pulp::Arch;

mod pack;

mod pairs;

use super::grid::{Grid, Part, even};
use super::{Memory, run_tasks, threads_for};
use pack::Panels;
pub(crate) use pack::{Bytes, Left, PackedRight, Signs, Windowed};
use pairs::{Kernel, kernel};

/// Maximum size in bytes of a block of the right side.
const BLOCK_BYTES: usize = 1 << 18;

/// Maximum number of panels in a block.
const MAX_PANELS: usize = 16;

/// Number of vectors in a panel.
const ACROSS: usize = 3;

/// Zero points of rows or columns.
#[derive(Clone, Debug)]
pub(crate) enum Zeros {
    /// One for all.
    One(i32),
    /// One for each row or column.
    Each(Vec<i32>),
}

impl Zeros {
    fn at(&self, index: usize) -> i32 {
        match self {
            Self::One(zero) => *zero,
            Self::Each(zeros) => zeros[index],
        }
    }
}

/// The right side of a product.
#[derive(Clone, Copy)]
pub(crate) enum Right<'a> {
    /// Packed before.
    Packed(&'a PackedRight),
    /// Packed block by block during the product.
    Windowed(Windowed<'a>),
}

/// Receives complete sums: the row, the first column, the sums, and the part of the result to fill.
pub(crate) type Sink<'a, T> = dyn Fn(usize, usize, &[i32], &mut [T]) + Sync + 'a;

/// A product of two matrices, whose sums are passed to `sink`.
pub(crate) struct Job<'a, T> {
    pub(crate) left: &'a Left,
    pub(crate) right: Right<'a>,
    /// Zero points of the columns.
    pub(crate) zeros: &'a Zeros,
    /// Number of the first row for `sink`.
    pub(crate) first_row: usize,
    /// Row-major, with as many rows as `left`.
    pub(crate) out: &'a mut [T],
    pub(crate) columns: usize,
    pub(crate) sink: &'a Sink<'a, T>,
}

/// Part of a product: some rows and some columns.
struct Task<'g, 'a, T> {
    left: &'a Left,
    right: Right<'a>,
    zeros: &'a Zeros,
    first_number: usize,
    out: &'g mut [&'a mut [T]],
    first_row: usize,
    first_column: usize,
    width: usize,
    sink: &'a Sink<'a, T>,
}

/// Number of columns in a panel on this processor.
fn panel_width() -> usize {
    kernel(Arch::new()).lanes * ACROSS
}

/// Computes products, in parallel if they are large.
pub(crate) fn run<T: Send>(jobs: Vec<Job<'_, T>>) {
    // Two multiplications of 8 bits take about as long as one of `f32`.
    let work = jobs.iter().map(|job| job.left.rows() * job.left.depth().max(1) * job.columns / 2).sum();
    let threads = threads_for(work);
    let share = threads.div_ceil(jobs.len().max(1));
    let mut cut: Vec<Cut<'_, T>> = jobs.into_iter().map(|job| Cut::new(job, share)).collect();
    run_tasks(cut.iter_mut().flat_map(Cut::tasks).collect(), threads, &compute);
}

/// A product, cut.
struct Cut<'a, T> {
    left: &'a Left,
    right: Right<'a>,
    zeros: &'a Zeros,
    first_number: usize,
    grid: Grid<'a, T>,
    /// Number of columns of a block.
    width: usize,
    columns: usize,
    sink: &'a Sink<'a, T>,
}

impl<'a, T> Cut<'a, T> {
    /// Cuts a product into at least `share` parts where possible.
    fn new(job: Job<'a, T>, share: usize) -> Self {
        let Job { left, right, zeros, first_row: first_number, out, columns, sink } = job;
        let panel = panel_width();
        let most = (BLOCK_BYTES / (left.depth().max(1) * panel)).clamp(1, MAX_PANELS);
        let blocks = columns.div_ceil(panel * most).max(1).next_multiple_of(share);
        let width = columns.div_ceil(blocks).next_multiple_of(panel).max(panel);
        let widths = even(columns, width);
        let height = kernel(Arch::new()).rows;
        let panels = left.rows().div_ceil(height);
        let bands = share.div_ceil(widths.len().max(1)).min(panels).max(1);
        let grid = Grid::new(out, left.rows(), &widths, panels.div_ceil(bands) * height);
        Self { left, right, zeros, first_number, grid, width, columns, sink }
    }

    fn tasks(&mut self) -> impl Iterator<Item = Task<'_, 'a, T>> {
        let Self { left, right, zeros, first_number, grid, width, columns, sink } = self;
        grid.parts().map(|Part { block, first_row, out }| {
            let first_column = block * *width;
            let (right, first_number) = (*right, *first_number);
            let width = (*width).min(*columns - first_column);
            Task { left, right, zeros, first_number, out, first_row, first_column, width, sink: *sink }
        })
    }
}

fn compute<T>(task: Task<'_, '_, T>) {
    i32::with_scratch(|line| match task.right {
        Right::Packed(packed) => {
            let panels = packed.panels(task.first_column);
            multiply(task, panels, line);
        }
        Right::Windowed(windowed) => i8::with_scratch(|scratch| {
            let columns = task.first_column..task.first_column + task.width;
            let panels = windowed.pack(task.left.depth(), columns, panel_width(), scratch);
            multiply(task, panels, line);
        }),
    });
}

fn multiply<T>(task: Task<'_, '_, T>, right: Panels<'_>, line: &mut Vec<i32>) {
    let arch = Arch::new();
    let Kernel { rows: height, lanes, .. } = kernel(arch);
    let stride = task.width.next_multiple_of(lanes);
    if line.len() < stride * height {
        line.resize(stride * height, 0);
    }
    let mut row = task.first_row;
    let mut rest = task.out;
    while !rest.is_empty() {
        // The largest power of two of rows that is left and fits the registers.
        let rows = height.min(1 << rest.len().ilog2());
        let (out, others) = rest.split_at_mut(rows);
        rest = others;
        pairs::sums(arch, task.left, row..row + rows, right, &mut line[..rows * stride]);
        for (out, sums) in out.iter_mut().zip(line.chunks_exact_mut(stride)) {
            let sums = &mut sums[..task.width];
            correct(sums, task.left.sum(row), task.zeros, task.first_column);
            (task.sink)(task.first_number + row, task.first_column, sums, out);
            row += 1;
        }
    }
}

/// Subtracts the zero points of columns, multiplied by the sum of a row.
fn correct(sums: &mut [i32], row_sum: i32, zeros: &Zeros, first_column: usize) {
    match zeros {
        Zeros::One(0) => {}
        Zeros::One(zero) => {
            let correction = zero.wrapping_mul(row_sum);
            sums.iter_mut().for_each(|sum| *sum = sum.wrapping_sub(correction));
        }
        Zeros::Each(zeros) => {
            for (sum, zero) in sums.iter_mut().zip(&zeros[first_column..]) {
                *sum = sum.wrapping_sub(zero.wrapping_mul(row_sum));
            }
        }
    }
}

/// A sink that stores the sums.
pub(crate) fn store(_: usize, _: usize, sums: &[i32], out: &mut [i32]) {
    out.copy_from_slice(sums);
}

#[cfg(test)]
mod tests;

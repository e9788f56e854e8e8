//! Products of matrices: panels that fit the caches, tiles that fit the registers (Goto's algorithm).
//!
//! The left side is put in panels of a few rows ([`Rows`]), once where it is a constant. The right side stays as it lies in
//! memory ([`Columns`]: a matrix, or the windows of a convolution) and is put in panels block by block, in memory of the
//! thread that needs them. Sums are finished in registers: scaled, added to and held to bounds on their way out.
//!
//! Vectors come from `pulp`, which finds the widest that the processor has. Blocks are spread over the threads of `rayon`; a
//! thread writes parts of rows that are its own, so there are no locks.

use std::cell::{Cell, RefCell};

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

pub(crate) mod lane;

pub(crate) mod in_place;

mod operands;

mod thin;

mod tile;

use crate::error::{Fault, invalid};
use crate::threads;
use lane::Lane;
use operands::DEPTH;
pub(crate) use operands::{Columns, Offsets, Rows, Steps};
use thin::row_times;
pub(crate) use tile::Finish;
use tile::{Place, tile};

/// How many multiplications are worth a thread of their own.
const WORTH: usize = 1 << 21;

/// The largest left side whose memory is kept, in elements.
const KEPT: usize = 1 << 22;

/// How many panels of columns a block has at most: with [`DEPTH`] steps, what fits the second cache.
const PANELS: usize = 10;

/// One product: `left * right`, finished, into `out`.
pub(crate) struct Job<'a, T> {
    pub(crate) left: &'a Rows<T>,
    pub(crate) right: Columns<'a, T>,
    /// Row by row, as many rows as `left`.
    pub(crate) out: &'a mut [T],
    pub(crate) columns: usize,
    pub(crate) finish: Finish<'a, T>,
}

/// A part of a product: some of the rows, some of the columns.
struct Task<'a, T> {
    left: &'a Rows<T>,
    right: Columns<'a, T>,
    out: Vec<&'a mut [T]>,
    first_panel: usize,
    first_column: usize,
    width: usize,
    columns: usize,
    finish: Finish<'a, T>,
}

/// How many rows a panel of the left side has on this processor.
fn height() -> usize {
    struct Height;
    impl WithSimd for Height {
        type Output = usize;

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> usize {
            if S::REGISTER_COUNT >= 32 { 8 } else { 4 }
        }
    }
    Arch::new().dispatch(Height)
}

/// A left side of `rows` by `depth`; `row_stride` and `stride` say how its rows and the elements in them are spaced.
pub(crate) fn rows<T: Lane>(from: &[T], shape: (usize, usize), strides: (usize, usize)) -> Rows<T> {
    Rows::pack(from, shape, strides, height(), Vec::new())
}

/// A matrix in memory, which may be read with its axes exchanged.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a, T> {
    data: &'a [T],
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    transposed: bool,
}

impl<'a, T> Matrix<'a, T> {
    /// A matrix of `rows` by `columns`, row by row.
    pub(crate) fn new(data: &'a [T], rows: usize, columns: usize) -> Self {
        Self { data, rows, columns, transposed: false }
    }

    /// A matrix of `rows` by `columns` that lies in memory column by column.
    pub(crate) fn transposed(data: &'a [T], rows: usize, columns: usize) -> Self {
        Self { data, rows, columns, transposed: true }
    }

    /// How far apart neighbours in a column and in a row are.
    fn strides(self) -> (usize, usize) {
        if self.transposed { (1, self.rows) } else { (self.columns, 1) }
    }

    fn has_all_elements(&self) -> bool {
        self.rows.checked_mul(self.columns) == Some(self.data.len())
    }
}

/// `out = alpha * a * b + addend`.
pub(crate) fn multiply<T: Lane + Memory>(
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    out: &mut [T],
    alpha: T,
    addend: Option<&[T]>,
) -> Result<(), Fault> {
    if a.columns != b.rows {
        return invalid("the inner extents differ");
    }
    let whole = |list: &[T]| a.rows.checked_mul(b.columns) == Some(list.len());
    if !a.has_all_elements() || !b.has_all_elements() || !whole(out) || !addend.is_none_or(whole) {
        return invalid("a matrix has not as many elements as its shape says");
    }
    if a.rows == 1 || b.columns == 1 {
        if a.rows == 1 {
            row_times(a.data, b.data, b.transposed, out);
        } else {
            row_times(b.data, a.data, !a.transposed, out);
        }
        if alpha != T::ONE {
            out.iter_mut().for_each(|out| *out = alpha.times(*out));
        }
        if let Some(addend) = addend {
            out.iter_mut().zip(addend).for_each(|(out, addend)| *out = out.plus(*addend));
        }
        return Ok(());
    }
    T::with_rows(|memory| {
        let left = Rows::pack(a.data, (a.rows, a.columns), a.strides(), height(), std::mem::take(memory));
        let (step, column) = b.strides();
        let right = Columns { data: b.data, steps: Steps::Even(step), columns: Offsets::Even(column) };
        let scale = (alpha != T::ONE).then(|| vec![alpha; a.rows]);
        let finish = Finish { scale: scale.as_deref(), addend, ..Finish::NONE };
        run(vec![Job { left: &left, right, out, columns: b.columns, finish }]);
        *memory = left.into_memory();
    });
    Ok(())
}

/// Computes the products, on several threads where they are large.
pub(crate) fn run<T: Lane + Memory>(jobs: Vec<Job<'_, T>>) {
    let work: usize = jobs.iter().map(|job| job.left.rows * job.left.depth.max(1) * job.columns).sum();
    let is_large = threads::worth(work, 2 * WORTH);
    let threads = if is_large { rayon::current_num_threads().min(work / WORTH) } else { 1 };
    let share = threads.div_ceil(jobs.len().max(1));
    let tasks: Vec<Task<'_, T>> = jobs.into_iter().flat_map(|job| split(job, share)).collect();
    if threads == 1 {
        tasks.into_iter().for_each(compute);
    } else {
        tasks.into_par_iter().with_max_len(1).for_each(compute);
    }
}

/// Cuts a product into parts, at least `share` where that is possible.
fn split<T: Lane>(job: Job<'_, T>, share: usize) -> Vec<Task<'_, T>> {
    let Job { left, right, out, columns, finish } = job;
    let panel = panel_width::<T>();
    let blocks = columns.div_ceil(panel * PANELS).max(1).next_multiple_of(share);
    let width = columns.div_ceil(blocks).next_multiple_of(panel);
    let blocks = columns.div_ceil(width.max(1)).max(1);
    let panels = left.rows.div_ceil(left.height);
    let bands = share.div_ceil(blocks).min(panels).max(1);
    let band = panels.div_ceil(bands);
    let mut tasks: Vec<Task<'_, T>> = Vec::with_capacity(blocks * bands);
    for first_panel in (0..panels).step_by(band.max(1)) {
        for block in 0..blocks {
            let out = Vec::with_capacity(band * left.height);
            let first_column = block * width;
            let width = width.min(columns - first_column);
            tasks.push(Task { left, right, out, first_panel, first_column, width, columns, finish });
        }
    }
    if columns > 0 {
        for (row, out) in out.chunks_exact_mut(columns).enumerate() {
            let band = row / left.height / band;
            for (block, part) in out.chunks_mut(width).enumerate() {
                if let Some(task) = tasks.get_mut(band * blocks + block) {
                    task.out.push(part);
                }
            }
        }
    }
    tasks
}

/// How many columns the widest tile has.
fn panel_width<T: Lane>() -> usize {
    struct Width<T>(std::marker::PhantomData<T>);
    impl<T: Lane> WithSimd for Width<T> {
        type Output = usize;

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> usize {
            T::lanes::<S>() * T::ACROSS
        }
    }
    Arch::new().dispatch(Width::<T>(std::marker::PhantomData))
}

fn compute<T: Lane + Memory>(task: Task<'_, T>) {
    T::with_scratch(|scratch| Arch::new().dispatch(Compute { task, scratch }));
}

struct Compute<'a, 's, T> {
    task: Task<'a, T>,
    scratch: &'s mut Vec<T>,
}

impl<T: Lane> WithSimd for Compute<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if S::REGISTER_COUNT >= 32 {
            blocks::<T, S, 8>(simd, self.task, self.scratch);
        } else {
            blocks::<T, S, 4>(simd, self.task, self.scratch);
        }
    }
}

#[inline(always)]
fn blocks<T: Lane, S: Simd, const R: usize>(simd: S, mut task: Task<'_, T>, scratch: &mut Vec<T>) {
    let (lanes, depth) = (T::lanes::<S>(), task.left.depth);
    let panel = lanes * T::ACROSS;
    let panels = task.width.div_ceil(panel);
    let needed = DEPTH.min(depth) * panels * panel;
    if scratch.len() < needed {
        scratch.resize(needed, T::ZERO);
    }
    // Without a step there is still a result to write.
    for first in (0..depth.max(1)).step_by(DEPTH) {
        let steps = DEPTH.min(depth - first);
        let size = steps * panel;
        for (at, to) in scratch.chunks_exact_mut(size.max(1)).take(panels).enumerate() {
            let width = panel.min(task.width - at * panel);
            let start = task.first_column + at * panel;
            let padded = width.next_multiple_of(lanes);
            task.right.pack(first..first + steps, start..start + width, padded, to);
        }
        let finish = (first + steps == depth).then_some(&task.finish);
        for (at, out) in task.out.chunks_mut(R).enumerate() {
            let left = task.left.panel(first, task.first_panel + at);
            for across in 0..panels {
                let column = across * panel;
                let vectors = panel.min(task.width - column).div_ceil(lanes);
                let right = &scratch[across * size..][..steps * vectors * lanes];
                let place = Place {
                    row: (task.first_panel + at) * R,
                    column,
                    block: task.first_column,
                    columns: task.columns,
                };
                let begins = first == 0;
                match vectors {
                    1 => tile::<T, S, R, 1>(simd, left, right, out, place, begins, finish),
                    2 => tile::<T, S, R, 2>(simd, left, right, out, place, begins, finish),
                    _ => tile::<T, S, R, 3>(simd, left, right, out, place, begins, finish),
                }
            }
        }
    }
}

/// Memory that a thread keeps for panels.
pub(crate) trait Memory: Sized {
    /// Runs something that needs memory; what is in it is left over from before.
    fn with_scratch(run: impl FnOnce(&mut Vec<Self>));

    /// Lends memory for the left side of a product, which threads may share while it is computed.
    fn with_rows(run: impl FnOnce(&mut Vec<Self>));
}

macro_rules! memories {
    ($($ty:ty),*) => {$(
        impl Memory for $ty {
            fn with_scratch(run: impl FnOnce(&mut Vec<Self>)) {
                thread_local! {
                    static SCRATCH: RefCell<Vec<$ty>> = const { RefCell::new(Vec::new()) };
                }
                SCRATCH.with_borrow_mut(run);
            }

            fn with_rows(run: impl FnOnce(&mut Vec<Self>)) {
                thread_local! {
                    static ROWS: Cell<Vec<$ty>> = const { Cell::new(Vec::new()) };
                }
                // Taken, not borrowed: while this thread waits for others it may take up another product.
                let mut memory = ROWS.take();
                run(&mut memory);
                if memory.capacity() <= KEPT {
                    ROWS.set(memory);
                }
            }
        }
    )*};
}

memories!(f32, f64, i8, i16, i32, i64, u8, u16, u32, u64);

//! Matrix products: cache-blocked panels and register tiles (Goto's algorithm).
//!
//! The left side is packed into panels of a few rows ([`Rows`]), once if it is constant. The right side
//! ([`Columns`]: a matrix, or the windows of a convolution) is packed block by block into thread-local
//! memory. If there are few rows, neither side is packed (`dots`, `thin`). An epilogue scales, shifts, adds
//! to and clamps the sums while they are in registers.
//!
//! `pulp` selects the widest vectors of the processor. Blocks are distributed over the `rayon` pool. Each
//! thread writes disjoint parts of rows, so no locks are needed.
//!
//! Plain form: the sum over the inner axis, in `tests/windows.rs`, `tests/laws.rs` and, for few rows,
//! `tests/fast_paths.rs`.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::rc::Rc;

use pulp::bytemuck::{Pod, cast, cast_slice, cast_slice_mut};
use pulp::{Simd, WithSimd};

mod dots;
mod grid;
pub(crate) mod in_place;
pub(crate) mod integer;
pub(crate) mod lane;
mod operands;
mod panels;
mod thin;
mod tile;

use crate::element::Number;
use crate::error::{KernelErrorKind, invalid};
use crate::fast::threads;
use dots::Dots;
pub(crate) use dots::fits as reads_columns;
use grid::{Grid, Part, even};
use in_place::{InPlace, Sliding, Tile};
use lane::{Lane, dispatch};
use operands::DEPTH;
pub(crate) use operands::{Columns, Lines, Offsets, Rows, Steps};
pub(crate) use panels::Panels;
use thin::row_times;
pub(crate) use tile::Finish;
use tile::{TilePosition, tile};

/// Minimum number of multiplications for which splitting across threads pays.
const MIN_PARALLEL: usize = 1 << 19;

/// Maximum size, in elements, of the left-side scratch buffer that a thread retains.
const MAX_RETAINED: usize = 1 << 22;

/// Maximum number of column panels in a block. With [`DEPTH`] steps, a block fits in the L2 cache.
const MAX_PANELS: usize = 10;

/// A product `left * right` with an epilogue, written to `out`.
pub(crate) struct Job<'a, T> {
    pub(crate) left: &'a Rows<T>,
    pub(crate) right: Columns<'a, T>,
    /// Row-major, with as many rows as `left`.
    pub(crate) out: &'a mut [T],
    pub(crate) columns: usize,
    pub(crate) finish: Finish<'a, T>,
}

/// Part of a product: a range of rows and a range of columns.
struct Task<'g, 'a, T> {
    left: &'a Rows<T>,
    right: Columns<'a, T>,
    out: &'g mut [&'a mut [T]],
    first_panel: usize,
    first_column: usize,
    width: usize,
    columns: usize,
    finish: Finish<'a, T>,
}

/// The largest tile on this processor. Its sums, a step of the right side and a number of the left side fit
/// in the registers, with one to spare: 8 rows of 3 vectors in 32 registers, 6 rows of 2 vectors in 16.
/// Without a spare register, a sum is stored and loaded in every step.
#[derive(Clone, Copy)]
struct TileSize {
    /// Also the number of rows in a panel of the left side.
    rows: usize,
    /// Number of elements of a vector.
    lanes: usize,
    /// Number of vectors across.
    vectors: usize,
}

impl TileSize {
    fn of<T: Lane>() -> Self {
        struct Size<T>(PhantomData<T>);
        impl<T: Lane> WithSimd for Size<T> {
            type Output = TileSize;

            #[inline(always)]
            fn with_simd<S: Simd>(self, _: S) -> TileSize {
                let rows = if S::REGISTER_COUNT >= 32 { 8 } else { 6 };
                TileSize { rows, lanes: T::lanes::<S>(), vectors: T::across::<S>() }
            }
        }
        dispatch::<T, _>(Size::<T>(PhantomData))
    }

    fn columns(self) -> usize {
        self.lanes * self.vectors
    }
}

/// Packs a left side of shape `(rows, depth)` with the given row and element strides.
pub(crate) fn rows<T: Lane>(from: &[T], shape: (usize, usize), strides: (usize, usize)) -> Rows<T> {
    Rows::pack(from, shape, strides, TileSize::of::<T>().rows, Vec::new())
}

/// A matrix in memory, row-major or transposed.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a, T> {
    data: &'a [T],
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    transposed: bool,
}

impl<'a, T> Matrix<'a, T> {
    /// A row-major matrix.
    pub(crate) fn new(data: &'a [T], rows: usize, columns: usize) -> Self {
        Self { data, rows, columns, transposed: false }
    }

    /// A column-major matrix.
    pub(crate) fn transposed(data: &'a [T], rows: usize, columns: usize) -> Self {
        Self { data, rows, columns, transposed: true }
    }

    /// Strides of the rows and of the columns.
    fn strides(self) -> (usize, usize) {
        if self.transposed { (1, self.rows) } else { (self.columns, 1) }
    }

    /// A matrix of the same form with other elements.
    fn with_data<U>(self, data: &[U]) -> Matrix<'_, U> {
        Matrix { data, rows: self.rows, columns: self.columns, transposed: self.transposed }
    }

    fn has_all_elements(&self) -> bool {
        self.rows.checked_mul(self.columns) == Some(self.data.len())
    }
}

/// An element type of matrix products.
pub(crate) trait Factor: Number + Pod {
    /// The type whose products are computed. Unsigned integers are multiplied as signed ones: all bits of
    /// wrapping sums and products are equal.
    type Lane: Lane + Memory + Pod;
}

macro_rules! factors {
    ($($ty:ty: $lane:ty),*) => {$(
        impl Factor for $ty {
            type Lane = $lane;
        }
    )*};
}

factors!(f32: f32, f64: f64, i8: i8, i16: i16, i32: i32, i64: i64, u8: i8, u16: i16, u32: i32, u64: i64);

/// `out = alpha * a * b + addend`.
pub(crate) fn multiply<T: Factor>(
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    out: &mut [T],
    alpha: T,
    addend: Option<&[T]>,
) -> Result<(), KernelErrorKind> {
    let (a, b) = (a.with_data(cast_slice(a.data)), b.with_data(cast_slice(b.data)));
    multiply_lanes::<T::Lane>(a, b, cast_slice_mut(out), cast(alpha), addend.map(cast_slice))
}

fn multiply_lanes<T: Lane + Memory>(
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    out: &mut [T],
    alpha: T,
    addend: Option<&[T]>,
) -> Result<(), KernelErrorKind> {
    if a.columns != b.rows {
        return invalid("the inner extents differ");
    }
    let whole = |list: &[T]| a.rows.checked_mul(b.columns) == Some(list.len());
    if !a.has_all_elements() || !b.has_all_elements() || !whole(out) || !addend.is_none_or(whole) {
        return invalid("the number of elements of a matrix differs from its shape");
    }
    let is_line = a.rows == 1 || b.columns == 1;
    // A matrix with one row or column has both layouts.
    let is_by_column = (!a.transposed || a.rows == 1) && (b.transposed || b.columns == 1);
    // A constant condition, so that dot products of integers are not compiled.
    if T::IS_FLOAT && is_by_column && dots::fits::<T>(a.rows, a.columns, b.columns) {
        let (left, right, depth, columns) = (a.data, b.data, a.columns, b.columns);
        Dots { left, right, depth, columns, alpha, addend }.run(out);
        return Ok(());
    }
    if is_line {
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
        let height = TileSize::of::<T>().rows;
        let left = Rows::pack(a.data, (a.rows, a.columns), a.strides(), height, std::mem::take(memory));
        let (step, column) = b.strides();
        let right = Columns { data: b.data, steps: Steps::Even(step), columns: Offsets::Even(column) };
        let scale = (alpha != T::ONE).then(|| vec![alpha; a.rows]);
        let finish = Finish { scale: scale.as_deref(), addend, ..Finish::NONE };
        run(vec![Job { left: &left, right, out, columns: b.columns, finish }]);
        *memory = left.into_memory();
    });
    Ok(())
}

/// Computes products whose right sides are packed, in parallel if they are large. For most element types
/// there are no others, so that this function is not [`Products::run`], whose code reads windows too.
pub(crate) fn run<T: Lane + Memory>(jobs: Vec<Job<'_, T>>) {
    let work = jobs.iter().map(|job| job.left.rows * job.left.depth.max(1) * job.columns).sum();
    let sharing = Sharing { threads: threads_for(work), jobs: jobs.len(), packing: PACKING };
    let mut cut: Vec<Cut<'_, T>> = jobs.into_iter().map(|job| Cut::new(job, sharing)).collect();
    run_tasks(cut.iter_mut().flat_map(Cut::tasks).collect(), sharing.threads, &compute);
}

/// Products of one kind.
pub(crate) enum Products<'a, T> {
    /// The right sides are packed.
    Packed(Vec<Job<'a, T>>),
    /// The right sides are windows that are read without packing.
    InPlace(Vec<InPlace<'a, T>>, Sliding<'a>),
}

/// Products of one kind, cut.
enum AllCut<'a, T> {
    Packed(Vec<Cut<'a, T>>),
    InPlace(Vec<in_place::Cut<'a, T>>),
}

/// A task of any kind.
enum AnyTask<'g, 'a, T> {
    Packed(Task<'g, 'a, T>),
    InPlace(in_place::Task<'g, 'a, T>),
}

impl<'a, T: Lane + Memory> Products<'a, T> {
    /// Computes products together, in parallel if they are large.
    pub(crate) fn run(all: Vec<Self>) {
        let threads = threads_for(all.iter().map(Self::work).sum());
        let mut cut: Vec<AllCut<'_, T>> = all.into_iter().map(|products| products.cut(threads)).collect();
        let mut tasks = Vec::new();
        for products in &mut cut {
            match products {
                AllCut::Packed(all) => tasks.extend(all.iter_mut().flat_map(Cut::tasks).map(AnyTask::Packed)),
                AllCut::InPlace(all) => {
                    tasks.extend(all.iter_mut().flat_map(in_place::Cut::tasks).map(AnyTask::InPlace));
                }
            }
        }
        run_tasks(tasks, threads, &|task| match task {
            AnyTask::Packed(task) => compute(task),
            AnyTask::InPlace(task) => dispatch::<T, _>(task),
        });
    }

    fn cut(self, threads: usize) -> AllCut<'a, T> {
        match self {
            Self::Packed(jobs) => {
                let sharing = Sharing { threads, jobs: jobs.len(), packing: PACKING };
                AllCut::Packed(jobs.into_iter().map(|job| Cut::new(job, sharing)).collect())
            }
            Self::InPlace(jobs, sliding) => {
                // Nothing is packed.
                let sharing = Sharing { threads, jobs: jobs.len(), packing: 0 };
                let tiles: Rc<[Tile]> = in_place::tiles::<T>(sliding).into();
                let cut = |job| in_place::Cut::new(job, sliding, Rc::clone(&tiles), sharing);
                AllCut::InPlace(jobs.into_iter().map(cut).collect())
            }
        }
    }

    /// Number of multiplications.
    fn work(&self) -> usize {
        let of = |left: &Rows<T>, columns: usize| left.rows * left.depth.max(1) * columns;
        match self {
            Self::Packed(jobs) => jobs.iter().map(|job| of(job.left, job.columns)).sum(),
            Self::InPlace(jobs, sliding) => jobs.iter().map(|job| of(job.left, sliding.columns())).sum(),
        }
    }
}

/// Number of threads for this many multiplications.
fn threads_for(work: usize) -> usize {
    if threads::should_split(work, 2 * MIN_PARALLEL) {
        rayon::current_num_threads().min(work / MIN_PARALLEL)
    } else {
        1
    }
}

/// Computes tasks, in parallel with several threads.
fn run_tasks<T: Send>(tasks: Vec<T>, threads: usize, compute: &(dyn Fn(T) + Sync)) {
    if threads == 1 {
        tasks.into_iter().for_each(compute);
    } else {
        threads::run_all(tasks, compute);
    }
}

/// Cost of packing an element of the right side, in multiplications.
const PACKING: usize = 8;

/// Maximum number of choices along each axis when a product is divided.
const MAX_CHOICES: usize = 16;

/// The circumstances of a division.
#[derive(Clone, Copy)]
struct Sharing {
    threads: usize,
    /// Number of products of this kind that are computed together.
    jobs: usize,
    /// Cost of an element of the right side for each band of rows, in multiplications.
    packing: usize,
}

impl Sharing {
    /// Numbers of blocks of columns and of bands of rows, for these numbers of panels. Minimises the
    /// estimated time of the thread that ends last. More blocks than the cache requires balance threads; more
    /// bands read the right side once more each.
    fn parts(self, across: usize, down: usize, height: usize) -> (usize, usize) {
        let fewest = across.div_ceil(MAX_PANELS).max(1);
        if self.threads == 1 || across == 0 || down == 0 {
            return (fewest, 1);
        }
        let mut best = (usize::MAX, (fewest, 1));
        let most = (fewest + (4 * self.threads).min(MAX_CHOICES)).min(across);
        for blocks in fewest..=most.max(fewest) {
            for bands in 1..=(2 * self.threads).min(MAX_CHOICES).min(down) {
                let cost = across.div_ceil(blocks) * (down.div_ceil(bands) * height + self.packing);
                let rounds = (self.jobs * blocks * bands).div_ceil(self.threads);
                best = best.min((rounds * cost, (blocks, bands)));
            }
        }
        best.1
    }
}

/// A product, cut.
struct Cut<'a, T> {
    left: &'a Rows<T>,
    right: Columns<'a, T>,
    grid: Grid<'a, T>,
    /// Number of columns of a block.
    width: usize,
    columns: usize,
    finish: Finish<'a, T>,
}

impl<'a, T: Lane> Cut<'a, T> {
    fn new(job: Job<'a, T>, sharing: Sharing) -> Self {
        let Job { left, right, out, columns, finish } = job;
        let panel = TileSize::of::<T>().columns();
        let panels = left.rows.div_ceil(left.height);
        let across = columns.div_ceil(panel);
        let (blocks, bands) = sharing.parts(across, panels, left.height);
        let width = across.div_ceil(blocks) * panel;
        let widths = even(columns, width);
        let grid = Grid::new(out, left.rows, &widths, panels.div_ceil(bands) * left.height);
        Self { left, right, grid, width, columns, finish }
    }

    fn tasks(&mut self) -> impl Iterator<Item = Task<'_, 'a, T>> {
        let Self { left, right, grid, width, columns, finish } = self;
        grid.parts().map(|Part { block, first_row, out }| {
            let first_column = block * *width;
            let (first_panel, width) = (first_row / left.height, (*width).min(*columns - first_column));
            Task {
                left,
                right: *right,
                out,
                first_panel,
                first_column,
                width,
                columns: *columns,
                finish: *finish,
            }
        })
    }
}

fn compute<T: Lane + Memory>(task: Task<'_, '_, T>) {
    T::with_scratch(|scratch| dispatch::<T, _>(Compute { task, scratch }));
}

struct Compute<'g, 'a, 's, T> {
    task: Task<'g, 'a, T>,
    scratch: &'s mut Vec<T>,
}

impl<T: Lane> WithSimd for Compute<'_, '_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if S::REGISTER_COUNT >= 32 {
            blocks::<T, S, 8>(simd, self.task, self.scratch);
        } else {
            blocks::<T, S, 6>(simd, self.task, self.scratch);
        }
    }
}

#[inline(always)]
fn blocks<T: Lane, S: Simd, const R: usize>(simd: S, task: Task<'_, '_, T>, scratch: &mut Vec<T>) {
    let (lanes, depth) = (T::lanes::<S>(), task.left.depth);
    let panel = lanes * T::across::<S>();
    let panels = task.width.div_ceil(panel);
    let needed = DEPTH.min(depth) * panels * panel;
    if scratch.len() < needed {
        scratch.resize(needed, T::ZERO);
    }
    // With an inner extent of 0 the epilogue must still run.
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
                let place = TilePosition {
                    row: (task.first_panel + at) * R,
                    column,
                    block: task.first_column,
                    columns: task.columns,
                };
                let begins = first == 0;
                // The compiler removes tiles that are wider than those of the instruction set.
                match (vectors, T::across::<S>()) {
                    (3, 3..) => tile::<T, S, R, 3>(simd, left, right, out, place, begins, finish),
                    (2, 2..) => tile::<T, S, R, 2>(simd, left, right, out, place, begins, finish),
                    _ => tile::<T, S, R, 1>(simd, left, right, out, place, begins, finish),
                }
            }
        }
    }
}

/// Thread-local scratch buffers for panels.
pub(crate) trait Memory: Sized {
    /// Calls a function with a scratch buffer, whose contents are left over from earlier calls.
    fn with_scratch(run: impl FnOnce(&mut Vec<Self>));

    /// Calls a function with a buffer for the left side, which other threads may read during the product.
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
                // Moved out, not borrowed: while waiting, `rayon` may run another product on this thread.
                let mut memory = ROWS.take();
                run(&mut memory);
                if memory.capacity() <= MAX_RETAINED {
                    ROWS.set(memory);
                }
            }
        }
    )*};
}

memories!(f32, f64, i8, i16, i32, i64);

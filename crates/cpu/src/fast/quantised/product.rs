//! Matrix products of 8-bit integers.
//!
//! Plain form: `wide_product` in `ops::quantize::product`.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::element::Element;

use crate::element::{build_over, check_size};
use crate::error::KernelErrorKind;
use crate::fast::product::integer::{
    self, Bytes, Job, Left, PackedRight, Right, Signs, Sink, Windowed, Zeros,
};
use crate::fast::product::{Memory, Offsets, Steps};
use crate::ops::matmul::Batches;
use crate::shape::count;
use crate::work;

/// The right side of products with the same columns: 8-bit integers of shape `(depth, columns)`.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    packed: PackedRight,
    /// Zero points of the bytes as `i8`.
    zeros: Zeros,
}

impl Columns {
    /// Packs a matrix; `None` if it has another rank, or zero points of another shape.
    pub(crate) fn pack(b: &AnyTensor, zero: Option<&AnyTensor>) -> Option<Self> {
        let &[depth, columns] = b.shape() else { return None };
        let zeros = column_zeros(b, zero)?;
        Some(Self { packed: PackedRight::new(matrix(Bytes::of(b).ok()?, columns), depth, columns), zeros })
    }

    /// Packs a matrix of shape `(columns, depth)`, with one zero point, or one per row.
    pub(crate) fn pack_transposed(b: &AnyTensor, zero: Option<&AnyTensor>) -> Option<Self> {
        let &[columns, depth] = b.shape() else { return None };
        let bytes = Bytes::of(b).ok()?;
        let zeros = shifted(zeros(b, zero, 0)?, bytes.signs);
        let windowed = Windowed { bytes, steps: Steps::Even(1), columns: Offsets::Even(depth) };
        Some(Self { packed: PackedRight::new(windowed, depth, columns), zeros })
    }

    /// Shape of the matrix.
    pub(crate) fn shape(&self) -> [usize; 2] {
        [self.packed.depth(), self.packed.columns()]
    }
}

/// A row-major matrix.
fn matrix(bytes: Bytes<'_>, columns: usize) -> Windowed<'_> {
    Windowed { bytes, steps: Steps::Even(columns), columns: Offsets::Even(1) }
}

/// Zero points as integers: one, or one per index of `axis`, which is the only other axis of an extent above
/// 1.
pub(crate) fn zeros(x: &AnyTensor, zero: Option<&AnyTensor>, axis: usize) -> Option<Zeros> {
    let Some(zero) = zero else { return Some(Zeros::One(0)) };
    let bytes = Bytes::of(zero).ok().filter(|_| zero.dtype() == x.dtype())?;
    if let [byte] = bytes.data {
        return Some(Zeros::One(bytes.signs.value(*byte)));
    }
    let extent = *x.shape().get(axis)?;
    let is_list = match zero.rank() {
        1 => true,
        rank => rank == x.rank() && zero.shape()[axis] == extent,
    };
    let values = bytes.data.iter().map(|byte| bytes.signs.value(*byte));
    (is_list && zero.len() == extent).then(|| Zeros::Each(values.collect()))
}

/// Zero points of bytes as `i8`.
fn shifted(zeros: Zeros, signs: Signs) -> Zeros {
    match zeros {
        Zeros::One(zero) => Zeros::One(zero - signs.bias()),
        Zeros::Each(zeros) => Zeros::Each(zeros.into_iter().map(|zero| zero - signs.bias()).collect()),
    }
}

/// Zero points of the columns of `b`, as `i8`.
fn column_zeros(b: &AnyTensor, zero: Option<&AnyTensor>) -> Option<Zeros> {
    let axis = b.rank().checked_sub(1).filter(|rank| *rank > 0 || zero.is_none_or(|zero| zero.len() == 1))?;
    Some(shifted(zeros(b, zero, axis)?, Bytes::of(b).ok()?.signs))
}

/// Zero points of the rows of `a`, for `rows` rows of all matrices together: one, one per row of each matrix,
/// or one per row of all.
fn row_zeros(a: &AnyTensor, zero: Option<&AnyTensor>, rows: usize) -> Option<Zeros> {
    if zero.is_some_and(|zero| zero.len() != 1) && a.rank() < 2 {
        return None;
    }
    if let Some(zero) = zero
        && let Some((1, outer)) = zero.shape().split_last()
        && zero.dtype() == a.dtype()
        && zero.rank() == a.rank()
        && a.shape().starts_with(outer)
        && zero.len() == rows
    {
        let bytes = Bytes::of(zero).ok()?;
        return Some(Zeros::Each(bytes.data.iter().map(|byte| bytes.signs.value(*byte)).collect()));
    }
    Some(match zeros(a, zero, a.rank().saturating_sub(2))? {
        Zeros::Each(zeros) => Zeros::Each(zeros.into_iter().cycle().take(rows).collect()),
        zeros @ Zeros::One(_) => zeros,
    })
}

/// Product of `a` with packed columns. `None` if zero points have another shape.
pub(crate) fn with_columns<T: Element>(
    a: &AnyTensor,
    zero: Option<&AnyTensor>,
    columns: &Columns,
    sink: &Sink<'_, T>,
) -> Result<Option<AnyTensor>, KernelErrorKind> {
    let batches = Batches::of(a.shape(), &columns.shape())?;
    let rows = count(&batches.outer) * batches.m;
    let Some(zeros) = row_zeros(a, zero, rows) else { return Ok(None) };
    let bytes = Bytes::of(a)?;
    let (k, n) = (batches.k, batches.n);
    work::spend_products(a.dtype(), &[rows, k, n])?;
    // The left side is packed with 16 bits.
    check_size(&[rows, k], size_of::<i16>())?;
    let result = build_over::<T>(&batches.shape, |out| {
        let right = Right::Packed(&columns.packed);
        with_left(bytes, (rows, k), &zeros, |left| {
            integer::run(vec![Job {
                left,
                right,
                zeros: &columns.zeros,
                first_row: 0,
                out,
                columns: n,
                sink,
            }]);
        });
    })?;
    Ok(Some(result))
}

/// Packs a row-major left side into memory that the thread keeps.
fn with_left(bytes: Bytes<'_>, (rows, k): (usize, usize), zeros: &Zeros, run: impl FnOnce(&Left)) {
    i16::with_rows(|memory| {
        let left = Left::pack(bytes, (rows, k), (k, 1), zeros, std::mem::take(memory));
        run(&left);
        *memory = left.into_memory();
    });
}

/// Batched product of 8-bit integers. `None` if zero points have another shape.
pub(crate) fn product<T: Element>(
    (a, a_zero): (&AnyTensor, Option<&AnyTensor>),
    (b, b_zero): (&AnyTensor, Option<&AnyTensor>),
    sink: &Sink<'_, T>,
) -> Result<Option<AnyTensor>, KernelErrorKind> {
    let (left, right) = (Bytes::of(a)?, Bytes::of(b)?);
    let batches = Batches::of(a.shape(), b.shape())?;
    let (m, k, n) = (batches.m, batches.k, batches.n);
    work::spend_products(a.dtype(), &[&batches.outer[..], &[m, k, n]].concat())?;
    let shared = batches.shares_right();
    let rows = if shared { count(&batches.outer) * m } else { m };
    let Some((a_zeros, b_zeros)) = row_zeros(a, a_zero, rows).zip(column_zeros(b, b_zero)) else {
        return Ok(None);
    };
    let result = build_over::<T>(&batches.shape, |out| {
        if out.is_empty() {
            return;
        }
        let multiply = |a: usize, b: usize, out: &mut [T]| {
            let right = Right::Windowed(matrix(right.from(b), n));
            with_left(left.from(a), (rows, k), &a_zeros, |left| {
                let job = Job { left, right, zeros: &b_zeros, first_row: 0, out, columns: n, sink };
                integer::run(vec![job]);
            });
        };
        if shared {
            // If all products share the right side, one large product replaces them.
            return multiply(0, 0, out);
        }
        batches.each(|flat, a, b| multiply(a, b, &mut out[flat * m * n..][..m * n]));
    })?;
    Ok(Some(result))
}

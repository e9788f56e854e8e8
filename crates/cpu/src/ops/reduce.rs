//! Reductions along axes, `ArgMin`/`ArgMax`, and cumulative sums and products.
//!
//! Adjacent axes of floats are reduced without copies, see [`reductions`]. Otherwise the reduced axes are
//! transposed to the end, so that each result is computed from one contiguous row.

use std::mem;
use std::ops::Range;

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::layout::permute;
use super::{Operator, native, widened};
use crate::call::{Call, Outcome, one};
use crate::element::{Number, build, build_over, check_size, on_floats, on_numbers, vectorised};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::{reductions, threads};
use crate::shape::{around, axes, axis, count};

pub(super) const OPERATORS: &[Operator] = &[
    widened("ReduceSum", |call| reduce(call, Reduction::Sum)),
    widened("ReduceMean", |call| reduce(call, Reduction::Mean)),
    widened("ReduceMax", |call| reduce(call, Reduction::Max)),
    widened("ReduceMin", |call| reduce(call, Reduction::Min)),
    widened("ReduceProd", |call| reduce(call, Reduction::Prod)),
    widened("ReduceL1", |call| reduce(call, Reduction::L1)),
    widened("ReduceL2", |call| reduce(call, Reduction::L2)),
    widened("ReduceLogSum", |call| reduce(call, Reduction::LogSum)),
    widened("ReduceLogSumExp", |call| reduce(call, Reduction::LogSumExp)),
    widened("ReduceSumSquare", |call| reduce(call, Reduction::SumSquare)),
    native("ArgMax", |call| arg(call, true)),
    native("ArgMin", |call| arg(call, false)),
    widened("CumSum", |call| running(call, false)),
    widened("CumProd", |call| running(call, true)),
];

/// Reduction applied to one row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reduction {
    Sum,
    Mean,
    Max,
    Min,
    Prod,
    L1,
    L2,
    LogSum,
    LogSumExp,
    SumSquare,
}

fn reduce(call: &mut Call<'_>, kind: Reduction) -> Outcome {
    let given = call.integers_or(1, "axes")?.filter(|axes| !axes.is_empty());
    let keep = call.flag("keepdims", true)?;
    let noop = call.flag("noop_with_empty_axes", false)?;
    let x = call.take(0)?;
    let axes = match given {
        Some(given) => axes(&given, x.rank())?,
        None if noop => Vec::new(),
        None => (0..x.rank()).collect(),
    };
    one(reduce_axes(&x, &axes, keep, kind)?)
}

/// Reduces the axes, which are kept with extent 1 or dropped.
pub(crate) fn reduce_axes(
    x: &AnyTensor,
    axes: &[usize],
    keep: bool,
    kind: Reduction,
) -> Result<AnyTensor, KernelErrorKind> {
    if x.dtype() == Dtype::Bool && matches!(kind, Reduction::Max | Reduction::Min) {
        let bytes = super::cast::convert(x, Dtype::U8)?;
        return super::cast::convert(&reduce_axes(&bytes, axes, keep, kind)?, Dtype::Bool);
    }
    let kept: Vec<usize> = (0..x.rank()).filter(|axis| !axes.contains(axis)).collect();
    let mut reduced = axes.to_vec();
    reduced.sort_unstable();
    let shape: Vec<usize> = if keep {
        let extent = |(axis, extent): (usize, &usize)| if axes.contains(&axis) { 1 } else { *extent };
        x.shape().iter().enumerate().map(extent).collect()
    } else {
        kept.iter().map(|axis| x.shape()[*axis]).collect()
    };
    let width: usize = reduced.iter().map(|axis| x.shape()[*axis]).product();
    if let (Dtype::F32 | Dtype::F64, Some((first, last))) = (x.dtype(), reduced.first().zip(reduced.last()))
        && last - first + 1 == reduced.len()
        && !x.is_empty()
    {
        let inner = count(&x.shape()[last + 1..]);
        return on_floats!(x.dtype(), T => {
            let data = x.as_slice::<T>()?;
            build_over::<T>(&shape, |out| reductions::reduce(data, width, inner, kind, out))
        });
    }
    let order: Vec<usize> = kept.iter().chain(&reduced).copied().collect();
    let rows = permute(x, &order)?;
    if let (Dtype::F32 | Dtype::F64, 1..) = (x.dtype(), rows.len()) {
        return on_floats!(x.dtype(), T => {
            let data = rows.as_slice::<T>()?;
            build_over::<T>(&shape, |out| reductions::reduce(data, width, 1, kind, out))
        });
    }
    on_numbers!(x.dtype(), T => {
        let data = rows.as_slice::<T>()?;
        build::<T>(&shape, |out| {
            if width == 0 {
                out.fill(row::<T>(&[], kind));
            } else {
                out.iter_mut().zip(data.chunks_exact(width)).for_each(|(out, data)| *out = row(data, kind));
            }
        })
    })
}

fn row<T: Number>(data: &[T], kind: Reduction) -> T {
    // `Iterator::sum` starts at -0.0; the sum of no elements must be 0.0.
    let sum = |each: fn(f64) -> f64| data.iter().fold(0.0, |sum, value| sum + each(value.to_f64()));
    match kind {
        Reduction::Max => data.iter().copied().fold(T::LOWEST, T::max_of),
        Reduction::Min => data.iter().copied().fold(T::HIGHEST, T::min_of),
        Reduction::Prod => data.iter().copied().fold(T::ONE, T::times),
        Reduction::Sum if !T::IS_FLOAT => data.iter().copied().fold(T::ZERO, T::plus),
        Reduction::SumSquare if !T::IS_FLOAT => {
            data.iter().map(|value| value.times(*value)).fold(T::ZERO, T::plus)
        }
        Reduction::Sum => T::from_f64(sum(|value| value)),
        Reduction::Mean => T::from_f64(sum(|value| value) / data.len() as f64),
        Reduction::L1 => T::from_f64(sum(f64::abs)),
        Reduction::L2 => T::from_f64(sum(|value| value * value).sqrt()),
        Reduction::SumSquare => T::from_f64(sum(|value| value * value)),
        Reduction::LogSum => T::from_f64(sum(|value| value).ln()),
        Reduction::LogSumExp => {
            let most = data.iter().map(|value| value.to_f64()).fold(f64::NEG_INFINITY, f64::max);
            // The general formula does not apply: `inf - inf` is NaN, and `f64::max` ignores NaN elements.
            if most.is_infinite() {
                let is_number = data.iter().all(|value| !value.to_f64().is_nan());
                return T::from_f64(if is_number { most } else { f64::NAN });
            }
            let sum: f64 = data.iter().map(|value| (value.to_f64() - most).exp()).sum();
            T::from_f64(most + sum.ln())
        }
    }
}

fn arg(call: &mut Call<'_>, greatest: bool) -> Outcome {
    let keep = call.flag("keepdims", true)?;
    let last = call.flag("select_last_index", false)?;
    let x = crate::element::widen(call.tensor(0)?.clone())?;
    let axis = axis(call.int("axis", 0)?, x.rank())?;
    let (outer, extent, inner) = around(x.shape(), axis);
    if extent == 0 && outer * inner > 0 {
        return invalid("an empty axis has no minimum or maximum");
    }
    let mut shape = x.shape().to_vec();
    if keep {
        shape[axis] = 1;
    } else {
        shape.remove(axis);
    }
    one(on_numbers!(x.dtype(), T => {
        let data = x.as_slice::<T>()?;
        build::<i64>(&shape, |out| {
            let better = |new: T, old: T| {
                let better = if greatest { new > old } else { new < old };
                better || (last && new == old) || (new.is_nan() && !old.is_nan())
            };
            let each = |at: usize, out: &mut [i64]| {
                if inner == 1 {
                    for (out, row) in out.iter_mut().zip(data[at * extent..].chunks_exact(extent)) {
                        let mut best = (0, row[0]);
                        for (index, new) in row.iter().enumerate() {
                            best = if better(*new, best.1) { (index, *new) } else { best };
                        }
                        *out = best.0 as i64;
                    }
                    return;
                }
                for (elements, out) in Blocks::new(at, out, extent, inner) {
                    let data = &data[elements];
                    let mut best = data[..out.len()].to_vec();
                    out.fill(0);
                    for (index, line) in data.chunks(inner).enumerate().skip(1) {
                        for (out, (best, new)) in out.iter_mut().zip(best.iter_mut().zip(line)) {
                            if better(*new, *best) {
                                (*out, *best) = (index as i64, *new);
                            }
                        }
                    }
                }
            };
            if !out.is_empty() {
                threads::in_parts(out, part(extent, inner), &each);
            }
        })
    })?)
}

fn running(call: &mut Call<'_>, product: bool) -> Outcome {
    let (exclusive, reverse) = (call.flag("exclusive", false)?, call.flag("reverse", false)?);
    let given = call.integer(1)?.ok_or(KernelErrorKind::MissingInput(1))?;
    let mut x = call.take(0)?;
    let axis = axis(given, x.rank())?;
    let (_, extent, inner) = around(x.shape(), axis);
    on_numbers!(x.dtype(), T => {
        let data = x.as_mut_slice::<T>()?;
        for data in data.chunks_exact_mut((extent * inner).max(1)) {
            let mut totals = vec![if product { T::ONE } else { T::ZERO }; inner];
            let mut add = |line: &mut [T]| {
                for (total, slot) in totals.iter_mut().zip(line) {
                    let next = if product { total.times(*slot) } else { total.plus(*slot) };
                    *slot = if exclusive { *total } else { next };
                    *total = next;
                }
            };
            if reverse { data.chunks_exact_mut(inner).rev().for_each(add) } else { data.chunks_exact_mut(inner).for_each(&mut add) }
        }
        Ok(())
    })?;
    one(x)
}

/// Mean and variance of each row of floats; those of an empty row are not numbers. The number of empty rows
/// has no bound in the data, so it is admitted like the elements of a tensor.
pub(crate) fn moments(x: &AnyTensor, rows: usize, width: usize) -> Result<Vec<(f64, f64)>, KernelErrorKind> {
    check_size(&[rows], size_of::<(f64, f64)>())?;
    let mut all = vec![(f64::NAN, f64::NAN); rows];
    if let Some(part) = MIN_PARALLEL.checked_div(width) {
        on_floats!(x.dtype(), T => {
            let data = x.as_slice::<T>()?;
            threads::in_parts(&mut all, part.max(1), &|at, all| {
                vectorised::<T, _>(#[inline(always)] || {
                    for (moments, row) in all.iter_mut().zip(data[at * width..].chunks_exact(width)) {
                        *moments = reductions::moments(row);
                    }
                });
            });
            Ok(())
        })?;
    }
    Ok(all)
}

/// Number of adjacent rows that are reduced together.
pub(crate) const BLOCK: usize = 128;

/// Minimum number of elements for which splitting across threads pays.
const MIN_PARALLEL: usize = 1 << 16;

/// Number of results of a task.
pub(crate) fn part(extent: usize, inner: usize) -> usize {
    let enough = MIN_PARALLEL / extent;
    if inner == 1 { enough.max(1) } else { enough.next_multiple_of(BLOCK).max(BLOCK) }
}

/// Divides consecutive results of a reduction from `[outer, extent, inner]` to `[outer, inner]` where a new
/// index of `outer` begins. Yields each part with the range of the elements from its first one to the end of
/// its index.
pub(crate) struct Blocks<'a, T> {
    rest: &'a mut [T],
    /// Indices of the first result of the rest.
    outer: usize,
    column: usize,
    extent: usize,
    inner: usize,
}

impl<'a, T> Blocks<'a, T> {
    /// Divides results from the index `at` in `[outer, inner]`.
    pub(crate) fn new(at: usize, results: &'a mut [T], extent: usize, inner: usize) -> Self {
        Self { rest: results, outer: at / inner, column: at % inner, extent, inner }
    }
}

impl<'a, T> Iterator for Blocks<'a, T> {
    type Item = (Range<usize>, &'a mut [T]);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let len = self.rest.len().min(self.inner - self.column);
        let (own, rest) = mem::take(&mut self.rest).split_at_mut(len);
        let plane = self.extent * self.inner;
        let elements = self.outer * plane + self.column..(self.outer + 1) * plane;
        (self.rest, self.outer, self.column) = (rest, self.outer + 1, 0);
        Some((elements, own))
    }
}

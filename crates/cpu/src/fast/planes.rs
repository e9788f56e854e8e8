//! Depthwise convolutions: each output plane is a weighted sum of shifted copies of one input plane.
//!
//! Plain form: `by_rows` for windows that [`Polyphase`] does not support, and for all of them the sum over
//! each window in `tests/windows.rs`.

use typeloom_tensor::any_tensor::AnyTensor;

use crate::element::{Number, build_over, vectorised};
use crate::error::KernelErrorKind;
use crate::fast::polyphase::Polyphase;
use crate::fast::product::Finish;
use crate::fast::product::lane::Lane;
use crate::fast::threads;
use crate::memory;
use crate::ops::filter::{Filter, Finishing, finish, framed};
use crate::ops::sliding::Windows;
use crate::shape::{count, each_strided};

/// Minimum number of operations for which splitting across threads pays.
const MIN_PARALLEL: usize = 1 << 17;

pub(crate) fn by_planes<T: Lane>(
    filter: &Filter,
    w: &AnyTensor,
    windows: &Windows,
    x: &AnyTensor,
    shape: &[usize],
    finishing: &Finishing<'_>,
) -> Result<AnyTensor, KernelErrorKind> {
    let Some(layout) = Polyphase::of(windows) else {
        return by_rows::<T>(filter, w, windows, x, shape, finishing);
    };
    let (data, weights) = (x.as_slice::<T>()?, w.as_slice::<T>()?);
    let finish = finish::<T>(finishing)?;
    let outputs = filter.shape[0];
    let group_outputs = outputs / filter.groups;
    let (kernel, positions, plane) = (count(&windows.kernel), count(&windows.output), count(&windows.input));
    let _frame = memory::reserve::<T>(layout.size().saturating_add(layout.columns()))?;
    build_over::<T>(shape, |out| {
        if out.is_empty() {
            return;
        }
        // One input plane yields `group_outputs` planes.
        let work = |first: usize, out: &mut [T]| {
            vectorised::<T, _>(
                #[inline(always)]
                || {
                    let mut frame = vec![T::ZERO; layout.size()];
                    let mut sums = vec![T::ZERO; layout.columns()];
                    for (at, out) in out.chunks_exact_mut(group_outputs * positions).enumerate() {
                        let at = first + at;
                        layout.fill(&data[at * plane..][..plane], &mut frame, |value| value);
                        for (member, out) in out.chunks_exact_mut(positions).enumerate() {
                            let at = at * group_outputs + member;
                            let channel = at % outputs;
                            let weights = &weights[channel * kernel..][..kernel];
                            layout.fold(
                                &frame,
                                T::ZERO,
                                &mut sums,
                                #[inline(always)]
                                |sum: T, tap, value: T| sum.plus(weights[tap].times(value)),
                            );
                            layout.each_line(
                                &sums,
                                out,
                                #[inline(always)]
                                |_, sums, out| out.copy_from_slice(sums),
                            );
                            finish_plane(out, &finish.part(channel, at * positions));
                        }
                    }
                },
            );
        };
        let cost = group_outputs * layout.columns() * kernel;
        let size = group_outputs * positions;
        let planes = out.len() / size;
        if threads::should_split(planes * cost, 2 * MIN_PARALLEL) {
            let share = (MIN_PARALLEL / cost).clamp(1, planes.div_ceil(4));
            threads::split_rows(out, share * size, &|at, out| work(at * share, out));
        } else {
            work(0, out);
        }
    })
}

/// For windows with few results next to their elements: one row of windows after the other.
fn by_rows<T: Lane>(
    filter: &Filter,
    w: &AnyTensor,
    windows: &Windows,
    x: &AnyTensor,
    shape: &[usize],
    finishing: &Finishing<'_>,
) -> Result<AnyTensor, KernelErrorKind> {
    let weights = w.as_slice::<T>()?;
    let finish = finish::<T>(finishing)?;
    let outputs = filter.shape[0];
    let group_outputs = outputs / filter.groups;
    let (kernel, positions) = (count(&windows.kernel), count(&windows.output));
    let input = framed::<T>(windows, x, 0)?;
    let data = input.elements::<T>()?;
    let plane = count(&input.extents);
    let (within, lines) = (windows.steps(1, &input.extents), windows.lines(&input.extents));
    let step = windows.strides.last().copied().unwrap_or(1);
    let width = windows.width();
    let result = build_over::<T>(shape, |out| {
        if out.is_empty() {
            return;
        }
        let work = |at: usize, out: &mut [T]| {
            let (batch, channel) = (at / outputs, at % outputs);
            let from = &data[(batch * filter.groups + channel / group_outputs) * plane..][..plane];
            let weights = &weights[channel * kernel..][..kernel];
            let finish = finish.part(channel, at * positions);
            vectorised::<T, _>(
                #[inline(always)]
                || {
                    for (out, start) in out.chunks_exact_mut(width).zip(&lines) {
                        row(out, from, *start, step, &within, weights);
                    }
                    finish_plane(out, &finish);
                },
            );
        };
        let is_parallel = threads::should_split(out.len() * kernel, 4 * MIN_PARALLEL);
        threads::each_chunk(out, positions, is_parallel, MIN_PARALLEL / (positions * kernel), &work);
    });
    input.recycle();
    result
}

/// One row of windows over one plane.
#[inline(always)]
fn row<T: Number>(out: &mut [T], plane: &[T], start: usize, step: usize, within: &[usize], weights: &[T]) {
    out.fill(T::ZERO);
    for (offset, weight) in within.iter().zip(weights) {
        let from = &plane[start + offset..];
        each_strided(
            out,
            from,
            step,
            #[inline(always)]
            |out, from| *out = out.plus(weight.times(from)),
        );
    }
}

/// Applies the epilogue to the sums of one channel.
#[inline(always)]
fn finish_plane<T: Number>(out: &mut [T], finish: &Finish<'_, T>) {
    let scale = finish.scale.and_then(|list| list.first()).copied();
    let offset = finish.offset.and_then(|list| list.first()).copied();
    if let Some(scale) = scale {
        for out in out.iter_mut() {
            *out = out.times(scale);
        }
    }
    if let Some(offset) = offset {
        for out in out.iter_mut() {
            *out = out.plus(offset);
        }
    }
    if let Some(addend) = finish.addend {
        for (out, addend) in out.iter_mut().zip(addend) {
            *out = out.plus(*addend);
        }
    }
    if let Some((low, high)) = finish.bounds {
        for out in out {
            let raised = if *out < low { low } else { *out };
            *out = if raised > high { high } else { raised };
        }
    }
}

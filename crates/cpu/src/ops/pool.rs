//! Pooling over sliding windows, global pooling, `LpPool` and `MaxUnpool`.
//!
//! Pooling reduces the elements in each position of a sliding window:
//!
//! ```text
//! MaxPool <kernel_shape = [3], strides = [2]> ([1, 5, 2, 8, 3])     [max(1, 5, 2), max(2, 8, 3)] = [5, 8]
//! ```
//!
//! A loop over windows with an inner loop over their few elements does not vectorise. The loops are
//! exchanged: for each position in the window, one loop visits a row of adjacent windows and their evenly
//! spaced elements ([`Stretch`], [`along`]). Windows that suit [`Polyphase`] take a faster path ([`folded`]);
//! `tests/windows.rs` compares both. Indices of maxima need the elements of each window in order
//! ([`Windows::elements`]). Global pooling is a reduction over the spatial axes. `MaxUnpool` inverts a
//! pooling by its indices.
//!
//! The time is the number of results times the size of the window, requested as work first ([`windows`]). The
//! list of windows is made for one plane and shared by all. Planes are distributed over threads if there is
//! enough work ([`MIN_PARALLEL`]).
//!
//! **Invariant:** a maximum is NaN if an element is. Sums accumulate in `f64`.
//!
//! Limits:
//!
//! - `MaxPool`, `AveragePool` and `LpPool` need at least one spatial axis.
//! - `MaxPool` supports floats and 8-bit integers. `AveragePool`, `LpPool` and `MaxUnpool` support floats.
//! - A window without elements has the least number as its maximum, and NaN as its average.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::reduce::{Reduction, reduce_axes};
use super::sliding::{Stretch, Windows, pads, per_axis};
use super::{Operator, widened, widened_to};
use crate::call::{Call, Outcome, integers, one};
use crate::element::{Number, build, build_over, check_extents, check_size, dispatch, on_floats, vectorised};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::polyphase::Polyphase;
use crate::fast::threads;
use crate::memory::{self, scratch};
use crate::shape::{count, each_strided, extents, strides};
use crate::work;

pub(super) const OPERATORS: &[Operator] = &[
    widened_to("MaxPool", 1, max_pool),
    widened("AveragePool", average_pool),
    widened("LpPool", lp_pool),
    widened("GlobalAveragePool", |call| global(call, Reduction::Mean)),
    widened("GlobalMaxPool", |call| global(call, Reduction::Max)),
    widened("GlobalLpPool", global_lp_pool),
    widened("MaxUnpool", max_unpool),
];

fn windows(call: &Call<'_>, x: &AnyTensor) -> Result<(Windows, Vec<usize>), KernelErrorKind> {
    if x.rank() < 3 {
        return invalid(format!("the input has rank {}, not above 2", x.rank()));
    }
    let kernel =
        call.attributes.ints("kernel_shape")?.ok_or(KernelErrorKind::MissingAttribute("kernel_shape"))?;
    let windows = Windows::of(call, &x.shape()[2..], &extents(kernel)?)?;
    let shape = [&x.shape()[..2], &windows.output[..]].concat();
    work::spend_each(&[&shape[..], &windows.kernel[..]].concat())?;
    Ok((windows, shape))
}

/// Minimum number of operations for which splitting across threads pays.
const MIN_PARALLEL: usize = 1 << 17;

/// Computes each output plane from an input plane, in parallel if there is enough work.
fn planes<T: Number>(
    data: &[T],
    plane: usize,
    out: &mut [T],
    outputs: usize,
    steps: usize,
    each: impl Fn(&[T], &mut [T]) + Sync,
) {
    if plane == 0 || outputs == 0 {
        out.fill(T::ZERO);
        return;
    }
    let work = |at: usize, out: &mut [T]| {
        vectorised::<T, _>(|| each(&data[at * plane..][..plane], out));
    };
    let is_parallel = threads::should_split(data.len() / plane * steps, 4 * MIN_PARALLEL);
    threads::each_chunk(out, outputs, is_parallel, MIN_PARALLEL / steps.max(1), &work);
}

/// Accumulates a run of elements into the windows that cover it.
#[inline(always)]
fn along<T: Copy, A>(stretch: &Stretch, step: usize, data: &[T], sums: &mut [A], each: impl Fn(&mut A, T)) {
    let sums = &mut sums[stretch.window..stretch.window + stretch.len];
    each_strided(sums, &data[stretch.start..], step, each);
}

fn max_pool(call: &mut Call<'_>) -> Outcome {
    let x = call.tensor(0)?;
    let (windows, shape) = windows(call, x)?;
    if call.outputs > 1 {
        return max_pool_with_indices(call, x, &windows, &shape);
    }
    if let Some(layout) = Polyphase::of(&windows) {
        return one(dispatch!(x.dtype(), T in [F32 f32, F64 f64, U8 u8, I8 i8] => {
            folded::<T, T>(x, &layout, &shape, T::LOWEST, |value| value, greater, |_, best| best)
        })?);
    }
    let (stretches, outputs) = (windows.stretches()?, count(&windows.output));
    let step = windows.strides.last().copied().unwrap_or(1);
    one(dispatch!(x.dtype(), T in [F32 f32, F64 f64, U8 u8, I8 i8] => {
        let data = x.as_slice::<T>()?;
        build_over::<T>(&shape, |out| {
            out.fill(T::LOWEST);
            let steps = outputs * count(&windows.kernel);
            planes(data, count(&windows.input), out, outputs, steps, #[inline(always)] |data, out| {
                for stretch in &*stretches {
                    along(stretch, step, data, out, #[inline(always)] |best: &mut T, value: T| {
                        *best = greater(*best, value);
                    });
                }
            });
        })
    })?)
}

/// The greater number; NaN if either is NaN.
#[inline(always)]
fn greater<T: Number>(best: T, value: T) -> T {
    if value > best || value.is_nan() { value } else { best }
}

/// Folds the elements of each window, from `first` on, which is also the value of the padding. `finish`
/// receives the number of the window.
fn folded<T: Number, A: Number>(
    x: &AnyTensor,
    layout: &Polyphase,
    shape: &[usize],
    first: A,
    widen: impl Fn(T) -> A + Sync,
    each: impl Fn(A, A) -> A + Sync,
    finish: impl Fn(usize, A) -> T + Sync,
) -> Result<AnyTensor, KernelErrorKind> {
    let data = x.as_slice::<T>()?;
    let (plane, outputs) = (layout.plane(), layout.windows());
    let _frame = memory::reserve::<A>(layout.size().saturating_add(layout.columns()))?;
    build_over::<T>(shape, |out| {
        let work = |number: usize, out: &mut [T]| {
            vectorised::<T, _>(
                #[inline(always)]
                || {
                    let mut frame = vec![first; layout.size()];
                    let mut results = vec![first; layout.columns()];
                    for (at, out) in out.chunks_exact_mut(outputs).enumerate() {
                        layout.fill(&data[(number + at) * plane..][..plane], &mut frame, &widen);
                        layout.fold(
                            &frame,
                            first,
                            &mut results,
                            #[inline(always)]
                            |sum, _, value| each(sum, value),
                        );
                        layout.each_line(
                            &results,
                            out,
                            #[inline(always)]
                            |start, results, out| {
                                for (at, (out, result)) in out.iter_mut().zip(results).enumerate() {
                                    *out = finish(start + at, *result);
                                }
                            },
                        );
                    }
                },
            );
        };
        let cost = layout.work();
        let planes = out.len() / outputs;
        if threads::should_split(planes * cost, 2 * MIN_PARALLEL) {
            let share = (MIN_PARALLEL / cost).clamp(1, planes.div_ceil(4));
            threads::split_rows(out, share * outputs, &|at, out| work(at * share, out));
        } else {
            work(0, out);
        }
    })
}

fn max_pool_with_indices(call: &Call<'_>, x: &AnyTensor, windows: &Windows, shape: &[usize]) -> Outcome {
    let by_column = call.flag("storage_order", false)?;
    let plane = count(&windows.input);
    let elements = windows.elements()?;
    let input_strides = strides(&windows.input);
    // Offsets with the axes in column-major order (`storage_order`).
    let column_major = |offset: usize| {
        let (mut rest, mut scale, mut index) = (offset, 1, 0);
        for (stride, extent) in input_strides.iter().zip(&windows.input) {
            index += rest / stride * scale;
            rest %= stride;
            scale *= extent;
        }
        index
    };
    check_size(shape, size_of::<i64>())?;
    let mut indices = vec![0_i64; count(shape)];
    let result = dispatch!(x.dtype(), T in [F32 f32, F64 f64, U8 u8, I8 i8] => {
        let data = x.as_slice::<T>()?;
        build::<T>(shape, |out| {
            let rows = out.chunks_exact_mut(elements.len().max(1));
            for (lane, (row, data)) in rows.zip(data.chunks_exact(plane.max(1))).enumerate() {
                for (at, (slot, offsets)) in row.iter_mut().zip(&*elements).enumerate() {
                    let mut best = T::LOWEST;
                    let mut chosen = offsets.first().copied().unwrap_or(0);
                    for offset in offsets {
                        let value = data[*offset];
                        if value > best || value.is_nan() {
                            best = value;
                            chosen = *offset;
                        }
                    }
                    *slot = best;
                    if let Some(index) = indices.get_mut(lane * elements.len() + at) {
                        let within = if by_column { column_major(chosen) } else { chosen };
                        *index = (lane * plane + within) as i64;
                    }
                }
            }
        })
    })?;
    Ok(vec![result.into(), AnyTensor::from_slice(shape, &indices)?.into()])
}

fn average_pool(call: &mut Call<'_>) -> Outcome {
    let include = call.flag("count_include_pad", false)?;
    let x = call.tensor(0)?;
    let (windows, shape) = windows(call, x)?;
    let stretches = windows.stretches()?;
    let counts = if include {
        windows.padded_counts()?
    } else {
        let mut counts = scratch(0, count(&windows.output))?;
        for stretch in &*stretches {
            counts[stretch.window..stretch.window + stretch.len].iter_mut().for_each(|count| *count += 1);
        }
        counts
    };
    if let Some(layout) = Polyphase::of(&windows) {
        return one(on_floats!(x.dtype(), T => {
            folded::<T, f64>(
                x,
                &layout,
                &shape,
                0.0,
                Number::to_f64,
                |sum, value| sum + value,
                |at, sum| T::from_f64(sum / counts[at] as f64),
            )
        })?);
    }
    one(summed(x, &windows, &stretches, &shape, |value| value, |at, sum| sum / counts[at] as f64)?)
}

fn lp_pool(call: &mut Call<'_>) -> Outcome {
    let p = call.int("p", 2)? as f64;
    let x = call.tensor(0)?;
    let (windows, shape) = windows(call, x)?;
    let (power, root) = (|value: f64| value.abs().powf(p), |_, sum: f64| sum.powf(1.0 / p));
    one(summed(x, &windows, &windows.stretches()?, &shape, power, root)?)
}

/// Sums a function of the elements of each window; `finish` converts the sum of the window with a number.
fn summed(
    x: &AnyTensor,
    windows: &Windows,
    stretches: &[Stretch],
    shape: &[usize],
    each: impl Fn(f64) -> f64 + Sync,
    finish: impl Fn(usize, f64) -> f64 + Sync,
) -> Result<AnyTensor, KernelErrorKind> {
    let outputs = count(&windows.output);
    let step = windows.strides.last().copied().unwrap_or(1);
    on_floats!(x.dtype(), T => {
        let data = x.as_slice::<T>()?;
        build_over::<T>(shape, |out| {
            let steps = outputs * count(&windows.kernel);
            planes(data, count(&windows.input), out, outputs, steps, #[inline(always)] |data, out| {
                let mut sums = vec![0.0_f64; outputs];
                for stretch in stretches {
                    along(stretch, step, data, &mut sums, #[inline(always)] |sum: &mut f64, value: T| {
                        *sum += each(Number::to_f64(value));
                    });
                }
                for (at, (out, sum)) in out.iter_mut().zip(sums).enumerate() {
                    *out = T::from_f64(finish(at, sum));
                }
            });
        })
    })
}

fn global(call: &mut Call<'_>, kind: Reduction) -> Outcome {
    let x = call.tensor(0)?;
    one(reduce_axes(x, &spatial(x)?, true, kind)?)
}

/// The spatial axes: those after batch and channels.
fn spatial(x: &AnyTensor) -> Result<Vec<usize>, KernelErrorKind> {
    match x.rank() {
        0 | 1 => invalid("the input has no axis of channels"),
        rank => Ok((2..rank).collect()),
    }
}

fn global_lp_pool(call: &mut Call<'_>) -> Outcome {
    let p = call.int("p", 2)? as f64;
    let x = call.tensor(0)?;
    let spatial = spatial(x)?;
    let raised = super::unary::map_floats(x.clone(), |value| value.abs().powf(p))?;
    let sum = reduce_axes(&raised, &spatial, true, Reduction::Sum)?;
    one(super::unary::map_floats(sum, |value| value.powf(1.0 / p))?)
}

/// `MaxUnpool`: writes elements to the indices that a max pooling recorded.
fn max_unpool(call: &mut Call<'_>) -> Outcome {
    let (x, indices) = (call.tensor(0)?, call.tensor(1)?);
    let rank = x.rank().saturating_sub(2);
    let kernel =
        call.attributes.ints("kernel_shape")?.ok_or(KernelErrorKind::MissingAttribute("kernel_shape"))?;
    let kernel = extents(kernel)?;
    let (steps, (begin, end)) = (per_axis(call, "strides", rank)?, pads(call, rank)?);
    if x.rank() < 2 || kernel.len() != rank || x.shape() != indices.shape() {
        return invalid("the indices or the window do not fit the input");
    }
    let mut natural = x.shape().to_vec();
    for axis in 0..rank {
        // An extent beyond 63 bits becomes a negative one, which is an error.
        let starts = x.shape()[axis + 2].saturating_sub(1).saturating_mul(steps[axis]);
        let size = starts.saturating_add(kernel[axis]) as i64;
        natural[axis + 2] = extents(&[size.saturating_sub(begin[axis]).saturating_sub(end[axis])])?[0];
    }
    let shape = match call.integers(2)? {
        Some(shape) => extents(&shape)?,
        None => natural.clone(),
    };
    if shape.len() != x.rank() || shape[..2] != natural[..2] {
        return invalid("the shape of the output does not fit the input");
    }
    check_extents(&natural)?;
    check_extents(&shape)?;
    // Indices refer to the inferred shape, even if `output_shape` is given.
    let (from, to) = (strides(&natural), strides(&shape));
    memory::admit(x.len().saturating_mul(size_of::<usize>()))?;
    let mut targets = Vec::with_capacity(x.len());
    for index in integers(indices)? {
        let mut rest = usize::try_from(index).unwrap_or(usize::MAX);
        let mut target = 0;
        for axis in 0..shape.len() {
            let at = rest / from[axis].max(1);
            rest %= from[axis].max(1);
            if at >= shape[axis] {
                return invalid(format!("index {index} is outside the output"));
            }
            target += at * to[axis];
        }
        targets.push(target);
    }
    if x.dtype() == Dtype::String {
        return Err(KernelErrorKind::Dtype(x.dtype()));
    }
    one(on_floats!(x.dtype(), T => {
        let data = x.as_slice::<T>()?;
        build::<T>(&shape, |out| targets.iter().zip(data).for_each(|(target, value)| out[*target] = *value))
    })?)
}

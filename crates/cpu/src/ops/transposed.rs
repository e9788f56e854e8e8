//! Transposed convolution and `Col2Im`.
//!
//! A transposed convolution is a matrix product of the transposed weights and the input, followed by
//! `col2im`: the columns of the product are added to the windows of the result. [`Scatter`] computes row by
//! row of the result. The elements of a row at the same distance from a multiple of the stride receive
//! adjacent columns, so they are summed in a buffer of their own and interleaved at the end.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;
use typeloom_types::plural::counted;

use super::cast::convert;
use super::filter::{check_rank, groups, kernel_shape};
use super::sliding::{Windows, pads, per_axis};
use super::{Operator, widened};
use crate::call::{Call, Outcome, one};
use crate::element::{Number, build_over, check_extents, check_size, dispatch, on_floats, vectorised};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::product::{self, Matrix};
use crate::fast::threads;
use crate::memory;
use crate::shape::{count, extents};
use crate::work;

pub(super) const OPERATORS: &[Operator] =
    &[widened("ConvTranspose", conv_transpose), widened("Col2Im", col2im)];

/// Minimum number of additions for which splitting across threads pays.
const MIN_PARALLEL: usize = 1 << 17;

/// Adjacent columns of one kernel position that are added to a row of the result.
struct Part {
    /// First column, as an offset in the column matrix of a plane.
    column: usize,
    len: usize,
    /// Index in the row of the first element, modulo the stride and divided by it.
    phase: usize,
    at: usize,
}

/// The additions of `col2im`, for every row of a plane.
struct Scatter {
    rows: Vec<Vec<Part>>,
    /// Elements of a row.
    width: usize,
    stride: usize,
    /// Columns of a plane.
    columns: usize,
    additions: usize,
}

impl Scatter {
    /// The additions for windows over the result of this many planes.
    fn of(windows: &Windows, planes: usize) -> Result<Self, KernelErrorKind> {
        for extents in [&windows.input, &windows.kernel, &windows.output] {
            check_extents(extents)?;
        }
        let rank = windows.input.len();
        let last = rank.saturating_sub(1);
        let width = windows.input.last().copied().unwrap_or(1);
        let (stride, taken) = match windows.strides.last() {
            Some(stride) => (*stride, windows.output[last]),
            None => (1, 1),
        };
        let number = count(&windows.input).checked_div(width).unwrap_or(0);
        let parts =
            work::times(&windows.kernel).saturating_mul(work::times(&windows.output) / taken.max(1) as u64);
        work::spend(
            parts.saturating_add(work::times(&[&windows.kernel[..], &windows.output, &[planes]].concat())),
        )?;
        check_size(&[number], size_of::<Vec<Part>>())?;
        check_size(&[usize::try_from(parts).unwrap_or(usize::MAX)], size_of::<Part>())?;
        let mut rows: Vec<Vec<Part>> = Vec::new();
        rows.resize_with(number, Vec::new);
        let mut additions = 0;
        windows.each_row(|column, offset, tap| {
            let Some(offset) = offset else { return };
            let Some(row) = rows.get_mut(offset / width.max(1)) else { return };
            let (from, to, start) = windows.inside_of_row(tap, taken);
            if to > from {
                row.push(Part {
                    column: column + from,
                    len: to - from,
                    phase: start % stride,
                    at: start / stride,
                });
                additions += to - from;
            }
        });
        let columns = count(&windows.kernel) * count(&windows.output);
        Ok(Self { rows, width, stride, columns, additions })
    }

    /// Fills planes from their columns, beginning with a bias for each plane.
    fn planes<T: Number>(&self, columns: &[T], bias: Option<&[T]>, out: &mut [T]) {
        let plane = self.rows.len() * self.width;
        let each = |at: usize, out: &mut [T]| {
            let columns = &columns[at * self.columns..][..self.columns];
            let bias = bias.map_or(T::ZERO, |bias| bias[at]);
            vectorised::<T, _>(
                #[inline(always)]
                || self.plane(columns, bias, out),
            );
        };
        let work = self.additions + plane;
        let is_parallel = threads::should_split(out.len() / plane * work, 2 * MIN_PARALLEL);
        threads::each_chunk(out, plane, is_parallel, MIN_PARALLEL / work, &each);
    }

    #[inline(always)]
    fn plane<T: Number>(&self, columns: &[T], bias: T, out: &mut [T]) {
        let length = self.width.div_ceil(self.stride);
        let mut sums = vec![T::ZERO; if self.stride == 1 { 0 } else { length * self.stride }];
        for (parts, row) in self.rows.iter().zip(out.chunks_exact_mut(self.width)) {
            if self.stride == 1 {
                row.fill(bias);
                parts.iter().for_each(|part| add(&mut row[part.at..], columns, part));
                continue;
            }
            sums.fill(bias);
            parts.iter().for_each(|part| add(&mut sums[part.phase * length + part.at..], columns, part));
            if self.stride == 2 {
                let (even, odd) = sums.split_at(length);
                let (pairs, last) = row.as_chunks_mut::<2>();
                for (pair, (even, odd)) in pairs.iter_mut().zip(even.iter().zip(odd)) {
                    *pair = [*even, *odd];
                }
                last.iter_mut().zip(&even[pairs.len()..]).for_each(|(to, from)| *to = *from);
            } else {
                for (phase, sums) in sums.chunks_exact(length).enumerate().take(self.width) {
                    row[phase..].iter_mut().step_by(self.stride).zip(sums).for_each(|(to, from)| *to = *from);
                }
            }
        }
    }
}

#[inline(always)]
fn add<T: Number>(sums: &mut [T], columns: &[T], part: &Part) {
    let from = &columns[part.column..][..part.len];
    for (sum, value) in sums[..part.len].iter_mut().zip(from) {
        *sum = sum.plus(*value);
    }
}

/// Whether the output shape of a transposed convolution is unreasonably large.
fn output_is_too_large(call: &Call<'_>) -> Result<bool, KernelErrorKind> {
    let lists = [call.attributes.ints("output_shape")?, call.attributes.ints("output_padding")?];
    Ok(lists.into_iter().flatten().flatten().any(|extent| extent.unsigned_abs() > 1 << 31))
}

fn conv_transpose(call: &mut Call<'_>) -> Outcome {
    let (x, w, bias) = (call.tensor(0)?, call.tensor(1)?, call.optional(2)?);
    check_rank(x.shape(), w.shape())?;
    let rank = x.rank() - 2;
    let (batches, channels) = (x.shape()[0], x.shape()[1]);
    let group = groups(call.attributes, channels, channels)?;
    if w.shape()[0] != channels {
        return invalid(format!("weights {:?} do not fit {channels} channels", w.shape()));
    }
    let group_outputs = w.shape()[1];
    let kernel = kernel_shape(call.attributes, w.shape())?;
    if kernel.contains(&0) || output_is_too_large(call)? {
        return invalid(format!("the kernel {kernel:?} is empty, or the output is too large"));
    }
    let (steps, dilations) = (per_axis(call, "strides", rank)?, per_axis(call, "dilations", rank)?);
    let extra = match call.attributes.ints("output_padding")? {
        Some(extra) if extra.len() == rank => extents(extra)?,
        Some(extra) => {
            return invalid(format!("`output_padding` = {extra:?} does not fit {}", counted(rank, "axis")));
        }
        None => vec![0; rank],
    };
    let (mut begin, mut end) = pads(call, rank)?;
    let auto = call.text("auto_pad", "NOTSET")?;
    let output_shape = call.attributes.ints("output_shape")?;
    let mut spatial = Vec::with_capacity(rank);
    for axis in 0..rank {
        let input = x.shape()[axis + 2];
        let starts = steps[axis].saturating_mul(input.saturating_sub(1));
        let span = (kernel[axis] - 1).saturating_mul(dilations[axis]).saturating_add(extra[axis] + 1);
        let full = i64::try_from(starts.saturating_add(span)).unwrap_or(i64::MAX);
        let target = match output_shape {
            Some(shape) => shape.get(shape.len().saturating_sub(rank) + axis).copied(),
            None if auto.starts_with("SAME") => {
                Some(i64::try_from(input.saturating_mul(steps[axis])).unwrap_or(i64::MAX))
            }
            None => None,
        };
        if auto == "VALID" {
            (begin[axis], end[axis]) = (0, 0);
        }
        let size = match target {
            Some(target) => {
                // `total` is negative if strides skip elements. The missing elements are then added on both
                // sides, like pads.
                let total = full.saturating_sub(target);
                let (less, more) = (total.div_euclid(2), total - total.div_euclid(2));
                (begin[axis], end[axis]) = if auto == "SAME_UPPER" { (less, more) } else { (more, less) };
                target
            }
            None => full.saturating_sub(begin[axis]).saturating_sub(end[axis]),
        };
        spatial.extend(extents(&[size])?);
    }
    // Windows over the result: a transposed convolution scatters into them (`col2im`).
    let windows = Windows {
        input: spatial.clone(),
        kernel: kernel.clone(),
        strides: steps,
        dilations,
        begin,
        end,
        output: x.shape()[2..].to_vec(),
    };
    let shape = [&[batches, group_outputs * group], &spatial[..]].concat();
    let (positions, plane) = (count(&windows.output), count(&spatial));
    let (group_channels, depth) = (channels / group, group_outputs * count(&kernel));
    check_size(&[depth, positions], 8)?;
    work::spend_products(x.dtype(), &[batches, channels, depth, positions])?;
    if bias.is_some_and(|bias| bias.len() != group_outputs * group) {
        return invalid(format!("the bias does not have {}", counted(group_outputs * group, "element")));
    }
    let scatter = Scatter::of(&windows, batches.saturating_mul(group_outputs * group))?;
    let mut outcome = Ok(());
    let result = on_floats!(x.dtype(), T => {
        let (data, weights) = (x.as_slice::<T>()?, w.as_slice::<T>()?);
        let bias = bias.map(AnyTensor::as_slice::<T>).transpose()?;
        // Reused memory is not mapped again; the product writes all elements.
        let mut buffer = build_over::<T>(&[depth, positions], |_| {})?;
        let columns = buffer.as_mut_slice::<T>()?;
        let result = build_over::<T>(&shape, |out| {
            if out.is_empty() {
                return;
            }
            for (at, out) in out.chunks_exact_mut(group_outputs * plane).enumerate() {
                let group_no = at % group;
                let bias = bias.map(|bias| &bias[group_no * group_outputs..]);
                let input = &data[at * group_channels * positions..][..group_channels * positions];
                let weights = &weights[group_no * group_channels * depth..][..group_channels * depth];
                let done = product::multiply(
                    Matrix::transposed(weights, depth, group_channels),
                    Matrix::new(input, group_channels, positions),
                    columns,
                    1.0,
                    None,
                );
                if outcome.is_ok() {
                    outcome = done;
                }
                scatter.planes(columns, bias, out);
            }
        });
        memory::recycle(buffer.into());
        result
    })?;
    outcome?;
    one(result)
}

fn col2im(call: &mut Call<'_>) -> Outcome {
    let x = call.tensor(0)?;
    let (image, block) = (extents(&call.required_integers(1)?)?, extents(&call.required_integers(2)?)?);
    let &[batches, depth, positions] = x.shape() else { return invalid("the input is not of rank 3") };
    let windows = Windows::of(call, &image, &block)?;
    let kernel = count(&block);
    if count(&windows.output) != positions || !depth.is_multiple_of(kernel) {
        return invalid(format!("the input {:?} does not fit the image", x.shape()));
    }
    let channels = depth / kernel;
    let shape = [&[batches, channels], &image[..]].concat();
    let scatter = Scatter::of(&windows, batches.saturating_mul(channels))?;
    let dtype = x.dtype();
    // Integer sums wrap, so a narrower sum is the truncation of the widest one.
    let wide = if matches!(dtype, Dtype::F32 | Dtype::F64) { x.clone() } else { convert(x, Dtype::I64)? };
    let result = dispatch!(wide.dtype(), T in [F32 f32, F64 f64, I64 i64] => {
        let data = wide.as_slice::<T>()?;
        build_over::<T>(&shape, |out| {
            if !out.is_empty() {
                scatter.planes(data, None, out);
            }
        })
    })?;
    one(if result.dtype() == dtype { result } else { convert(&result, dtype)? })
}

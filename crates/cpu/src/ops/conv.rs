//! Convolutions: plain, transposed, quantised, deformable and causal.

use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::cast::convert;
use super::filter::{Filter, Finishing, check_rank, groups, kernel_shape};
use super::sliding::{Windows, pads, per_axis};
use super::{Operator, native, widened};
use crate::call::{Call, Outcome, one};
use crate::element::{build, check_size, dispatch, of_f64s, on_floats, to_f64s};
use crate::error::{KernelErrorKind, invalid};
use crate::product::{self, Matrix};
use crate::shape::{count, each_index, extents, strides};

pub(super) const OPERATORS: &[Operator] = &[
    widened("Conv", conv),
    native("ConvInteger", super::quantize::convolution::conv_integer),
    widened("ConvTranspose", conv_transpose),
    widened("Col2Im", col2im),
    widened("DeformConv", deform_conv),
    widened("CausalConvWithState", causal_conv),
];

/// Convolution of tensors of one element type.
pub(super) fn convolve(
    call: &Call<'_>,
    x: &AnyTensor,
    w: &AnyTensor,
    bias: Option<&AnyTensor>,
) -> Result<AnyTensor, KernelErrorKind> {
    let filter = Filter::of(call.attributes, w)?;
    if bias.is_some_and(|bias| bias.len() != w.shape()[0]) {
        return invalid(format!("the bias does not have {} elements", w.shape()[0]));
    }
    filter.apply(call, x, &Finishing { offset: bias, ..Finishing::NONE })
}

fn conv(call: &mut Call<'_>) -> Outcome {
    let (x, w) = (call.tensor(0)?, call.tensor(1)?);
    if !matches!(x.dtype(), Dtype::F32 | Dtype::F64) {
        return Err(KernelErrorKind::Dtype(x.dtype()));
    }
    one(convolve(call, x, w, call.optional(2)?)?)
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
        Some(extra) => return invalid(format!("`output_padding` = {extra:?} does not fit {rank} axes")),
        None => vec![0; rank],
    };
    let (mut begin, mut end) = pads(call, rank)?;
    let auto = call.text("auto_pad", "NOTSET")?;
    let output_shape = call.attributes.ints("output_shape")?;
    let mut spatial = Vec::with_capacity(rank);
    for axis in 0..rank {
        let input = x.shape()[axis + 2];
        let full =
            (steps[axis] * input.saturating_sub(1) + extra[axis] + (kernel[axis] - 1) * dilations[axis] + 1)
                as i64;
        let target = match output_shape {
            Some(shape) => shape.get(shape.len().saturating_sub(rank) + axis).copied(),
            None if auto.starts_with("SAME") => Some((input * steps[axis]) as i64),
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
            None => full - begin[axis] - end[axis],
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
    if bias.is_some_and(|bias| bias.len() != group_outputs * group) {
        return invalid(format!("the bias does not have {} elements", group_outputs * group));
    }
    let mut outcome = Ok(());
    let result = on_floats!(x.dtype(), T => {
        let (data, weights) = (x.as_slice::<T>()?, w.as_slice::<T>()?);
        let bias = bias.map(AnyTensor::as_slice::<T>).transpose()?;
        build::<T>(&shape, |out| {
            if out.is_empty() {
                return;
            }
            let mut columns = vec![0.0; depth * positions];
            for (at, out) in out.chunks_exact_mut(group_outputs * plane).enumerate() {
                let group_no = at % group;
                if let Some(bias) = bias {
                    for (row, bias) in out.chunks_exact_mut(plane).zip(&bias[group_no * group_outputs..]) {
                        row.fill(*bias);
                    }
                }
                let input = &data[at * group_channels * positions..][..group_channels * positions];
                let weights = &weights[group_no * group_channels * depth..][..group_channels * depth];
                let done = product::multiply(
                    Matrix::transposed(weights, depth, group_channels),
                    Matrix::new(input, group_channels, positions),
                    &mut columns,
                    1.0,
                    None,
                );
                if outcome.is_ok() {
                    outcome = done;
                }
                let rows = columns.chunks_exact((depth / group_outputs.max(1) * positions).max(1));
                for (plane, rows) in out.chunks_exact_mut(plane).zip(rows) {
                    windows.add_columns(rows, plane);
                }
            }
        })
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
    let dtype = x.dtype();
    // Integer sums wrap, so a narrower sum is the truncation of the widest one.
    let wide = if matches!(dtype, Dtype::F32 | Dtype::F64) { x.clone() } else { convert(x, Dtype::I64)? };
    let result = dispatch!(wide.dtype(), T in [F32 f32, F64 f64, I64 i64] => {
        let data = wide.as_slice::<T>()?;
        build::<T>(&shape, |out| {
            let planes = out.chunks_exact_mut(count(&image).max(1));
            for (plane, rows) in planes.zip(data.chunks_exact((kernel * positions).max(1))) {
                windows.add_columns(rows, plane);
            }
        })
    })?;
    one(if result.dtype() == dtype { result } else { convert(&result, dtype)? })
}

/// Deformable convolution: sampling points are displaced by offsets and interpolated bilinearly.
fn deform_conv(call: &mut Call<'_>) -> Outcome {
    let (x, w, offset) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    check_rank(x.shape(), w.shape())?;
    let rank = x.rank() - 2;
    let (batches, channels, outputs) = (x.shape()[0], x.shape()[1], w.shape()[0]);
    let group = groups(call.attributes, channels, outputs)?;
    let offset_groups = usize::try_from(call.int("offset_group", 1)?).unwrap_or(0);
    let windows = Windows::of(call, &x.shape()[2..], &kernel_shape(call.attributes, w.shape())?)?;
    let (kernel, positions) = (count(&windows.kernel), count(&windows.output));
    let (group_channels, group_outputs) = (channels / group, outputs / group);
    let fits = offset_groups > 0
        && channels.is_multiple_of(offset_groups)
        && w.shape()[1] == group_channels
        && offset.len() == batches * offset_groups * kernel * rank * positions;
    if !fits {
        return invalid("weights or offsets do not fit the input");
    }
    let (data, weights, offsets) = (to_f64s(x)?, to_f64s(w)?, to_f64s(offset)?);
    let bias = call.optional(3)?.map(to_f64s).transpose()?;
    let mask = call.optional(4)?.map(to_f64s).transpose()?;
    if bias.as_ref().is_some_and(|bias| bias.len() != outputs)
        || mask.as_ref().is_some_and(|mask| mask.len() != batches * offset_groups * kernel * positions)
    {
        return invalid("bias or mask do not fit the weights");
    }
    let plane = count(&windows.input);
    let mut columns = vec![0.0; channels * kernel * positions];
    let mut out = vec![0.0; batches * outputs * positions];
    for batch in 0..batches {
        each_index(&windows.kernel, |tap, within| {
            each_index(&windows.output, |window_no, window| {
                for channel in 0..channels {
                    let offset_group_no = batch * offset_groups + channel / (channels / offset_groups);
                    let at: Vec<f64> = (0..rank)
                        .map(|axis| {
                            let shift = offsets
                                [((offset_group_no * kernel + tap) * rank + axis) * positions + window_no];
                            (window[axis] * windows.strides[axis] + within[axis] * windows.dilations[axis])
                                as f64
                                - windows.begin[axis] as f64
                                + shift
                        })
                        .collect();
                    let source = &data[(batch * channels + channel) * plane..][..plane];
                    let weight = mask
                        .as_ref()
                        .map_or(1.0, |mask| mask[(offset_group_no * kernel + tap) * positions + window_no]);
                    columns[(channel * kernel + tap) * positions + window_no] =
                        weight * interpolate(source, &windows.input, &at);
                }
            });
        });
        for group_no in 0..group {
            let target = &mut out[(batch * outputs + group_no * group_outputs) * positions..]
                [..group_outputs * positions];
            let depth = group_channels * kernel;
            let rows = &columns[group_no * depth * positions..][..depth * positions];
            let weights = &weights[group_no * group_outputs * depth..][..group_outputs * depth];
            product::multiply(
                Matrix::new(weights, group_outputs, depth),
                Matrix::new(rows, depth, positions),
                target,
                1.0,
                None,
            )?;
            if let Some(bias) = &bias {
                for (row, bias) in
                    target.chunks_exact_mut(positions.max(1)).zip(&bias[group_no * group_outputs..])
                {
                    row.iter_mut().for_each(|value| *value += bias);
                }
            }
        }
    }
    let shape = [&[batches, outputs], &windows.output[..]].concat();
    one(of_f64s(x.dtype(), &shape, &out)?)
}

/// Linear interpolation between elements, with zeros outside.
fn interpolate(plane: &[f64], shape: &[usize], at: &[f64]) -> f64 {
    let steps = strides(shape);
    let mut sum = 0.0;
    for corner in 0..1_usize << shape.len() {
        let (mut weight, mut offset, mut inside) = (1.0, 0, true);
        for axis in 0..shape.len() {
            let low = at[axis].floor();
            let fraction = at[axis] - low;
            let (coordinate, part) =
                if corner >> axis & 1 == 1 { (low + 1.0, fraction) } else { (low, 1.0 - fraction) };
            weight *= part;
            if coordinate >= 0.0 && coordinate < shape[axis] as f64 {
                offset += coordinate as usize * steps[axis];
            } else {
                inside = false;
            }
        }
        if inside {
            sum += weight * plane[offset];
        }
    }
    sum
}

/// Depthwise causal convolution that also returns the trailing state.
fn causal_conv(call: &mut Call<'_>) -> Outcome {
    let (x, w) = (call.tensor(0)?, call.tensor(1)?);
    let (&[batches, channels, length], &[rows, 1, k]) = (x.shape(), w.shape()) else {
        return invalid("input and weights are not of rank 3");
    };
    if rows != channels || k == 0 {
        return invalid(format!("weights {:?} do not fit {channels} channels", w.shape()));
    }
    let silu = call.choice("activation", &[("none", false), ("silu", true), ("swish", true)])?;
    let (data, weights) = (to_f64s(x)?, to_f64s(w)?);
    let bias = call.optional(2)?.map(to_f64s).transpose()?;
    let past = call.optional(3)?.map(to_f64s).transpose()?;
    if bias.as_ref().is_some_and(|bias| bias.len() != channels)
        || past.as_ref().is_some_and(|past| past.len() != batches * channels * (k - 1))
    {
        return invalid("bias or past state do not fit the input");
    }
    let (mut out, mut state) = (Vec::with_capacity(data.len()), Vec::new());
    for lane in 0..batches * channels {
        let channel = lane % channels;
        let mut line = match &past {
            Some(past) => past[lane * (k - 1)..][..k - 1].to_vec(),
            None => vec![0.0; k - 1],
        };
        line.extend_from_slice(&data[lane * length..][..length]);
        let kernel = &weights[channel * k..][..k];
        for window in line.windows(k) {
            let sum: f64 = window.iter().zip(kernel).map(|(a, b)| a * b).sum();
            let value = sum + bias.as_ref().map_or(0.0, |bias| bias[channel]);
            out.push(if silu { value / (1.0 + (-value).exp()) } else { value });
        }
        state.extend_from_slice(&line[line.len() - (k - 1)..]);
    }
    let y = of_f64s(x.dtype(), x.shape(), &out)?;
    Ok(vec![y.into(), of_f64s(x.dtype(), &[batches, channels, k - 1], &state)?.into()])
}

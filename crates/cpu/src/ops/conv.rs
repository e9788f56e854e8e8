//! Convolutions: plain, quantised, deformable and causal.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;
use typeloom_types::plural::counted;

use super::filter::{Filter, Finishing, check_rank, groups, kernel_shape};
use super::sliding::Windows;
use super::{Operator, native, widened};
use crate::call::{Call, Outcome, one};
use crate::element::{of_f64s, to_f64s};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::product::{self, Matrix};
use crate::memory::scratch;
use crate::shape::{count, each_index, strides};
use crate::work;

pub(super) const OPERATORS: &[Operator] = &[
    widened("Conv", conv),
    native("ConvInteger", super::quantize::convolution::conv_integer),
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
        return invalid(format!("the bias does not have {}", counted(w.shape()[0], "element")));
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
        && offset.len() as u64 == work::times(&[batches, offset_groups, kernel, rank, positions]);
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
    let taps = 1_usize.checked_shl(u32::try_from(rank).unwrap_or(u32::MAX)).unwrap_or(usize::MAX);
    work::spend_each(&[batches, channels, kernel, positions, taps.saturating_mul(rank)])?;
    work::spend_each(&[batches, outputs, group_channels, kernel, positions])?;
    let mut columns = scratch(0.0, channels.saturating_mul(kernel).saturating_mul(positions))?;
    let mut out = scratch(0.0, batches.saturating_mul(outputs).saturating_mul(positions))?;
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
    work::spend_each(&[batches, channels, length, k])?;
    work::spend_each(&[batches, channels, k])?;
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

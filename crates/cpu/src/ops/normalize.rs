//! Normalisation: batch, instance, group, layer, RMS and local response.
//!
//! Most of these operators normalise a value by the mean and the variance of a group of elements. They differ
//! in the group:
//!
//! | operator | mean and variance of |
//! |---|---|
//! | `BatchNormalization` | inputs; in training, each channel of all batches |
//! | `InstanceNormalization` | each channel of each batch |
//! | `GroupNormalization` | each group of channels of each batch |
//! | `LayerNormalization`, `RMSNormalization` | the axes from `axis` on; RMS has a mean of 0 |
//! | `MeanVarianceNormalization` | the axes in `axes` |
//! | `LRN` | no group: squares of adjacent channels |
//!
//! Mean, variance, scale and bias of a channel are one factor and one offset ([`coefficient`]), so the first
//! three are a single pass over the elements ([`affine`]):
//!
//! ```text
//! scale 2, bias 1, mean 3, variance 4, epsilon 0     factor 2 / sqrt(4) = 1, offset 1 - 3 * 1 = -2
//! ```
//!
//! **Invariant:** statistics accumulate in `f64`, and variances sum squares of differences from the mean, so
//! that large means cancel no digits. `MeanVarianceNormalization` is the exception: its differences and
//! squares are rounded to the element type first.
//!
//! The time is linear in the elements; `LRN` multiplies it by the size of its window. Rows are distributed
//! over threads from [`MIN_PARALLEL`] elements on.
//!
//! **Limit:** statistics for each element (`spatial` = 0, before version 9) are rejected.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::cast::convert;
use super::layout::broadcast_to;
use super::reduce::{Reduction, moments, reduce_axes};
use super::{Operator, native, widened, widened_to};
use crate::call::{Call, Outcome, one};
use crate::element::{Number, build_over, narrow, of_f64s, on_floats, to_f64s, vectorised, widen};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::reductions::mean_square;
use crate::fast::threads;
use crate::shape::{around, axes, axis, broadcast, count};
use crate::work;

/// Minimum number of elements for which splitting across threads pays.
const MIN_PARALLEL: usize = 1 << 17;

pub(super) const OPERATORS: &[Operator] = &[
    native("BatchNormalization", batch_normalization),
    widened("InstanceNormalization", instance_normalization),
    widened("GroupNormalization", group_normalization),
    widened_to("LayerNormalization", 1, layer_normalization),
    native("RMSNormalization", rms_normalization),
    widened("MeanVarianceNormalization", mean_variance_normalization),
    widened("LRN", lrn),
];

/// Factor and offset that normalise with this mean and variance, and then apply a scale and a bias.
fn coefficient((scale, bias): (f64, f64), (mean, variance): (f64, f64), epsilon: f64) -> (f64, f64) {
    let factor = scale / (variance + epsilon).sqrt();
    (factor, bias - mean * factor)
}

/// `y = factor * x + offset`, with one factor and offset for each index of the middle of three axes.
fn affine(
    x: &AnyTensor,
    lanes: usize,
    inner: usize,
    coefficients: &[(f64, f64)],
) -> Result<AnyTensor, KernelErrorKind> {
    on_floats!(x.dtype(), T => {
        let data = x.as_slice::<T>()?;
        build_over::<T>(x.shape(), |out| {
            each_row(out, inner, #[inline(always)] |at, out| {
                let (factor, offset) = coefficients[at % lanes];
                let (factor, offset) = (T::from_f64(factor), T::from_f64(offset));
                let data = &data[at * inner..][..inner];
                out.iter_mut().zip(data).for_each(|(out, data)| *out = factor * *data + offset);
            });
        })
    })
}

fn batch_normalization(call: &mut Call<'_>) -> Outcome {
    let epsilon = f64::from(call.float("epsilon", 1e-5)?);
    let momentum = f64::from(call.float("momentum", 0.9)?);
    let old = call.version < 14;
    let training = if old {
        call.version < 7 && !call.flag("is_test", false)?
    } else {
        call.flag("training_mode", false)?
    };
    // Up to version 8, additional outputs also select training mode.
    let training = training || (old && call.outputs > 1);
    if call.version < 9 && !call.flag("spatial", true)? {
        return Err(KernelErrorKind::Unsupported("statistics for each element".to_owned()));
    }
    // Input, parameters, statistics and results may have different element types.
    let dtype = call.tensor(0)?.dtype();
    let x = &widen(call.tensor(0)?.clone())?;
    if x.rank() < 2 {
        return invalid(format!("the input has rank {}, not above 1", x.rank()));
    }
    let channels = x.shape()[1];
    let list = |index: usize| call.tensor(index).and_then(to_f64s);
    let (scale, bias, mean, variance) = (list(1)?, list(2)?, list(3)?, list(4)?);
    if [&scale, &bias, &mean, &variance].iter().any(|list| list.len() != channels) {
        return invalid(format!("the parameters are not one for each of {channels} channels"));
    }
    let (of, current) = if training {
        let others: Vec<usize> = (0..x.rank()).filter(|axis| *axis != 1).collect();
        let rows = super::layout::permute(x, &[&[1], &others[..]].concat())?;
        let moments = moments(&rows, channels, x.len() / channels.max(1))?;
        (moments.clone(), Some(moments))
    } else {
        (mean.iter().copied().zip(variance.iter().copied()).collect(), None)
    };
    let parameters = scale.iter().copied().zip(bias.iter().copied());
    let coefficients: Vec<(f64, f64)> =
        parameters.zip(&of).map(|(parameters, moments)| coefficient(parameters, *moments, epsilon)).collect();
    let y = affine(x, channels, count(&x.shape()[2..]), &coefficients)?;
    let y = if dtype == y.dtype() { y } else { narrow(y, dtype)? };
    let Some(current) = current else { return one(y) };
    let blend = |old: &[f64], new: &dyn Fn(usize) -> f64| -> Result<AnyTensor, KernelErrorKind> {
        let values: Vec<f64> =
            old.iter().enumerate().map(|(at, old)| old * momentum + new(at) * (1.0 - momentum)).collect();
        of_f64s(call.tensor(3)?.dtype(), &[channels], &values)
    };
    let running_mean = blend(&mean, &|at| current[at].0)?;
    let running_variance = blend(&variance, &|at| current[at].1)?;
    Ok(vec![y.into(), running_mean.into(), running_variance.into()])
}

fn instance_normalization(call: &mut Call<'_>) -> Outcome {
    let epsilon = f64::from(call.float("epsilon", 1e-5)?);
    let (x, scale, bias) = (call.tensor(0)?, to_f64s(call.tensor(1)?)?, to_f64s(call.tensor(2)?)?);
    if x.rank() < 3 || scale.len() != x.shape()[1] || bias.len() != x.shape()[1] {
        return invalid("the parameters do not fit the channels");
    }
    let inner = count(&x.shape()[2..]);
    let channels = x.shape()[1];
    let moments = moments(x, x.shape()[0] * channels, inner)?;
    let of = |(at, moments): (usize, &(f64, f64))| {
        coefficient((scale[at % channels], bias[at % channels]), *moments, epsilon)
    };
    let coefficients: Vec<(f64, f64)> = moments.iter().enumerate().map(of).collect();
    one(affine(x, coefficients.len().max(1), inner, &coefficients)?)
}

/// Scale and bias are per channel since version 21, and per group before.
fn group_normalization(call: &mut Call<'_>) -> Outcome {
    let epsilon = f64::from(call.float("epsilon", 1e-5)?);
    let groups = call.attributes.int("num_groups")?.ok_or(KernelErrorKind::MissingAttribute("num_groups"))?;
    let (x, scale, bias) = (call.tensor(0)?, to_f64s(call.tensor(1)?)?, to_f64s(call.tensor(2)?)?);
    if x.rank() < 2 {
        return invalid(format!("the input has rank {}, not above 1", x.rank()));
    }
    let channels = x.shape()[1];
    let groups = usize::try_from(groups).unwrap_or(0);
    if groups == 0 || !channels.is_multiple_of(groups) {
        return invalid(format!("{groups} groups do not divide {channels} channels"));
    }
    let per_group = call.version < 21;
    let parameters = if per_group { groups } else { channels };
    if scale.len() != parameters || bias.len() != parameters {
        return invalid(format!("scale and bias are not one for each of {parameters}"));
    }
    let own = channels / groups;
    let inner = count(&x.shape()[2..]);
    let moments = moments(x, x.shape()[0] * groups, own * inner)?;
    let of = |lane: usize| {
        let channel = lane % channels;
        let parameter = if per_group { channel / own } else { channel };
        coefficient((scale[parameter], bias[parameter]), moments[lane / own], epsilon)
    };
    let coefficients: Vec<(f64, f64)> = (0..x.shape()[0] * channels).map(of).collect();
    one(affine(x, coefficients.len().max(1), inner, &coefficients)?)
}

fn layer_normalization(call: &mut Call<'_>) -> Outcome {
    let epsilon = f64::from(call.float("epsilon", 1e-5)?);
    let stash = call.dtype("stash_type")?.unwrap_or(Dtype::F32);
    let x = call.tensor(0)?;
    let from = axis(call.int("axis", -1)?, x.rank())?;
    let width = count(&x.shape()[from..]);
    let spread = |tensor: &AnyTensor| -> Result<Vec<f64>, KernelErrorKind> {
        let target = &x.shape()[from..];
        if broadcast(&[tensor.shape(), x.shape()])? != x.shape() {
            return invalid(format!("{:?} does not broadcast to {:?}", tensor.shape(), x.shape()));
        }
        let trailing = if tensor.rank() <= target.len() { target } else { x.shape() };
        to_f64s(&broadcast_to(tensor, trailing)?)
    };
    let scale = spread(call.tensor(1)?)?;
    let bias = call.optional(2)?.map(spread).transpose()?;
    let moments = moments(x, count(&x.shape()[..from]), width)?;
    let means: Vec<f64> = moments.iter().map(|(mean, _)| *mean).collect();
    let deviations: Vec<f64> =
        moments.iter().map(|(_, variance)| 1.0 / (variance + epsilon).sqrt()).collect();
    let y = on_floats!(x.dtype(), T => {
        let data = x.as_slice::<T>()?;
        build_over::<T>(x.shape(), |out| {
            each_row(out, width, #[inline(always)] |row, out| {
                let data = &data[row * width..][..width];
                let (mean, inverse) = (means[row], deviations[row]);
                let scale = &scale[row * width % scale.len()..][..width];
                for (out, (x, scale)) in out.iter_mut().zip(data.iter().zip(scale)) {
                    *out = T::from_f64((Number::to_f64(*x) - mean) * inverse * scale);
                }
                if let Some(bias) = &bias {
                    let bias = &bias[row * width % bias.len()..][..width];
                    for (out, (x, (scale, bias))) in out.iter_mut().zip(data.iter().zip(scale.iter().zip(bias))) {
                        *out = T::from_f64((Number::to_f64(*x) - mean) * inverse * scale + bias);
                    }
                }
            });
        })
    })?;
    let mut shape = x.shape()[..from].to_vec();
    shape.resize(x.rank(), 1);
    Ok(vec![y.into(), of_f64s(stash, &shape, &means)?.into(), of_f64s(stash, &shape, &deviations)?.into()])
}

fn rms_normalization(call: &mut Call<'_>) -> Outcome {
    let epsilon = f64::from(call.float("epsilon", 1e-5)?);
    let (x, scale) = (call.tensor(0)?, call.tensor(1)?);
    let from = axis(call.int("axis", -1)?, x.rank())?;
    let width = count(&x.shape()[from..]);
    if broadcast(&[scale.shape(), x.shape()])? != x.shape() {
        return invalid(format!("{:?} does not broadcast to {:?}", scale.shape(), x.shape()));
    }
    // A scale with the shape of a row is not repeated.
    let target = if scale.rank() <= x.rank() - from { &x.shape()[from..] } else { x.shape() };
    let factors = to_f64s(&broadcast_to(scale, target)?)?;
    let (dtype, x) = (scale.dtype(), widen(x.clone())?);
    let wide = if dtype == Dtype::F64 || x.dtype() == Dtype::F64 { Dtype::F64 } else { Dtype::F32 };
    let y = on_floats!(x.dtype(), T => {
        let data = x.as_slice::<T>()?;
        on_floats!(wide, U => build_over::<U>(x.shape(), |out| {
            each_row(out, width, #[inline(always)] |row, out| {
                let data = &data[row * width..][..width];
                let factors = &factors[row * width % factors.len()..][..width];
                let inverse = 1.0 / (mean_square(data) + epsilon).sqrt();
                for (out, (x, factor)) in out.iter_mut().zip(data.iter().zip(factors)) {
                    *out = U::from_f64(Number::to_f64(*x) * inverse * factor);
                }
            });
        }))
    })?;
    one(if y.dtype() == dtype { y } else { convert(&y, dtype)? })
}

/// Fills rows of `width` elements, in parallel if there are many.
fn each_row<T: Number>(out: &mut [T], width: usize, each: impl Fn(usize, &mut [T]) + Sync) {
    if out.is_empty() {
        return;
    }
    let rows = (MIN_PARALLEL / width).max(1);
    threads::in_parts(out, rows * width, &|at, out| {
        vectorised::<T, _>(
            #[inline(always)]
            || {
                for (row, out) in out.chunks_exact_mut(width).enumerate() {
                    each(at / width + row, out);
                }
            },
        );
    });
}

fn mean_variance_normalization(call: &mut Call<'_>) -> Outcome {
    let x = call.tensor(0)?;
    let over = axes(call.attributes.ints("axes")?.unwrap_or(&[0, 2, 3]), x.rank())?;
    let mean = reduce_axes(x, &over, true, Reduction::Mean)?;
    one(on_floats!(x.dtype(), T => {
        let centred = super::binary::map2::<T, T, T>(x, &mean, |x, mean| x - mean)?;
        let squares = super::unary::map_into(centred.clone(), |x: T| x * x)?;
        let variance = reduce_axes(&squares, &over, true, Reduction::Mean)?;
        super::binary::map2::<T, T, T>(&centred, &variance, |x, variance| x / (variance.sqrt() + 1e-9))
    })?)
}

/// Local response normalisation: divides by a function of the squares of adjacent channels.
fn lrn(call: &mut Call<'_>) -> Outcome {
    let size = call.attributes.int("size")?.ok_or(KernelErrorKind::MissingAttribute("size"))?;
    let (alpha, beta) = (f64::from(call.float("alpha", 1e-4)?), f64::from(call.float("beta", 0.75)?));
    let bias = f64::from(call.float("bias", 1.0)?);
    let x = call.tensor(0)?;
    if x.rank() < 2 || size < 1 {
        return invalid("the input has no channels, or the window no size");
    }
    let (_, channels, inner) = around(x.shape(), 1);
    let (before, after) = ((size - 1) / 2, size / 2);
    let share = alpha / size as f64;
    work::spend_each(&[x.len(), channels.min(usize::try_from(size).unwrap_or(usize::MAX))])?;
    one(on_floats!(x.dtype(), T => {
        let data = x.as_slice::<T>()?;
        build_over::<T>(x.shape(), |out| {
            let work = |at: usize, out: &mut [T]| {
                let (block, channel) = (at / channels * channels, at % channels);
                let from = usize::try_from((channel as i64).saturating_sub(before)).unwrap_or(0);
                let to = usize::try_from((channel as i64).saturating_add(after)).unwrap_or(0).min(channels - 1);
                let own = &data[at * inner..][..inner];
                let seen = &data[(block + from) * inner..][..(to + 1 - from) * inner];
                vectorised::<T, _>(#[inline(always)] || {
                    let mut sums = vec![0.0_f64; inner];
                    for plane in seen.chunks_exact(inner) {
                        for (sum, value) in sums.iter_mut().zip(plane) {
                            let value = Number::to_f64(*value);
                            *sum += value * value;
                        }
                    }
                    for (out, (value, sum)) in out.iter_mut().zip(own.iter().zip(&sums)) {
                        *out = T::from_f64(Number::to_f64(*value) / power(bias + share * sum, beta));
                    }
                });
            };
            if inner == 0 || channels == 0 {
                return;
            }
            let is_parallel = threads::should_split(out.len(), MIN_PARALLEL);
            threads::each_chunk(out, inner, is_parallel, 1, &work);
        })
    })?)
}

/// Power function with fast paths through square roots for the common exponents.
#[inline(always)]
fn power(base: f64, exponent: f64) -> f64 {
    let root = base.sqrt();
    if exponent == 0.75 {
        root * root.sqrt()
    } else if exponent == 0.5 {
        root
    } else {
        base.powf(exponent)
    }
}

/// Rounds a number to the precision of an element type.
pub(crate) fn rounded(dtype: Dtype, value: f64) -> f64 {
    match dtype {
        Dtype::F32 => f64::from(value as f32),
        Dtype::F16 => half::f16::from_f64(value).to_f64(),
        Dtype::BF16 => half::bf16::from_f64(value).to_f64(),
        _ => Number::to_f64(value),
    }
}

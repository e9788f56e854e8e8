//! Activations, and functions that normalise along one axis (softmax).
//!
//! The file has two kinds of kernels. Activations are functions of one element. Most have two bodies: a loop
//! over `f32` of functions that vectorise ([`math`]), and a function of `f64`. The other kind normalises
//! rows: the input is viewed with three axes, and a row is a lane along the middle one.
//!
//! ```text
//! Softmax <axis = 1> of float[2, 3, 4]
//!   from version 13 on    8 rows of 3 elements, which are 4 apart
//!   before version 13     2 rows of 12 adjacent elements: a row spans all axes from `axis` on
//! ```
//!
//! Softmax subtracts the greatest element of a row first. So no exponential of a finite row overflows, and
//! the sum is at least 1.
//!
//! **Invariant:** 16-bit floats are computed in `f32` and rounded once, except for `Softmax`, which rounds
//! every step of its definition. A softmax and its decomposition into primitives then have the same bits.
//!
//! All kernels take time linear in the number of elements, and most compute in place if the input is not
//! shared. Rows are distributed over threads from [`MIN_PARALLEL`] elements on.
//!
//! Limits: the bounds of `Clip` have one element each. `Dropout` in training mode without `seed` uses the
//! default seed of [`Random`](super::generate::Random), so it drops the same positions in each run.

use half::{bf16, f16};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::unary::{each_of, erf, functions, map_into, reals};
use super::{Operator, native, widened};
use crate::call::{Call, Outcome, one};
use crate::element::{Number, Real, from_slice, narrow, on_floats, on_numbers, vectorised, widen};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::{softmax, threads};
use crate::math;
use crate::shape::{around, axis, count, lanes};

pub(super) const OPERATORS: &[Operator] = &[
    widened("Relu", |call| {
        let x = call.take(0)?;
        one(on_numbers!(x.dtype(), T => map_into(x, |x: T| if x.is_below_zero() { T::ZERO } else { x }))?)
    }),
    widened("Sigmoid", |call| functions(call, &|data| each_of(data, math::sigmoid), Real::logistic)),
    widened("LeakyRelu", |call| {
        let alpha = call.float("alpha", 0.01)?;
        let single = |data: &mut [f32]| {
            each_of(data, move |x| {
                // A choice between two results would be a conditional write, which takes longer.
                x * if x < 0.0 { alpha } else { 1.0 }
            });
        };
        functions(call, &single, |x| if x < 0.0 { f64::from(alpha) * x } else { x })
    }),
    widened("Elu", |call| {
        let alpha = f64::from(call.float("alpha", 1.0)?);
        let single = |data: &mut [f32]| each_of(data, |x| math::elu(x, alpha));
        functions(call, &single, |x| if x < 0.0 { alpha * x.exp_m1() } else { x })
    }),
    widened("Celu", |call| {
        let alpha = f64::from(call.float("alpha", 1.0)?);
        let single = |data: &mut [f32]| each_of(data, |x| math::celu(x, alpha));
        functions(call, &single, |x| if x < 0.0 { alpha * (x / alpha).exp_m1() } else { x })
    }),
    widened("Selu", |call| {
        let alpha = f64::from(call.float("alpha", 1.673_263_2)?);
        let gamma = f64::from(call.float("gamma", 1.050_701)?);
        let single = |data: &mut [f32]| each_of(data, |x| math::selu(x, alpha, gamma));
        functions(call, &single, |x| if x > 0.0 { gamma * x } else { gamma * alpha * x.exp_m1() })
    }),
    widened("Softplus", |call| reals(call, |x| x.max(0.0) + (-x.abs()).exp().ln_1p())),
    widened("Softsign", |call| reals(call, |x| x / (1.0 + x.abs()))),
    widened("HardSigmoid", |call| {
        let (alpha, beta) = (f64::from(call.float("alpha", 0.2)?), f64::from(call.float("beta", 0.5)?));
        reals(call, |x| (alpha * x + beta).clamp(0.0, 1.0))
    }),
    widened("HardSwish", |call| reals(call, |x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0))),
    widened("Mish", |call| {
        functions(call, &|data| each_of(data, math::mish), |x| {
            x * (x.max(0.0) + (-x.abs()).exp().ln_1p()).tanh()
        })
    }),
    widened("Swish", |call| {
        let alpha = f64::from(call.float("alpha", 1.0)?);
        let single = |data: &mut [f32]| each_of(data, |x| math::swish(x, alpha));
        functions(call, &single, |x| x / (1.0 + (-alpha * x).exp()))
    }),
    widened("Gelu", |call| match call.text("approximate", "none")? {
        "none" => functions(call, &|data| each_of(data, math::gelu), |x| {
            0.5 * x * (1.0 + erf(x * std::f64::consts::FRAC_1_SQRT_2))
        }),
        "tanh" => {
            let factor = (2.0 / std::f64::consts::PI).sqrt();
            functions(call, &|data| each_of(data, math::gelu_by_tanh), |x| {
                0.5 * x * (1.0 + (factor * (x + 0.044_715 * x * x * x)).tanh())
            })
        }
        other => invalid(format!("`approximate` = `{other}` is not known")),
    }),
    widened("ThresholdedRelu", |call| {
        let alpha = f64::from(call.float("alpha", 1.0)?);
        reals(call, |x| if x > alpha { x } else { 0.0 })
    }),
    widened("Shrink", |call| {
        let (bias, lambda) = (f64::from(call.float("bias", 0.0)?), f64::from(call.float("lambd", 0.5)?));
        let x = call.take(0)?;
        one(on_numbers!(x.dtype(), T => map_into(x, |x: T| {
            let value = Number::to_f64(x);
            T::from_f64(if value < -lambda { value + bias } else if value > lambda { value - bias } else { 0.0 })
        }))?)
    }),
    widened("Clip", clip),
    native("Dropout", dropout),
    native("Softmax", softmax),
    widened("LogSoftmax", |call| along(call, &Normalizer::LogSoftmax)),
    widened("Hardmax", |call| along(call, &Normalizer::Hardmax)),
    widened("LpNormalization", lp_normalization),
];

/// The bounds are inputs since version 11, and attributes before.
fn clip(call: &mut Call<'_>) -> Outcome {
    let bound = |call: &Call<'_>, index: usize, name| -> Result<Option<AnyTensor>, KernelErrorKind> {
        match (call.optional(index)?, call.attributes.float(name)?) {
            (Some(tensor), _) => Ok(Some(tensor.clone())),
            (None, Some(value)) => {
                Ok(Some(crate::element::of_f64s(call.tensor(0)?.dtype(), &[], &[f64::from(value)])?))
            }
            (None, None) => Ok(None),
        }
    };
    let (low, high) = (bound(call, 1, "min")?, bound(call, 2, "max")?);
    if call.tensor(0)?.dtype() == Dtype::F32 {
        let scalar = |tensor: Option<&AnyTensor>, default: f32| match tensor.map(AnyTensor::as_slice::<f32>) {
            None => Ok(default),
            Some(Ok([value])) => Ok(*value),
            Some(Ok(_)) => invalid("a bound does not have exactly one element"),
            Some(Err(error)) => Err(error.into()),
        };
        let low = scalar(low.as_ref(), f32::NEG_INFINITY)?;
        let high = scalar(high.as_ref(), f32::INFINITY)?;
        let clamped = move |x: f32| {
            let raised = if x < low { low } else { x };
            if raised > high { high } else { raised }
        };
        return functions(call, &|data| each_of(data, clamped), f64::abs);
    }
    let x = call.take(0)?;
    one(on_numbers!(x.dtype(), T => {
        let scalar = |tensor: Option<&AnyTensor>, default: T| -> Result<T, KernelErrorKind> {
            match tensor {
                None => Ok(default),
                Some(tensor) => match tensor.as_slice::<T>()? {
                    [value] => Ok(*value),
                    _ => invalid("a bound does not have exactly one element"),
                },
            }
        };
        let (low, high) = (scalar(low.as_ref(), T::LOWEST)?, scalar(high.as_ref(), T::HIGHEST)?);
        super::clamp(x, low, high)
    })?)
}

/// Inference returns the input. Training drops elements at random with probability `ratio`.
fn dropout(call: &mut Call<'_>) -> Outcome {
    let training = match call.optional(2)? {
        Some(flag) => flag.as_slice::<bool>()?.first().copied().unwrap_or(false),
        None => call.version < 7 && !call.flag("is_test", false)? && call.attributes.get("is_test").is_some(),
    };
    let ratio = match call.optional(1)? {
        Some(ratio) => crate::element::to_f64s(ratio)?.first().copied().unwrap_or(0.5),
        None => f64::from(call.float("ratio", 0.5)?),
    };
    let seed = call.attributes.int("seed")?;
    let version = call.version;
    let x = call.take(0)?;
    // Up to version 9 the mask has the element type of the input.
    let of_mask = if version < 10 { x.dtype() } else { Dtype::Bool };
    if !(training && ratio > 0.0) {
        let kept = super::cast::convert(&AnyTensor::from_scalar(true), of_mask)?;
        let mask = super::layout::broadcast_to(&kept, x.shape())?;
        return Ok(vec![x.into(), mask.into()]);
    }
    let mut random = super::generate::Random::new(seed.map(|seed| seed as f64));
    let mask: Vec<bool> = (0..x.len()).map(|_| random.uniform() >= ratio).collect();
    let scale = 1.0 / (1.0 - ratio);
    let values = crate::element::to_f64s(&x)?;
    let scaled = values.iter().zip(&mask).map(|(x, keep)| if *keep { x * scale } else { 0.0 });
    let kept = crate::element::of_f64s(x.dtype(), x.shape(), &scaled.collect::<Vec<_>>())?;
    let mask = super::cast::convert(&from_slice(kept.shape(), &mask)?, of_mask)?;
    Ok(vec![kept.into(), mask.into()])
}

fn along(call: &mut Call<'_>, kind: &Normalizer) -> Outcome {
    let x = call.take(0)?;
    one(along_axis(call, x, kind)?)
}

/// A function of the rows along one axis.
enum Normalizer {
    Softmax,
    LogSoftmax,
    Hardmax,
    /// Softmax that rounds every step.
    Rounded(fn(f32) -> f32),
}

impl Normalizer {
    fn apply<T: Real>(&self, data: &mut [T], extent: usize, inner: usize) {
        vectorised::<T, _>(
            #[inline(always)]
            || match self {
                Self::Softmax => softmax::blocks(data, extent, inner, softmax::Kind::Softmax),
                Self::LogSoftmax => softmax::blocks(data, extent, inner, softmax::Kind::LogSoftmax),
                Self::Hardmax => rows(data, data.len() / (extent * inner), extent, inner, hardmax_row),
                Self::Rounded(round) => rows(data, data.len() / (extent * inner), extent, inner, |row| {
                    softmax_by(row, |x: T| T::of(f64::from(round(Number::to_f64(x) as f32))));
                }),
            },
        );
    }
}

/// Minimum number of elements for which splitting across threads pays.
const MIN_PARALLEL: usize = 1 << 15;

/// Applies a function to every row along the call's axis. Before version 13 a row spans all axes from `axis`
/// on.
fn along_axis(call: &Call<'_>, mut x: AnyTensor, kind: &Normalizer) -> Result<AnyTensor, KernelErrorKind> {
    let given = call.attributes.int("axis")?;
    if x.is_empty() {
        return Ok(x);
    }
    let shape = x.shape().to_vec();
    let (_, extent, inner) = if shape.is_empty() {
        (1, 1, 1)
    } else if call.version >= 13 {
        around(&shape, axis(given.unwrap_or(-1), shape.len())?)
    } else {
        let axis = axis(given.unwrap_or(1).min(shape.len() as i64 - 1), shape.len())?;
        (count(&shape[..axis]), count(&shape[axis..]), 1)
    };
    on_floats!(x.dtype(), T => {
        let block = extent * inner;
        let part = (MIN_PARALLEL / block).max(1) * block;
        threads::in_parts(x.as_mut_slice::<T>()?, part, &|_, data| kind.apply::<T>(data, extent, inner));
        Ok(())
    })?;
    Ok(x)
}

/// Applies a function to every row along the middle of three axes.
pub(crate) fn rows<T: Real>(
    data: &mut [T],
    outer: usize,
    extent: usize,
    inner: usize,
    each: impl Fn(&mut [T]),
) {
    if inner == 1 {
        data.chunks_exact_mut(extent.max(1)).for_each(each);
        return;
    }
    let mut row = vec![T::ZERO; extent];
    for lane in lanes(outer, extent, inner) {
        row.iter_mut().enumerate().for_each(|(at, slot)| *slot = data[lane.at(at)]);
        each(&mut row);
        row.iter().enumerate().for_each(|(at, value)| data[lane.at(at)] = *value);
    }
}

fn greatest<T: Real>(row: &[T]) -> T {
    crate::fast::reductions::fold(row, T::LOWEST, Number::max_of)
}

/// Softmax along the axis. 16-bit floats are rounded after every step of the operator's definition (maximum,
/// difference, exponential, sum, quotient), so that the operator and its decomposition give the same bits.
/// Sums accumulate in `f32`, as in `ReduceSum`.
fn softmax(call: &mut Call<'_>) -> Outcome {
    let dtype = call.tensor(0)?.dtype();
    let round: fn(f32) -> f32 = match dtype {
        Dtype::F16 => |x| f16::from_f32(x).to_f32(),
        Dtype::BF16 => |x| bf16::from_f32(x).to_f32(),
        _ => return along(call, &Normalizer::Softmax),
    };
    let wide = widen(call.take(0)?)?;
    let result = along_axis(call, wide, &Normalizer::Rounded(round))?;
    one(narrow(result, dtype)?)
}

pub(crate) fn softmax_row<T: Real>(row: &mut [T]) {
    let extent = row.len();
    Normalizer::Softmax.apply(row, extent.max(1), 1);
}

fn softmax_by<T: Real>(row: &mut [T], round: impl Fn(T) -> T) {
    let most = greatest(row);
    let mut sum = T::ZERO;
    for value in row.iter_mut() {
        *value = round(round(*value - most).exponential());
        sum += *value;
    }
    let sum = round(sum);
    for value in row {
        *value = *value / sum;
    }
}

pub(crate) fn log_softmax_row<T: Real>(row: &mut [T]) {
    let extent = row.len();
    Normalizer::LogSoftmax.apply(row, extent.max(1), 1);
}

fn hardmax_row<T: Real>(row: &mut [T]) {
    let most = greatest(row);
    let first = row.iter().position(|value| *value == most);
    for (at, value) in row.iter_mut().enumerate() {
        *value = if Some(at) == first { T::ONE } else { T::ZERO };
    }
}

fn lp_normalization(call: &mut Call<'_>) -> Outcome {
    let p = call.int("p", 2)?;
    let axis_given = call.int("axis", -1)?;
    let mut x = call.take(0)?;
    let shape = x.shape().to_vec();
    let (outer, extent, inner) = around(&shape, axis(axis_given, shape.len())?);
    if !matches!(p, 1 | 2) {
        return invalid(format!("`p` = {p} is neither 1 nor 2"));
    }
    on_floats!(x.dtype(), T => {
        rows(x.as_mut_slice::<T>()?, outer, extent, inner, |row| {
            let norm: T = if p == 1 {
                row.iter().map(|value| value.abs()).sum()
            } else {
                row.iter().map(|value| *value * *value).sum::<T>().sqrt()
            };
            if norm != T::ZERO {
                row.iter_mut().for_each(|value| *value /= norm);
            }
        });
        Ok(())
    })?;
    one(x)
}

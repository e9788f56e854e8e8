//! Generators: constants, ranges, random numbers, window functions and mel weights.
//!
//! These operators make elements from attributes and a few numbers. A result can be much larger than the
//! model, so its size is checked first:
//!
//! ```text
//! Range (start, limit, step)     ceil((limit - start) / step) elements, none if that is negative
//! Range (0.0, 1.0, 0.25)         0.0 0.25 0.5 0.75
//! ```
//!
//! Floats of a `Range` are `start + i * step` in `f64`, rounded once, so rounding errors do not add up.
//!
//! Random operators use SplitMix64 ([`Random`]): two multiplications and three shifts per number, with the
//! same bits for a seed on every machine. Normal samples are the Box-Muller transform of two uniform ones.
//! `Multinomial` inverts the cumulative distribution of a row, in time linear in the number of classes for
//! each sample.
//!
//! Windows are sums of cosines, `c0 - c1 * cos(a) + c2 * cos(2a)`, with the coefficients of the table of
//! operators. `MelWeightMatrix` follows the reference implementation of ONNX.
//!
//! **Invariant:** a call with the same inputs gives the same result. ONNX leaves the seed open if the
//! attribute is absent; these operators then use a fixed one.
//!
//! **Limit:** two nodes without a seed, or with the same one, draw the same numbers.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::{Operator, native};
use crate::attributes::Attribute;
use crate::call::{Call, Outcome, one};
use crate::element::{MAX_BYTES, Number, build, check_size, ints, of_f64s, on_numbers, to_f64s};
use crate::error::{KernelErrorKind, invalid};
use crate::movement::strided;
use crate::shape::{count, extents};
use crate::work;

pub(super) const OPERATORS: &[Operator] = &[
    native("Constant", constant),
    native("ConstantOfShape", constant_of_shape),
    native("EyeLike", eye_like),
    native("Range", range),
    native("RandomUniform", |call| random(call, uniform)),
    native("RandomNormal", |call| random(call, normal)),
    native("RandomUniformLike", |call| random(call, uniform)),
    native("RandomNormalLike", |call| random(call, normal)),
    native("Bernoulli", bernoulli),
    native("Multinomial", multinomial),
    native("HannWindow", |call| window(call, [0.5, 0.5, 0.0])),
    native("HammingWindow", |call| window(call, [25.0 / 46.0, 21.0 / 46.0, 0.0])),
    native("BlackmanWindow", |call| window(call, [0.42, 0.5, 0.08])),
    native("MelWeightMatrix", mel_weight_matrix),
];

fn constant(call: &mut Call<'_>) -> Outcome {
    const FORMS: &str =
        "value sparse_value value_float value_floats value_int value_ints value_string value_strings";
    let Some(value) = FORMS.split(' ').find_map(|name| call.attributes.get(name)) else {
        return Err(KernelErrorKind::MissingAttribute("value"));
    };
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    one(match value {
        Attribute::Tensor(tensor) => tensor.clone(),
        Attribute::Float(value) => AnyTensor::from_scalar(*value),
        Attribute::Int(value) => AnyTensor::from_scalar(*value),
        Attribute::Floats(values) => AnyTensor::from(&values[..]),
        Attribute::Ints(values) => ints(values),
        Attribute::Bytes(bytes) => AnyTensor::from_strings(&[], &[text(bytes)])?,
        Attribute::Strings(list) => {
            AnyTensor::from_strings(&[list.len()], &list.iter().map(text).collect::<Vec<_>>())?
        }
        Attribute::Type(_) => return Err(KernelErrorKind::MissingAttribute("value")),
    })
}

fn constant_of_shape(call: &mut Call<'_>) -> Outcome {
    let shape = call.required_integers(0)?;
    if call.tensor(0)?.rank() != 1 {
        return invalid("the shape is not a vector");
    }
    let shape = extents(&shape)?;
    let fill = match call.attributes.tensor("value")? {
        Some(fill) if fill.len() == 1 => fill.clone(),
        Some(_) => return invalid("`value` does not have exactly one element"),
        None => AnyTensor::from_scalar(0.0_f32),
    };
    let width = fill.dtype().size_bytes().unwrap_or(8);
    check_size(&shape, width)?;
    if fill.bytes().iter().all(|byte| *byte == 0) && fill.dtype() != Dtype::String {
        return one(AnyTensor::zeros(fill.dtype(), &shape)?);
    }
    one(strided(&fill, &shape, &vec![0; shape.len()])?)
}

fn eye_like(call: &mut Call<'_>) -> Outcome {
    let x = call.tensor(0)?;
    let dtype = call.dtype("dtype")?.unwrap_or(x.dtype());
    let k = call.int("k", 0)?;
    let &[rows, columns] = x.shape() else { return invalid("the input is not a matrix") };
    check_size(&[rows, columns], size_of::<f64>())?;
    let mut values = vec![0.0; count(x.shape())];
    for row in 0..rows.min(values.len()) {
        if let Ok(column) = usize::try_from((row as i64).saturating_add(k))
            && column < columns
        {
            values[row * columns + column] = 1.0;
        }
    }
    one(of_f64s(dtype, x.shape(), &values)?)
}

fn range(call: &mut Call<'_>) -> Outcome {
    let half = call.tensor(0)?.dtype();
    let wide = |index: usize| crate::element::widen(call.tensor(index)?.clone());
    let (start, limit, step) = (wide(0)?, wide(1)?, wide(2)?);
    let made = on_numbers!(start.dtype(), T => {
        let first = |tensor: &AnyTensor| -> Result<T, KernelErrorKind> {
            tensor.as_slice::<T>()?.first().copied().map_or_else(|| invalid("a bound is empty"), Ok)
        };
        let (start, limit, step) = (first(&start)?, first(&limit)?, first(&step)?);
        if step == T::ZERO {
            return invalid("the step is zero");
        }
        let length = range_length(start, limit, step).filter(|length| *length <= MAX_BYTES);
        let length = length.ok_or(KernelErrorKind::TooLarge { limit: MAX_BYTES })?;
        build::<T>(&[length], |out| {
            let mut value = start;
            for (at, slot) in out.iter_mut().enumerate() {
                *slot = if T::IS_FLOAT { T::from_f64(start.to_f64() + at as f64 * step.to_f64()) } else { value };
                value = value.plus(step);
            }
        })
    })?;
    one(crate::element::narrow(made, half)?)
}

/// `max(ceil((limit - start) / step), 0)`, exact for integers; `None` beyond `usize`. The step is not zero.
fn range_length<T: Number>(start: T, limit: T, step: T) -> Option<usize> {
    if T::IS_FLOAT {
        let length = ((limit.to_f64() - start.to_f64()) / step.to_f64()).ceil().max(0.0);
        return (length < usize::MAX as f64).then_some(length as usize);
    }
    let (span, step) = (limit.to_i128() - start.to_i128(), step.to_i128());
    if span.signum() != step.signum() {
        Some(0)
    } else {
        usize::try_from(span.unsigned_abs().div_ceil(step.unsigned_abs())).ok()
    }
}

/// The SplitMix64 random number generator (Steele, Lea and Flood, 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates a generator from a seed; a missing seed selects a fixed default.
    #[must_use]
    pub fn new(seed: Option<f64>) -> Self {
        Self(seed.map_or(0x7970_656c_6f6f_6d21, f64::to_bits))
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform sample of `0.0..1.0`.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Sample of the standard normal distribution (Box-Muller transform).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

fn seed(call: &Call<'_>) -> Result<Option<f64>, KernelErrorKind> {
    Ok(call.attributes.float("seed")?.map(f64::from))
}

fn uniform(call: &Call<'_>, random: &mut Random) -> Result<f64, KernelErrorKind> {
    let (low, high) = (f64::from(call.float("low", 0.0)?), f64::from(call.float("high", 1.0)?));
    Ok(low + (high - low) * random.uniform())
}

fn normal(call: &Call<'_>, random: &mut Random) -> Result<f64, KernelErrorKind> {
    Ok(f64::from(call.float("mean", 0.0)?) + f64::from(call.float("scale", 1.0)?) * random.normal())
}

/// The result has the shape of the input, if there is one, and otherwise the shape in the attribute.
fn random(call: &mut Call<'_>, draw: fn(&Call<'_>, &mut Random) -> Result<f64, KernelErrorKind>) -> Outcome {
    let (default, shape) = if call.has(0) {
        let x = call.tensor(0)?;
        (x.dtype(), x.shape().to_vec())
    } else {
        let shape = call.attributes.ints("shape")?.ok_or(KernelErrorKind::MissingAttribute("shape"))?;
        (Dtype::F32, extents(shape)?)
    };
    let dtype = call.dtype("dtype")?.unwrap_or(default);
    check_size(&shape, size_of::<f64>())?;
    let mut random = Random::new(seed(call)?);
    let values = (0..count(&shape)).map(|_| draw(call, &mut random)).collect::<Result<Vec<_>, _>>()?;
    one(of_f64s(dtype, &shape, &values)?)
}

fn bernoulli(call: &mut Call<'_>) -> Outcome {
    let x = call.tensor(0)?;
    let dtype = call.dtype("dtype")?.unwrap_or(x.dtype());
    let mut random = Random::new(seed(call)?);
    let drawn = to_f64s(x)?.iter().map(|p| f64::from(u8::from(random.uniform() < *p))).collect::<Vec<_>>();
    one(of_f64s(dtype, x.shape(), &drawn)?)
}

/// Samples classes from unnormalised log probabilities.
fn multinomial(call: &mut Call<'_>) -> Outcome {
    let x = call.tensor(0)?;
    let &[batches, classes] = x.shape() else { return invalid("the input is not a matrix") };
    let samples = extents(&[call.int("sample_size", 1)?])?[0];
    let dtype = call.dtype("dtype")?.unwrap_or(Dtype::I32);
    check_size(&[batches, samples], size_of::<f64>())?;
    if classes == 0 {
        return invalid("there are no classes");
    }
    let mut random = Random::new(seed(call)?);
    let logits = to_f64s(x)?;
    work::spend_each(&[batches, samples, classes])?;
    let mut drawn = Vec::with_capacity(batches * samples);
    for row in logits.chunks_exact(classes) {
        let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = row.iter().map(|logit| (logit - most).exp()).collect();
        let total: f64 = weights.iter().sum();
        for _ in 0..samples {
            let mut left = random.uniform() * total;
            let class = weights.iter().position(|weight| {
                left -= weight;
                left < 0.0
            });
            drawn.push(class.unwrap_or(classes - 1) as f64);
        }
    }
    one(of_f64s(dtype, &[batches, samples], &drawn)?)
}

/// Cosine-sum window.
fn window(call: &mut Call<'_>, [constant, once, twice]: [f64; 3]) -> Outcome {
    let Some(size) = call.integer(0)? else { return Err(KernelErrorKind::MissingInput(0)) };
    let size = extents(&[size])?[0];
    let dtype = call.dtype("output_datatype")?.unwrap_or(Dtype::F32);
    check_size(&[size], size_of::<f64>())?;
    let periods = if call.flag("periodic", true)? { size as f64 } else { size as f64 - 1.0 };
    let value = |at: usize| {
        let angle = std::f64::consts::TAU * at as f64 / periods;
        constant - once * angle.cos() + twice * (2.0 * angle).cos()
    };
    one(of_f64s(dtype, &[size], &(0..size).map(value).collect::<Vec<_>>())?)
}

fn mel_weight_matrix(call: &mut Call<'_>) -> Outcome {
    let number = |index: usize| -> Result<f64, KernelErrorKind> {
        to_f64s(call.tensor(index)?)?.first().copied().map_or_else(|| invalid("an input is empty"), Ok)
    };
    let (bins, length, rate) = (number(0)?, number(1)?, number(2)?);
    let (low, high) = (number(3)?, number(4)?);
    let dtype = call.dtype("output_datatype")?.unwrap_or(Dtype::F32);
    if !(bins >= 1.0 && length >= 1.0 && rate >= 1.0) {
        return invalid("the numbers of bins and samples are not positive");
    }
    let (columns, rows) = (bins as usize, (length / 2.0).floor() as usize + 1);
    check_size(&[rows, columns], size_of::<f64>())?;
    work::spend_each(&[rows, columns])?;
    let to_mel = |hertz: f64| 2595.0 * (1.0 + hertz / 700.0).log10();
    let (low_mel, high_mel) = (to_mel(low), to_mel(high));
    // The reference implementation divides by the number of points, not by the number of intervals.
    let step = (high_mel - low_mel) / (bins + 2.0);
    // Filter centres and both end points, as spectrogram bins.
    let centre = |at: usize| {
        let hertz = 700.0 * (10_f64.powf((low_mel + at as f64 * step) / 2595.0) - 1.0);
        ((length + 1.0) * hertz / rate).floor() as i64
    };
    let mut weights = vec![0.0; rows * columns];
    for column in 0..columns {
        let (from, top, to) = (centre(column), centre(column + 1), centre(column + 2));
        let mut set = |row: i64, weight: f64| {
            if let Ok(row) = usize::try_from(row)
                && row < rows
            {
                weights[row * columns + column] = weight;
            }
        };
        if top == from {
            set(top, 1.0);
        } else {
            let width = top.saturating_sub(from) as f64;
            let inside = from.max(0)..=top.min(rows as i64 - 1);
            inside.for_each(|row| set(row, row.saturating_sub(from) as f64 / width));
        }
        if to > top {
            let width = to.saturating_sub(top) as f64;
            let inside = top.max(0)..to.min(rows as i64);
            inside.for_each(|row| set(row, to.saturating_sub(row) as f64 / width));
        }
    }
    one(of_f64s(dtype, &[rows, columns], &weights)?)
}

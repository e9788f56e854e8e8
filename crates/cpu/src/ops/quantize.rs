//! Quantisation to small integers and small floats with a scale and a zero point.
//!
//! A scale is a scalar, one value per index of an axis, or one value per block along an axis.
//!
//! Conversions between `f32` and 8-bit integers are direct loops, and products of 8-bit integers use a kernel
//! of their own ([`quantised`](crate::fast::quantised)). All other types take the general path through `f64`,
//! which defines the results: the direct loops return the same bits.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::{Dtype, DtypeClass};

use super::cast::{Policy, convert, convert_with, is_small_int, small_float_values};
use super::normalize::rounded;
use super::{Operator, native};
use crate::call::{Call, Outcome, one};
use crate::element::{of_f64s, to_f64s};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::quantised::linear::{self, Layout};
use crate::minifloat::Overflow;
use crate::shape::{axis, count, each_index, strides};

pub(crate) mod convolution;
pub(crate) mod product;

pub(super) const OPERATORS: &[Operator] = &[
    native("QuantizeLinear", quantize_linear),
    native("DequantizeLinear", dequantize_linear),
    native("DynamicQuantizeLinear", dynamic_quantize_linear),
    native("QLinearMatMul", product::qlinear_matmul),
    native("QLinearConv", convolution::qlinear_conv),
];

/// Elements of any numeric type, widened.
fn numbers(x: &AnyTensor) -> Result<Vec<f64>, KernelErrorKind> {
    if let Some(values) = small_float_values(x)? {
        return Ok(values);
    }
    if is_small_int(x.dtype()) { to_f64s(&convert(x, Dtype::I8)?) } else { to_f64s(x) }
}

/// The scales, and a zero point for each. Zero points are 0 if the input is omitted.
fn parameters(call: &Call<'_>) -> Result<(Vec<f64>, Vec<f64>), KernelErrorKind> {
    let scales = to_f64s(call.tensor(1)?)?;
    let zeros = match call.optional(2)? {
        Some(zeros) => numbers(zeros)?,
        None => vec![0.0; scales.len()],
    };
    if zeros.len() != scales.len() {
        return invalid("scales and zero points differ in number");
    }
    Ok((scales, zeros))
}

/// Assignment of the scales to the elements of `x`.
fn layout(call: &Call<'_>, x: &AnyTensor, scale: &AnyTensor) -> Result<Layout, KernelErrorKind> {
    if scale.len() == 1 && scale.rank() <= 1 {
        return Ok(Layout::Whole);
    }
    let block = usize::try_from(call.int("block_size", 0)?).unwrap_or(0);
    let given = call.int("axis", 1)?;
    let axis = axis(if x.rank() == 1 { 0 } else { given }, x.rank())?;
    let fits = if scale.rank() == 1 && block == 0 {
        scale.len() == x.shape()[axis]
    } else {
        block > 0
            && scale.rank() == x.rank()
            && (0..x.rank()).all(|at| {
                let extent = x.shape()[at];
                scale.shape()[at] == if at == axis { extent.div_ceil(block) } else { extent }
            })
    };
    if !fits {
        return invalid(format!("scales {:?} do not fit {:?}", scale.shape(), x.shape()));
    }
    Ok(if block == 0 { Layout::PerAxis(axis) } else { Layout::Blocked(axis, block) })
}

/// Index of the scale for each element of `x`.
fn scale_indices(layout: Layout, x: &AnyTensor, scale: &AnyTensor) -> Vec<usize> {
    let own = strides(scale.shape());
    let mut indices = Vec::with_capacity(x.len());
    each_index(x.shape(), |_, index| {
        indices.push(match layout {
            Layout::Whole => 0,
            Layout::PerAxis(axis) => index[axis],
            Layout::Blocked(axis, block) => index
                .iter()
                .enumerate()
                .map(|(at, i)| own[at] * if at == axis { i / block } else { *i })
                .sum(),
        });
    });
    indices
}

/// The parameters as `f32`, which represents them exactly.
fn narrow_parameters(call: &Call<'_>) -> Result<(Vec<f32>, Vec<f32>), KernelErrorKind> {
    let (scales, zeros) = parameters(call)?;
    let narrow = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect();
    Ok((narrow(scales), narrow(zeros)))
}

/// Bound of the integers that `f32` represents exactly.
const EXACT: f32 = 16_777_216.0;

fn is_byte(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::U8 | Dtype::I8)
}

/// Smallest and largest integer of a type.
fn limits(dtype: Dtype) -> Option<(f64, f64)> {
    let bits = dtype.size_bits()?;
    match dtype.class() {
        DtypeClass::SignedInt => Some((-(2_f64.powi(bits as i32 - 1)), 2_f64.powi(bits as i32 - 1) - 1.0)),
        DtypeClass::UnsignedInt => Some((0.0, 2_f64.powi(bits as i32) - 1.0)),
        DtypeClass::Float | DtypeClass::Bool | DtypeClass::Complex | DtypeClass::String => None,
    }
}

/// Converts numbers to units of a quantised type, rounded and saturated.
fn quantised(
    dtype: Dtype,
    shape: &[usize],
    values: &[f64],
    overflow: Overflow,
) -> Result<AnyTensor, KernelErrorKind> {
    let Some((low, high)) = limits(dtype) else {
        let wide = of_f64s(Dtype::F64, shape, values)?;
        return convert_with(&wide, dtype, Policy { overflow, ..Policy::default() });
    };
    let clamped: Vec<f64> = values.iter().map(|value| value.clamp(low, high)).collect();
    if is_small_int(dtype) {
        return convert(&of_f64s(Dtype::I8, shape, &clamped)?, dtype);
    }
    of_f64s(dtype, shape, &clamped)
}

fn quantize_linear(call: &mut Call<'_>) -> Outcome {
    let (x, scale) = (call.tensor(0)?, call.tensor(1)?);
    let asked = call.dtype("output_dtype")?;
    let dtype = call.optional(2)?.map(AnyTensor::dtype).or(asked).unwrap_or(Dtype::U8);
    let precision = call.dtype("precision")?.unwrap_or(scale.dtype());
    let layout = layout(call, x, scale)?;
    if is_byte(dtype) && [x.dtype(), scale.dtype(), precision] == [Dtype::F32; 3] {
        let (scales, zeros) = narrow_parameters(call)?;
        return one(linear::quantize(x, layout, (&scales, &zeros), dtype)?);
    }
    one(quantize_any(call, layout, dtype, precision)?)
}

/// Quantisation of any types.
fn quantize_any(
    call: &Call<'_>,
    layout: Layout,
    dtype: Dtype,
    precision: Dtype,
) -> Result<AnyTensor, KernelErrorKind> {
    let (x, scale) = (call.tensor(0)?, call.tensor(1)?);
    let overflow = if call.flag("saturate", true)? { Overflow::Saturate } else { Overflow::Special };
    let indices = scale_indices(layout, x, scale);
    let (scales, zeros) = parameters(call)?;
    let is_whole = limits(dtype).is_some();
    let data = to_f64s(x)?;
    let values: Vec<f64> = data
        .iter()
        .zip(&indices)
        .map(|(value, at)| {
            let zero = zeros[*at];
            let quotient = rounded(precision, rounded(precision, *value) / rounded(precision, scales[*at]));
            if is_whole { quotient.round_ties_even() + zero } else { quotient + zero }
        })
        .collect();
    quantised(dtype, x.shape(), &values, overflow)
}

fn dequantize_linear(call: &mut Call<'_>) -> Outcome {
    let (x, scale) = (call.tensor(0)?, call.tensor(1)?);
    let dtype = call.dtype("output_dtype")?.unwrap_or(scale.dtype());
    let layout = layout(call, x, scale)?;
    if (is_byte(x.dtype()) || x.dtype() == Dtype::I32) && [scale.dtype(), dtype] == [Dtype::F32; 2] {
        let (scales, zeros) = narrow_parameters(call)?;
        if zeros.iter().all(|zero| zero.abs() < EXACT) {
            return one(linear::dequantize(x, layout, (&scales, &zeros))?);
        }
    }
    one(dequantize_any(call, layout, dtype)?)
}

/// Dequantisation of any types.
fn dequantize_any(call: &Call<'_>, layout: Layout, dtype: Dtype) -> Result<AnyTensor, KernelErrorKind> {
    let (x, scale) = (call.tensor(0)?, call.tensor(1)?);
    let indices = scale_indices(layout, x, scale);
    let (scales, zeros) = parameters(call)?;
    let values: Vec<f64> =
        numbers(x)?.iter().zip(&indices).map(|(value, at)| (value - zeros[*at]) * scales[*at]).collect();
    of_f64s(dtype, x.shape(), &values)
}

fn dynamic_quantize_linear(call: &mut Call<'_>) -> Outcome {
    let x = call.tensor(0)?;
    match x.dtype() {
        Dtype::F32 => linear::dynamic(x),
        other => Err(KernelErrorKind::Dtype(other)),
    }
}

/// Requantises a product of 32-bit integers. `scales` has one value, or one per index of `lane_axis`.
fn requantised(
    product: &AnyTensor,
    scales: &[f64],
    lane_axis: usize,
    out_scale: f64,
    zero: &AnyTensor,
) -> Result<AnyTensor, KernelErrorKind> {
    let values = to_f64s(product)?;
    let inner = count(product.shape().get(lane_axis + 1..).unwrap_or_default());
    let offset = numbers(zero)?.first().copied().unwrap_or(0.0);
    let scaled: Vec<f64> = values
        .iter()
        .enumerate()
        .map(|(at, value)| {
            let scale = scales[at / inner.max(1) % scales.len()];
            (value * scale / out_scale).round_ties_even() + offset
        })
        .collect();
    quantised(zero.dtype(), product.shape(), &scaled, Overflow::Saturate)
}

fn single(call: &Call<'_>, index: usize) -> Result<f64, KernelErrorKind> {
    match &to_f64s(call.tensor(index)?)?[..] {
        [value] => Ok(*value),
        _ => Err(KernelErrorKind::Unsupported(format!("input {index} with more than one element"))),
    }
}

/// Products of the input scales, which must be scalar or one per lane.
fn scale_products(a: f64, b: &[f64], lanes: usize) -> Result<Vec<f64>, KernelErrorKind> {
    if b.len() != 1 && b.len() != lanes {
        return invalid(format!("{} scales for {lanes} lanes", b.len()));
    }
    Ok(b.iter().map(|b| a * b).collect())
}

#[cfg(test)]
mod tests;

//! Convolutions of 8-bit integers: the fast kernel, or the convolution of widened elements.

use typeloom_tensor::any_tensor::AnyTensor;

use super::{requantised, scale_products, single};
use crate::call::{Call, Outcome, one};
use crate::element::to_f64s;
use crate::error::KernelErrorKind;
use crate::fast::product::integer;
use crate::fast::quantised::convolution::{Filter, requantized};
use crate::fast::quantised::requantize::Requantizer;
use crate::ops::conv::convolve;
use crate::ops::matmul::centred;

/// The convolution of widened elements.
fn wide_convolution(
    call: &Call<'_>,
    (x, x_zero): (&AnyTensor, Option<&AnyTensor>),
    (w, w_zero): (&AnyTensor, Option<&AnyTensor>),
    bias: Option<&AnyTensor>,
) -> Result<AnyTensor, KernelErrorKind> {
    convolve(call, &centred(x, x_zero, 1)?, &centred(w, w_zero, 0)?, bias)
}

/// `ConvInteger`.
pub(crate) fn conv_integer(call: &mut Call<'_>) -> Outcome {
    let (x, w) = (call.tensor(0)?, call.tensor(1)?);
    let (x_zero, w_zero) = (call.optional(2)?, call.optional(3)?);
    if let Some(filter) = Filter::pack(call.attributes, w, w_zero)?
        && let Some(result) = filter.apply::<i32>(call, x, x_zero, &integer::store)?
    {
        return one(result);
    }
    one(wide_convolution(call, (x, x_zero), (w, w_zero), None)?)
}

/// `QLinearConv`.
pub(super) fn qlinear_conv(call: &mut Call<'_>) -> Outcome {
    let (x, w, zero) = (call.tensor(0)?, call.tensor(3)?, call.tensor(7)?);
    let (x_zero, w_zero, bias) = (call.optional(2)?, call.optional(5)?, call.optional(8)?);
    let channels = w.shape().first().copied().unwrap_or(0);
    let scales = scale_products(single(call, 1)?, &to_f64s(call.tensor(4)?)?, channels)?;
    let scale = single(call, 6)?;
    if let Ok(requantizer) = Requantizer::new(scales.clone(), scale, zero, bias, channels)
        && let Some(filter) = Filter::pack(call.attributes, w, w_zero)?
        && let Some(result) = requantized(call, &filter, (x, x_zero), &requantizer)?
    {
        return one(result);
    }
    let product = wide_convolution(call, (x, x_zero), (w, w_zero), bias)?;
    one(requantised(&product, &scales, 1, scale, zero)?)
}

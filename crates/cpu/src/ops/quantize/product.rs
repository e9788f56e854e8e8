//! Matrix products of 8-bit integers: the fast kernel, or the product of widened elements.

use pulp::bytemuck::cast_slice_mut;
use typeloom_tensor::any_tensor::AnyTensor;

use super::{numbers, requantised, scale_products, single};
use crate::call::{Call, Outcome, one};
use crate::element::{dispatch, to_f64s};
use crate::error::KernelErrorKind;
use crate::fast::product::integer;
use crate::fast::quantised::product::product;
use crate::fast::quantised::requantize::{Lanes, Requantizer};
use crate::ops::matmul::{Batches, centred, multiply};

/// The product of widened elements.
fn wide_product(
    (a, a_zero): (&AnyTensor, Option<&AnyTensor>),
    (b, b_zero): (&AnyTensor, Option<&AnyTensor>),
) -> Result<AnyTensor, KernelErrorKind> {
    let a = centred(a, a_zero, a.rank().saturating_sub(2))?;
    let b = centred(b, b_zero, b.rank().saturating_sub(1))?;
    multiply(&a, &b)
}

/// `MatMulInteger`.
pub(crate) fn matmul_integer(call: &mut Call<'_>) -> Outcome {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let (a_zero, b_zero) = (call.optional(2)?, call.optional(3)?);
    if let Some(result) = product::<i32>((a, a_zero), (b, b_zero), &integer::store)? {
        return one(result);
    }
    one(wide_product((a, a_zero), (b, b_zero))?)
}

/// `QLinearMatMul`.
pub(super) fn qlinear_matmul(call: &mut Call<'_>) -> Outcome {
    let (a, b, zero) = (call.tensor(0)?, call.tensor(3)?, call.tensor(7)?);
    let (a_zero, b_zero) = (call.optional(2)?, call.optional(5)?);
    let batches = Batches::of(a.shape(), b.shape())?;
    let lanes = batches.shape.last().copied().unwrap_or(1);
    let scales = scale_products(single(call, 1)?, &to_f64s(call.tensor(4)?)?, lanes)?;
    let scale = single(call, 6)?;
    if let Ok(requantizer) = Requantizer::new(scales.clone(), scale, zero, None, batches.n) {
        let result = dispatch!(requantizer.dtype(), T in [U8 u8, I8 i8] => {
            product::<T>((a, a_zero), (b, b_zero), &|_, first, sums, out| {
                requantizer.apply(Lanes::From(first), sums, cast_slice_mut(out));
            })
        })?;
        if let Some(result) = result {
            return one(result);
        }
    }
    numbers(zero)?;
    let product = wide_product((a, a_zero), (b, b_zero))?;
    let last = product.rank().saturating_sub(1);
    one(requantised(&product, &scales, last, scale, zero)?)
}

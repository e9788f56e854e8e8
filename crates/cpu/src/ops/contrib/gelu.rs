//! Gaussian error linear units.

use typeloom_tensor::any_tensor::AnyTensor;

use super::part;
use crate::attributes::{Attribute, Attributes};
use crate::call::{Call, Outcome, one};
use crate::element::{build_over, of_f64s};
use crate::error::KernelErrorKind;
use crate::ops::{CONTRIB_DOMAIN, Operator, widened};
use typeloom_types::dtype::Dtype;

pub(in crate::ops) const OPERATORS: &[Operator] = &[
    widened("Gelu", |call| gelu(call, "none")).of(CONTRIB_DOMAIN),
    widened("BiasGelu", |call| gelu(call, "none")).of(CONTRIB_DOMAIN),
    widened("FastGelu", |call| gelu(call, "tanh")).of(CONTRIB_DOMAIN),
    widened("QuickGelu", quick).of(CONTRIB_DOMAIN),
];

/// `Gelu(x + bias)`; the bias is optional.
fn gelu(call: &mut Call<'_>, approximate: &str) -> Outcome {
    let bias = if call.has(1) { Some(call.take(1)?) } else { None };
    let mut x = call.take(0)?;
    if let Some(bias) = bias {
        x = part("Add", &Attributes::default(), [Some(x), Some(bias)])?;
    }
    let attributes = Attributes::default().with("approximate", Attribute::Bytes(approximate.into()));
    one(part("Gelu", &attributes, [Some(x)])?)
}

/// `x * sigmoid(alpha * x)`.
fn quick(call: &mut Call<'_>) -> Outcome {
    let alpha = call.float("alpha", 1.702)?;
    let x = call.take(0)?;
    if x.dtype() != Dtype::F32 {
        let factor = of_f64s(x.dtype(), &[], &[f64::from(alpha)])?;
        let scaled = part("Mul", &Attributes::default(), [Some(x.clone()), Some(factor)])?;
        let gate = part("Sigmoid", &Attributes::default(), [Some(scaled)])?;
        return one(part("Mul", &Attributes::default(), [Some(x), Some(gate)])?);
    }
    one(gated(&x, alpha)?)
}

/// `x * sigmoid(alpha * x)` for `f32`.
pub(super) fn gated(x: &AnyTensor, alpha: f32) -> Result<AnyTensor, KernelErrorKind> {
    let data = x.as_slice::<f32>()?;
    let scaled = build_over::<f32>(x.shape(), |out| {
        out.iter_mut().zip(data).for_each(|(out, x)| *out = alpha * x);
    })?;
    let mut gate = part("Sigmoid", &Attributes::default(), [Some(scaled)])?;
    gate.as_mut_slice::<f32>()?.iter_mut().zip(data).for_each(|(gate, x)| *gate *= x);
    Ok(gate)
}

//! ONNX Runtime's own operators, domain `com.microsoft`.
//!
//! Optimised and quantised exports contain these operators. Semantics follow ONNX Runtime's CPU kernels.
//! Operators that are a composition run the operators of the default domain as parts, so that they share
//! their kernels.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;

use super::run_nested;
use crate::attributes::Attributes;
use crate::call::Call;
use crate::element::build_over;
use crate::error::{KernelErrorKind, invalid};

pub(super) mod attention;
pub(super) mod decoder;
pub(super) mod fused;
pub(super) mod gelu;
pub(super) mod general;
pub(super) mod grouped;
mod heads;
pub(super) mod integer;
pub(super) mod lstm;
pub(super) mod normalize;
pub(super) mod quantized;
pub(super) mod rotary;
pub(super) mod weights;

/// The first result of an operator of the default domain.
fn part(
    name: &'static str,
    attributes: &Attributes,
    inputs: impl IntoIterator<Item = Option<AnyTensor>>,
) -> Result<AnyTensor, KernelErrorKind> {
    let inputs = inputs.into_iter().map(|input| input.map(Datum::Tensor)).collect();
    match run_nested(name, attributes, inputs)?.into_iter().next() {
        Some(Datum::Tensor(tensor)) => Ok(tensor),
        _ => invalid(format!("`{name}` has no result")),
    }
}

/// An unshared copy of a tensor of `f32`, or the tensor itself.
fn owned(x: AnyTensor) -> Result<AnyTensor, KernelErrorKind> {
    if !x.is_shared() {
        return Ok(x);
    }
    let from = x.as_slice::<f32>()?;
    build_over::<f32>(x.shape(), |to| to.copy_from_slice(from))
}

/// Elements of an input of `f32`; `None` if it is omitted.
fn floats<'c>(call: &'c Call<'_>, index: usize) -> Result<Option<&'c [f32]>, KernelErrorKind> {
    let Some(x) = call.optional(index)? else { return Ok(None) };
    if x.dtype() == Dtype::F32 { Ok(Some(x.as_slice()?)) } else { Err(KernelErrorKind::Dtype(x.dtype())) }
}

/// Elements of a required input of `f32`.
fn required<'c>(call: &'c Call<'_>, index: usize) -> Result<&'c [f32], KernelErrorKind> {
    floats(call, index)?.ok_or(KernelErrorKind::MissingInput(index))
}

/// Sum of a function of all elements, in several accumulators that vectorise.
#[inline(always)]
fn sum_of(list: &[f32], each: impl Fn(f32) -> f32) -> f32 {
    let (blocks, rest) = list.as_chunks::<16>();
    let mut sums = [0.0_f32; 16];
    for block in blocks {
        for (sum, value) in sums.iter_mut().zip(block) {
            *sum += each(*value);
        }
    }
    sums.iter().sum::<f32>() + rest.iter().map(|value| each(*value)).sum::<f32>()
}

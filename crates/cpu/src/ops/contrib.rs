//! ONNX Runtime's own operators, domain `com.microsoft`.
//!
//! Optimised and quantised exports contain these operators. Semantics follow ONNX Runtime's CPU kernels.
//! Operators that are a composition run the operators of the default domain as parts, so that they share
//! their kernels.

use typeloom_contracts::datum::Datum;
use typeloom_types::any_tensor::AnyTensor;

use super::run_nested;
use crate::attributes::Attributes;
use crate::error::{KernelErrorKind, invalid};

pub(super) mod fused;

pub(super) mod gelu;

pub(super) mod normalize;

pub(super) mod rotary;

pub(super) mod quantized;

pub(super) mod integer;

pub(super) mod weights;

pub(super) mod attention;

pub(super) mod grouped;

pub(super) mod lstm;

pub(super) mod general;

mod heads;

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

/// Sum of a function of all elements, in several accumulators that vectorise.
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

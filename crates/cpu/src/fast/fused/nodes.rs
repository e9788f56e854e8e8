//! Recognition of the nodes and operands that fused kernels support.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;

use super::{Dequantised, Node, Operand};
use crate::attributes::{Attribute, Attributes};
use crate::call::Call;
use crate::fast::product::integer::Bytes;
use crate::ops::find;

/// The single element of an `f32` tensor.
pub(super) fn scalar(tensor: &AnyTensor) -> Option<f32> {
    match tensor.as_slice::<f32>() {
        Ok([value]) => Some(*value),
        Ok(_) | Err(_) => None,
    }
}

/// The value of an 8-bit scalar.
pub(super) fn byte(tensor: &AnyTensor) -> Option<i32> {
    let bytes = Bytes::of(tensor).ok()?;
    if let [byte] = bytes.data { Some(bytes.signs.value(*byte)) } else { None }
}

/// The bounds of `Relu` or `Clip` of this input, if they are constant.
pub(super) fn bounds(node: &Node<'_>, input: usize) -> Option<(f32, f32)> {
    let bound = |index: usize, name: &str, default: f32| match Operand::optional(node.inputs, index)? {
        Some(tensor) => scalar(tensor),
        None => Some(node.attributes.float(name).ok()?.unwrap_or(default)),
    };
    match node.operator.name() {
        "Relu" => Some((0.0, f32::INFINITY)),
        "Clip" if input == 0 => Some((bound(1, "min", f32::NEG_INFINITY)?, bound(2, "max", f32::INFINITY)?)),
        _ => None,
    }
}

/// Parameters of a quantisation to 8 bits with one scale.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quantisation {
    pub(super) scale: f32,
    pub(super) zero: f32,
    pub(super) dtype: Dtype,
}

/// The parameters of a `QuantizeLinear` node, if they are constant.
pub(super) fn quantisation(node: &Node<'_>) -> Option<Quantisation> {
    let scale = scalar(Operand::constant(node.inputs, 1)?)?;
    let (zero, dtype) = match Operand::optional(node.inputs, 2)? {
        Some(zero) => (byte(zero)?, zero.dtype()),
        None => (0, Dtype::U8),
    };
    let attribute = |name| Some(node.attributes.int(name).ok()?.unwrap_or(0));
    let of_output = i64::from(dtype.onnx_number());
    let is_plain = [0, of_output].contains(&attribute("output_dtype")?)
        && [0, i64::from(Dtype::F32.onnx_number())].contains(&attribute("precision")?);
    is_plain.then_some(Quantisation { scale, zero: zero as f32, dtype })
}

/// The floats of a constant operand.
pub(super) fn floats(operand: &Operand<'_>) -> Option<AnyTensor> {
    match operand {
        Operand::Constant(tensor) => Some((*tensor).clone()),
        Operand::Dequantised(Dequantised { x: Some(x), scale, zero, axis }) => {
            let attributes = Attributes::default().with("axis", Attribute::Int(*axis));
            let given = [Some(x), Some(scale), zero.as_ref()];
            let inputs = given.iter().map(|input| input.map(|tensor| tensor.clone().into())).collect();
            let call = Call { version: 19, attributes: &attributes, inputs, outputs: 1 };
            let results = find("", "DequantizeLinear")?.run(call).ok()?;
            match results.into_iter().next() {
                Some(Datum::Tensor(tensor)) => Some(tensor),
                _ => None,
            }
        }
        Operand::Absent | Operand::Unknown | Operand::Dequantised(_) | Operand::Result => None,
    }
}

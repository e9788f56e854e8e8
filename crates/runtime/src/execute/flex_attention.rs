//! `FlexAttention`: attention whose scores and probabilities nested graphs can modify.

use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;

use super::control_flow::invalid;
use super::{Frame, Inputs, Run, operand, operands};
use crate::error::NodeError;
use crate::operator::{self, cast};
use crate::plan::Plan;

/// Repeats each head of keys or values for the query heads that share it.
fn repeat_heads(value: Datum, heads: usize) -> Result<Datum, NodeError> {
    let shape = value.as_tensor().map(|tensor| tensor.shape().to_vec()).unwrap_or_default();
    let &[_, own, ..] = &shape[..] else { return Err(invalid("an input has no head axis")) };
    if own == heads {
        return Ok(value);
    }
    if own == 0 || !heads.is_multiple_of(own) {
        return Err(invalid(format!("{heads} query heads cannot share {own}")));
    }
    let indices: Vec<i64> = (0..heads).map(|head| (head / (heads / own)) as i64).collect();
    let attributes = Attributes::default().with("axis", Attribute::Int(1));
    operator::run("Gather", &attributes, vec![value, Datum::Tensor(AnyTensor::from(indices))])
}

pub(super) fn run(
    run: &Run<'_>,
    frame: &Frame<'_>,
    attributes: &Attributes,
    inputs: Inputs,
    [scores, probabilities]: [Option<&Plan>; 2],
) -> Result<Vec<Datum>, NodeError> {
    let inputs = operands(inputs)?;
    let [Some(q), Some(k), Some(v)] = &inputs[..] else {
        return Err(invalid("query, key and value are three inputs"));
    };
    let Some(query) = q.as_tensor().filter(|query| query.rank() == 4) else {
        return Err(invalid("the query is not of rank 4"));
    };
    let own = query.dtype();
    let precision = match attributes.get("softmax_precision") {
        Some(Attribute::Int(number)) => i32::try_from(*number).ok().and_then(Dtype::from_onnx_number),
        Some(_) | None => None,
    };
    let precision = precision.unwrap_or(if own == Dtype::F64 { Dtype::F64 } else { Dtype::F32 });
    let (heads, size) = (query.shape()[1], query.shape()[3]);
    let scale = match attributes.get("scale") {
        Some(Attribute::Float(scale)) => *scale,
        Some(_) | None => 1.0 / (size as f32).sqrt(),
    };
    let none = Attributes::default();
    let result = v.as_tensor().map_or(own, AnyTensor::dtype);
    let wide = |value: &Datum| cast(value.clone(), precision);
    let keys = repeat_heads(wide(k)?, heads)?;
    let values = repeat_heads(wide(v)?, heads)?;
    let perm = Attributes::default().with("perm", Attribute::Ints(vec![0, 1, 3, 2]));
    let keys = operator::run("Transpose", &perm, vec![keys])?;
    let scale = cast(Datum::Tensor(AnyTensor::from_scalar(scale)), precision)?;
    let products = operator::run("MatMul", &none, vec![wide(q)?, keys])?;
    let mut weights = operator::run("Mul", &none, vec![products, scale])?;
    let modified = |weights: Datum, body: Option<&Plan>| match body {
        None => Ok(weights),
        Some(body) => {
            let mut results = run.body(frame, body, vec![weights])?;
            operand(results.pop().ok_or_else(|| invalid("a modifier returns no value"))?, 0)
        }
    };
    weights = modified(weights, scores)?;
    weights =
        operator::run("Softmax", &Attributes::default().with("axis", Attribute::Int(-1)), vec![weights])?;
    weights = modified(weights, probabilities)?;
    Ok(vec![cast(operator::run("MatMul", &none, vec![weights, values])?, result)?])
}

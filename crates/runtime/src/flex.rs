//! `FlexAttention`: attention whose scores and probabilities graphs may change.

use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_cpu::value::Value;
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use crate::control::{bad, operator};
use crate::error::NodeFault;
use crate::execute::{Frame, Given, Run};
use crate::flow::Flow;
use crate::plan::Plan;

fn cast(value: Value, to: Dtype) -> Result<Value, NodeFault> {
    let attributes = Attributes::default().with("to", Attribute::Int(i64::from(to.onnx_number())));
    operator("Cast", &attributes, vec![value])
}

/// Each head of keys or values repeated for the query heads that share it.
fn repeated(value: Value, heads: usize) -> Result<Value, NodeFault> {
    let shape = value.as_tensor().map(|tensor| tensor.shape().to_vec()).unwrap_or_default();
    let &[_, own, ..] = &shape[..] else { return Err(bad("an input has no axis of heads")) };
    if own == heads {
        return Ok(value);
    }
    if own == 0 || !heads.is_multiple_of(own) {
        return Err(bad(format!("{heads} query heads cannot share {own}")));
    }
    let indices: Vec<i64> = (0..heads).map(|head| (head / (heads / own)) as i64).collect();
    let attributes = Attributes::default().with("axis", Attribute::Int(1));
    operator("Gather", &attributes, vec![value, Value::Tensor(AnyTensor::from(indices))])
}

pub(crate) fn attention<F: Flow>(
    run: &Run<'_, F>,
    frame: &Frame<'_, F>,
    attributes: &Attributes,
    inputs: Given<F>,
    [scores, probabilities]: [Option<&Plan<F>>; 2],
) -> Result<Vec<F::Value>, F::Fault> {
    let mut given = Vec::with_capacity(inputs.len());
    for (at, input) in inputs.into_iter().enumerate() {
        given.push(input.map(|input| F::into_value(input, at)).transpose()?);
    }
    let [Some(q), Some(k), Some(v)] = &given[..] else {
        return Err(bad("query, key and value are three inputs").into());
    };
    let Some(query) = q.as_tensor().filter(|query| query.rank() == 4) else {
        return Err(bad("the query is not of rank 4").into());
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
    let wide = |value: &Value| cast(value.clone(), precision);
    let keys = repeated(wide(k)?, heads)?;
    let values = repeated(wide(v)?, heads)?;
    let perm = Attributes::default().with("perm", Attribute::Ints(vec![0, 1, 3, 2]));
    let keys = operator("Transpose", &perm, vec![keys])?;
    let scale = cast(Value::Tensor(AnyTensor::from_scalar(scale)), precision)?;
    let products = operator("MatMul", &none, vec![wide(q)?, keys])?;
    let mut weights = operator("Mul", &none, vec![products, scale])?;
    let modified = |weights: Value, body: Option<&Plan<F>>| match body {
        None => Ok(weights),
        Some(body) => {
            let mut results = run.body(frame, body, vec![F::of(weights)])?;
            F::into_value(results.pop().ok_or_else(|| bad("a modifier gives nothing"))?, 0)
        }
    };
    weights = modified(weights, scores)?;
    weights = operator("Softmax", &Attributes::default().with("axis", Attribute::Int(-1)), vec![weights])?;
    weights = modified(weights, probabilities)?;
    Ok(vec![F::of(cast(operator("MatMul", &none, vec![weights, values])?, result)?)])
}

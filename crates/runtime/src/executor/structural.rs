//! Operators that move values and compute nothing: casts between leaves, bundles, lists of peers.

use std::collections::HashMap;

use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_cpu::call::Call;
use typeloom_cpu::value::Value;
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;
use typeloom_types::tree::TypeNode;

use super::declared::{Declared, value};
use super::error::StepFault;
use super::plan::PeerOp;
use crate::control::operator;
use crate::error::NodeFault;
use typeloom_wire::datum::Datum;
use typeloom_wire::stamp::Stamp;

/// The element type of a node of the type tree: that of a tensor, or of a scalar.
pub(crate) fn dtype_of(node: &TypeNode) -> Option<Dtype> {
    let name = node.id.strip_prefix("tensor.").or_else(|| node.id.strip_prefix("scalar."))?;
    Dtype::from_name(name)
}

fn odd(message: impl Into<String>) -> StepFault {
    StepFault::Structure(message.into())
}

/// A value as another leaf, element by element.
pub(crate) fn cast(datum: Datum, to: &'static TypeNode) -> Result<Datum, StepFault> {
    let dtype = dtype_of(to).ok_or_else(|| odd(format!("{} is no element type of tensors", to.id)))?;
    let attributes = Attributes::default().with("to", Attribute::Int(i64::from(dtype.onnx_number())));
    let cast = Datum::from(operator("Cast", &attributes, vec![value(datum, 0)?])?);
    Ok(Declared { node: Some(to), stamp: Stamp::Open }.settled(cast))
}

pub(crate) fn bundle(keys: &[String], inputs: Vec<Option<Datum>>) -> Result<Datum, StepFault> {
    if keys.len() != inputs.len() {
        return Err(odd(format!("{} names for {} children", keys.len(), inputs.len())));
    }
    let child = |(key, child): (&String, Option<Datum>)| {
        child.map(|child| (key.clone(), child)).ok_or_else(|| odd(format!("child `{key}` is missing")))
    };
    keys.iter().zip(inputs).map(child).collect::<Result<_, _>>().map(Datum::Composite)
}

pub(crate) fn unbundle(keys: &[String], inputs: Vec<Option<Datum>>) -> Result<Vec<Datum>, StepFault> {
    let children = match inputs.into_iter().next().flatten() {
        Some(Datum::Composite(children)) => children,
        Some(other) => return Err(odd(format!("{} is no bundle", other.describe()))),
        None => return Err(odd("the bundle is missing")),
    };
    let names: Vec<String> = children.iter().map(|(name, _)| name.clone()).collect();
    let mut children: HashMap<String, Datum> = children.into_iter().collect();
    let missing = |key: &String| odd(format!("the bundle has no child `{key}`; it has {}", names.join(", ")));
    keys.iter().map(|key| children.remove(key).ok_or_else(|| missing(key))).collect()
}

/// Lists of peers through an operator on tensors: it is computed on positions, which are then peers again.
pub(crate) fn peers(op: &PeerOp, version: i64, inputs: Vec<Option<Datum>>) -> Result<Datum, StepFault> {
    let mut all = Vec::new();
    let mut given: Vec<Option<Value>> = Vec::with_capacity(inputs.len());
    for (at, input) in inputs.into_iter().enumerate() {
        let Some(input) = input else {
            given.push(None);
            continue;
        };
        if at > 0 && !op.all {
            given.push(Some(value(input, at)?));
            continue;
        }
        let Some(list) = input.as_peers() else {
            return Err(odd(format!("input {at} is {}, not a list of peers", input.describe())));
        };
        let position = |at: usize| i64::try_from(at).unwrap_or(i64::MAX);
        let positions: Vec<i64> = (all.len()..all.len() + list.len()).map(position).collect();
        all.extend_from_slice(list);
        given.push(Some(Value::Tensor(AnyTensor::from(positions))));
    }
    let call = Call { version, attributes: &op.attributes, inputs: given, outputs: 1 };
    let results = op.kernel.run(call).map_err(NodeFault::from)?;
    let positions = results.first().and_then(Value::as_tensor).and_then(|it| it.as_slice::<i64>().ok());
    let chosen =
        positions.unwrap_or_default().iter().map(|at| usize::try_from(*at).ok().and_then(|at| all.get(at)));
    let chosen: Option<Vec<_>> = chosen.map(Option::<&_>::cloned).collect();
    chosen.map(Datum::Peers).ok_or_else(|| odd("a position is outside the list of peers"))
}

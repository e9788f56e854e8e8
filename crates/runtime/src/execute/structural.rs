//! Structural operators of modules: casts between leaves, bundles, and lists of peers.

use std::collections::HashMap;

use typeloom_cpu::call::Call;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::value_check::to_declared_form;
use typeloom_tensor::value_type::ValueType;
use typeloom_types::dtype::Dtype;
use typeloom_types::plural::counted;
use typeloom_types::tree::TypeNode;

use super::operand;
use crate::error::NodeError;
use crate::operator;
use crate::plan::PeerListOperator;

/// Version of the ONNX operators that are applied to lists of peers.
const VERSION: i64 = 18;

fn invalid(message: impl Into<String>) -> NodeError {
    NodeError::Structure(message.into())
}

/// Converts a value to another leaf, element by element.
pub(super) fn cast(value: Datum, to: &'static TypeNode) -> Result<Datum, NodeError> {
    let dtype = Dtype::from_node_id(to.id);
    let dtype = dtype.ok_or_else(|| invalid(format!("{} is not an element type of tensors", to.id)))?;
    let result = operator::cast(operand(value, 0)?, dtype)?;
    Ok(to_declared_form(result, &ValueType::of_node(to)))
}

pub(super) fn bundle(keys: &[String], inputs: Vec<Option<Datum>>) -> Result<Datum, NodeError> {
    if keys.len() != inputs.len() {
        return Err(invalid(format!(
            "{} for {}",
            counted(keys.len(), "name"),
            counted(inputs.len(), "child")
        )));
    }
    let child = |(key, child): (&String, Option<Datum>)| {
        child.map(|child| (key.clone(), child)).ok_or_else(|| invalid(format!("child `{key}` is missing")))
    };
    keys.iter().zip(inputs).map(child).collect::<Result<_, _>>().map(Datum::Composite)
}

pub(super) fn unbundle(keys: &[String], inputs: Vec<Option<Datum>>) -> Result<Vec<Datum>, NodeError> {
    let children = match inputs.into_iter().next().flatten() {
        Some(Datum::Composite(children)) => children,
        Some(other) => return Err(invalid(format!("{} is not a bundle", other.describe()))),
        None => return Err(invalid("the bundle is missing")),
    };
    let names: Vec<String> = children.iter().map(|(name, _)| name.clone()).collect();
    let mut children: HashMap<String, Datum> = children.into_iter().collect();
    let missing =
        |key: &String| invalid(format!("the bundle has no child `{key}`; it has {}", names.join(", ")));
    keys.iter().map(|key| children.remove(key).ok_or_else(|| missing(key))).collect()
}

/// Applies an ONNX operator to lists of peers: it is computed on positions, which are then replaced by the
/// peers.
pub(super) fn peer_list(op: &PeerListOperator, inputs: Vec<Option<Datum>>) -> Result<Datum, NodeError> {
    let mut all = Vec::new();
    let mut operands: Vec<Option<Datum>> = Vec::with_capacity(inputs.len());
    for (at, input) in inputs.into_iter().enumerate() {
        let Some(input) = input else {
            operands.push(None);
            continue;
        };
        if at > 0 && !op.all_inputs_are_lists {
            operands.push(Some(operand(input, at)?));
            continue;
        }
        let Some(list) = input.as_peers() else {
            return Err(invalid(format!("input {at} is {}, not a list of peers", input.describe())));
        };
        let position = |at: usize| i64::try_from(at).unwrap_or(i64::MAX);
        let positions: Vec<i64> = (all.len()..all.len() + list.len()).map(position).collect();
        all.extend_from_slice(list);
        operands.push(Some(Datum::Tensor(AnyTensor::from(positions))));
    }
    let call = Call { version: VERSION, attributes: &op.attributes, inputs: operands, outputs: 1 };
    let results = op.operator.run(call)?;
    let positions = results.first().and_then(Datum::as_tensor).and_then(|it| it.as_slice::<i64>().ok());
    let chosen =
        positions.unwrap_or_default().iter().map(|at| usize::try_from(*at).ok().and_then(|at| all.get(at)));
    let chosen: Option<Vec<_>> = chosen.map(Option::<&_>::cloned).collect();
    chosen.map(Datum::Peers).ok_or_else(|| invalid("a position is outside the list of peers"))
}

//! Substitution of numbers for the symbols of a model's types.

use typeloom_onnx::messages::tensor_shape_proto::dimension;
use typeloom_onnx::messages::{GraphProto, TypeProto, ValueInfoProto, type_proto};
use typeloom_tensor::any_tensor::AnyTensor;

use super::error::EngineError;
use super::offer::MAX_DEPTH;
use typeloom_tensor::value_check::SymbolBindings;
use typeloom_tensor::value_type::{Dim, ValueType};

/// Whether all dims of a tensor type are numbers.
pub(super) fn is_fixed(ty: &ValueType) -> bool {
    ty.is_tensor() && ty.shape.as_deref().is_some_and(|shape| shape.iter().all(|dim| dim.fixed().is_some()))
}

/// Replaces the symbols in all types of a graph and of its nested graphs. A dim without a value becomes
/// unknown: an engine that loads for fixed extents would treat its symbol as free.
pub(super) fn fix(graph: &mut GraphProto, symbols: &SymbolBindings, depth: usize) -> Result<(), EngineError> {
    if depth > MAX_DEPTH {
        return Err(EngineError::TooDeep { limit: MAX_DEPTH });
    }
    let infos = graph.input.iter_mut().chain(&mut graph.output).chain(&mut graph.value_info);
    for ty in infos.filter_map(|info: &mut ValueInfoProto| info.r#type.as_mut()) {
        fix_type(ty, symbols);
    }
    for attribute in graph.node.iter_mut().flat_map(|node| &mut node.attribute) {
        for inner in attribute.g.as_deref_mut().into_iter().chain(&mut attribute.graphs) {
            fix(inner, symbols, depth + 1)?;
        }
    }
    Ok(())
}

fn fix_type(ty: &mut TypeProto, symbols: &SymbolBindings) {
    let Some(type_proto::Value::TensorType(tensor)) = &mut ty.value else { return };
    for dim in tensor.shape.iter_mut().flat_map(|shape| &mut shape.dim) {
        if let Some(dimension::Value::DimParam(text)) = &dim.value {
            let number = symbols.evaluate(&Dim::parse(text)).and_then(|number| i64::try_from(number).ok());
            dim.value = number.map(dimension::Value::DimValue);
        }
    }
}

/// The type of a tensor.
pub(super) fn of_tensor(tensor: &AnyTensor) -> TypeProto {
    ValueType::tensor(tensor.dtype(), tensor.shape().iter().copied().map(Dim::Fixed)).to_message()
}

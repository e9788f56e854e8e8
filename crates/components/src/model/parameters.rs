//! Parameters: initializers as inputs of the graph and as one flat tensor.

use typeloom_onnx::messages::{GraphProto, TensorProto, ValueInfoProto};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::value_type::{Dim, ValueType};
use typeloom_types::dtype::Dtype;

use super::{ModelError, decoded};
use crate::dense::Floats;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Name of the initializer.
    pub name: String,
    pub shape: Vec<usize>,
    pub dtype: Dtype,
}

impl Parameter {
    /// Number of elements in the flat tensor.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether the parameter has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Replaces the parameter initializers of a graph by inputs of exactly their types.
pub(super) fn promote(
    graph: &mut GraphProto,
    frozen: &[String],
) -> Result<(Vec<Parameter>, Vec<AnyTensor>), ModelError> {
    let (mut parameters, mut tensors) = (Vec::<Parameter>::new(), Vec::new());
    let (mut kept, mut names): (Vec<TensorProto>, Vec<String>) = (Vec::new(), frozen.to_vec());
    for stored in std::mem::take(&mut graph.initializer) {
        let tensor = decoded(&stored)?;
        if frozen.iter().any(|name| name == stored.name()) || Floats::of(&tensor).is_err() {
            names.retain(|name| name != stored.name());
            kept.push(stored);
            continue;
        }
        let name = stored.name().to_owned();
        if let Some(first) = parameters.first()
            && first.dtype != tensor.dtype()
        {
            return Err(ModelError::MixedParameters { name, expected: first.dtype, found: tensor.dtype() });
        }
        graph.input.retain(|input| input.name() != name);
        graph.input.push(declared(&name, &tensor));
        parameters.push(Parameter { name, shape: tensor.shape().to_vec(), dtype: tensor.dtype() });
        tensors.push(tensor);
    }
    graph.initializer = kept;
    match names.into_iter().next() {
        Some(name) => Err(ModelError::NoParameter { name }),
        None => Ok((parameters, tensors)),
    }
}

/// Declares a value with the exact type of a tensor.
fn declared(name: &str, tensor: &AnyTensor) -> ValueInfoProto {
    let ty = ValueType::tensor(tensor.dtype(), tensor.shape().iter().copied().map(Dim::Fixed)).to_message();
    ValueInfoProto { name: name.into(), r#type: Some(ty), ..ValueInfoProto::default() }
}

/// Concatenates tensors into one flat tensor.
pub(super) fn flat(dtype: Dtype, tensors: &[AnyTensor]) -> Result<AnyTensor, ModelError> {
    let count = tensors.iter().map(AnyTensor::len).sum();
    let bytes: Vec<u8> = tensors.iter().flat_map(AnyTensor::bytes).copied().collect();
    Ok(AnyTensor::from_le_bytes(dtype, &[count], &bytes)?)
}

/// Splits a flat tensor into the tensors of the parameters.
pub(super) fn each(parameters: &[Parameter], flat: &AnyTensor) -> Result<Vec<AnyTensor>, ModelError> {
    let (mut rest, mut tensors) = (flat.bytes(), Vec::with_capacity(parameters.len()));
    for parameter in parameters {
        let width = parameter.dtype.packed_len(parameter.len()).unwrap_or(0);
        let (own, others) = rest.split_at_checked(width).unwrap_or((rest, &[]));
        tensors.push(AnyTensor::from_le_bytes(parameter.dtype, &parameter.shape, own)?);
        rest = others;
    }
    Ok(tensors)
}

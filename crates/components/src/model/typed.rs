//! Type-checked models, with the solved type of every value.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use prost::Message as _;
use typeloom_onnx::messages::tensor_shape_proto::dimension;
use typeloom_onnx::messages::{GraphProto, ModelProto, TypeProto, ValueInfoProto, read, type_proto};
use typeloom_ops::catalogue::Standard;
use typeloom_rewrite::annotate::{AnnotationForm, annotate};
use typeloom_runtime::session::Session;
use typeloom_solver::diagnostic::{Diagnostic, diagnose};
use typeloom_solver::model::{Options, check};
use typeloom_solver::universe::Universe;
use typeloom_types::dtype::Dtype;

use super::ModelError;

/// Extent of one axis in a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Dim {
    Known(i64),
    /// A symbol or an expression; equal text means an equal extent.
    Named(String),
    Open,
}

/// Type of a tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Typed {
    pub(super) dtype: Dtype,
    /// `None` if the rank is unknown.
    pub(super) shape: Option<Vec<Dim>>,
}

/// A model with a type for every value, prepared for execution.
pub(super) struct Solved {
    /// The model annotated with the solved types.
    pub(super) model: ModelProto,
    pub(super) types: HashMap<String, Typed>,
    pub(super) session: Session,
}

fn universe() -> Result<&'static Arc<Universe>, ModelError> {
    static UNIVERSE: OnceLock<Option<Arc<Universe>>> = OnceLock::new();
    let made = UNIVERSE.get_or_init(|| Universe::of_default_lattice().ok());
    made.as_ref().ok_or_else(|| ModelError::IllTyped { message: "the tree of types is too large".to_owned() })
}

/// Type-checks a model and returns the first error, if any.
pub(super) fn solve(model: &ModelProto) -> Result<Solved, ModelError> {
    let bytes = model.encode_to_vec();
    let mut checked = check(&bytes, &Standard, universe()?, &Options::default())
        .map_err(|error| ModelError::IllTyped { message: error.to_string() })?;
    if !checked.is_ok() {
        let first = diagnose(&mut checked).into_iter().find(Diagnostic::is_error);
        let message = first.map_or_else(String::new, |diagnostic| diagnostic.message);
        return Err(ModelError::IllTyped { message });
    }
    let annotated = annotate(&mut checked, AnnotationForm::Untagged)
        .map_err(|error| ModelError::IllTyped { message: error.to_string() })?;
    let bytes = Bytes::from(annotated.file.pieces().concat());
    let model: ModelProto = read(bytes).map_err(typeloom_runtime::error::PrepareError::from)?;
    let session = Session::new(&model, &|_| Err("a model by itself has no other files".to_owned()))?;
    let types = model.graph.as_ref().map(types_of).unwrap_or_default();
    Ok(Solved { model, types, session })
}

fn types_of(graph: &GraphProto) -> HashMap<String, Typed> {
    let mut types = HashMap::new();
    for tensor in &graph.initializer {
        if let Some(dtype) = Dtype::from_onnx_number(tensor.data_type()) {
            let shape = Some(tensor.dims.iter().copied().map(Dim::Known).collect());
            types.insert(tensor.name().to_owned(), Typed { dtype, shape });
        }
    }
    for info in graph.input.iter().chain(&graph.value_info).chain(&graph.output) {
        if let Some(typed) = type_of(info) {
            types.insert(info.name().to_owned(), typed);
        }
    }
    types
}

/// Type of a value; `None` if the value is not a tensor.
pub(super) fn type_of(info: &ValueInfoProto) -> Option<Typed> {
    let Some(TypeProto { value: Some(type_proto::Value::TensorType(tensor)), .. }) = &info.r#type else {
        return None;
    };
    let dtype = tensor.elem_type.and_then(Dtype::from_onnx_number)?;
    let shape = tensor.shape.as_ref().map(|shape| {
        let dim = |dim: &typeloom_onnx::messages::tensor_shape_proto::Dimension| match &dim.value {
            Some(dimension::Value::DimValue(value)) => Dim::Known(*value),
            Some(dimension::Value::DimParam(text)) if !text.trim().is_empty() => Dim::Named(text.clone()),
            Some(dimension::Value::DimParam(_)) | None => Dim::Open,
        };
        shape.dim.iter().map(dim).collect()
    });
    Some(Typed { dtype, shape })
}

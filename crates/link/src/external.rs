//! The files with tensors of a model.

use std::collections::BTreeSet;

use bytes::Bytes;
use typeloom_onnx::DecodeError;
use typeloom_onnx::external::locations;
use typeloom_onnx::view::ModelView;

/// The locations of external data in a model, as they are written in it: relative to the folder of the model.
///
/// # Errors
/// The bytes are no model.
pub fn external_locations(model: &Bytes) -> Result<BTreeSet<String>, DecodeError> {
    let model = ModelView::new(model)?;
    Ok(locations(&model).into_iter().map(str::to_owned).collect())
}

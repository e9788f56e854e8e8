//! Functions behind `typeloom.onnx`: the reference's inference and checks.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use typeloom::check::{Checked, check_with};
use typeloom_report as report;
use typeloom_rewrite::reference;

use crate::error::core_error;
use crate::interrupt::interruptible;
use crate::model::Model;
use crate::report::problem;
use crate::settings::Settings;

/// Infers the types of a model as the reference does.
///
/// Returns the new bytes, and the texts of errors.
#[pyfunction]
pub(crate) fn infer_shapes<'py>(
    py: Python<'py>,
    model: Model,
    settings: &Settings,
) -> PyResult<(Bound<'py, PyBytes>, Vec<String>)> {
    let bytes = model.open()?;
    let (options, operators) = (settings.options.clone(), settings.operators.clone());
    let (file, errors) = interruptible(py, bytes.len(), move || -> PyResult<_> {
        let mut checked: Checked<'_> = match check_with(&bytes, &options, &operators) {
            Ok(checked) => checked,
            Err(error) => return Err(core_error(problem(&error)?)),
        };
        let errors: Vec<String> = checked
            .diagnostics()
            .iter()
            .filter(|diagnostic| diagnostic.is_error())
            .map(|diagnostic| report::human::diagnostic("model", diagnostic, report::human::Color::Never))
            .collect();
        let file = reference::infer(checked.solved()).map_err(core_error)?;
        Ok((file.to_vec(), errors))
    })??;
    Ok((PyBytes::new(py, &file), errors))
}

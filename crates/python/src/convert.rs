//! Conversions that several modules need.

use pyo3::prelude::*;
use pythonize::pythonize;
use serde_json::Value;
use typeloom::check::Diagnostic;
use typeloom_report as report;

/// A JSON value as Python objects.
pub(crate) fn json<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(pythonize(py, value)?)
}

/// A diagnostic as a dictionary in the format of `typeloom check --format json`, with the name of its value and the text
/// that the command prints.
pub(crate) fn diagnostic<'py>(
    py: Python<'py>,
    file: &str,
    diagnostic: &Diagnostic,
) -> PyResult<Bound<'py, PyAny>> {
    let mut value = report::json::value(file, diagnostic);
    value["value"] = Value::from(diagnostic.value.clone());
    value["text"] = Value::from(report::human::diagnostic(file, diagnostic, report::human::Color::Never));
    json(py, &value)
}

/// Diagnostics as a list of dictionaries.
pub(crate) fn diagnostics<'py>(
    py: Python<'py>,
    file: &str,
    list: &[Diagnostic],
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    list.iter().map(|one| diagnostic(py, file, one)).collect()
}

//! Conversions that several modules need.

use pyo3::prelude::*;
use pythonize::pythonize;
use serde_json::Value;
use typeloom::check::Diagnostic;
use typeloom::interface::Direction;
use typeloom_project::parts::report;
use typeloom_project::parts::solver::diagnostic::text;
use typeloom_project::parts::types::suggest::nearest;

use crate::error::core_error;

/// A JSON value as Python objects.
pub(crate) fn json<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(pythonize(py, value)?)
}

/// A diagnostic as a dictionary in the format of `typeloom check --format json`, with the name of its value
/// and the text that the command prints.
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

/// The direction with a name.
pub(crate) fn parse_direction(name: &str) -> PyResult<Direction> {
    let directions = [Direction::Backward, Direction::Forward, Direction::Full];
    let found = directions.into_iter().find(|direction| direction.name() == name);
    found.ok_or_else(|| {
        core_error(format!("there is no direction `{name}`; there are backward, forward and full"))
    })
}

/// The names that are similar to a wrong one, as the end of a message: `; did you mean a?`, or nothing.
#[pyfunction]
pub(crate) fn suggestion(name: &str, names: Vec<String>) -> String {
    text::suggestion(&nearest(name, names.iter().map(String::as_str)))
}

//! `describe` and `diff`: interfaces of models.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use typeloom::check::{Diagnostic, check_with};
use typeloom::interface::{Parameter, PortIdentity, compare};
use typeloom_interface::MAIN;
use typeloom_interface::bundle::{Exported, export_interfaces};
use typeloom_report as report;

use crate::convert::{self, parse_direction};
use crate::error::core_error;
use crate::interrupt::interruptible;
use crate::model::Model;
use crate::report::problem;
use crate::settings::Settings;
use crate::types::type_tuple;

/// Inputs, outputs and conditions of a model, with the digest of its type.
#[pyclass(frozen, module = "typeloom._core")]
pub(crate) struct Interface(Exported);

/// The interface of a model, or the diagnostics of a model with errors.
#[pyfunction]
pub(crate) fn describe<'py>(
    py: Python<'py>,
    model: Model,
    settings: &Settings,
    name: &str,
) -> PyResult<(Option<Interface>, Vec<Bound<'py, PyAny>>)> {
    let bytes = model.open()?;
    let (options, operators) = (settings.options.clone(), settings.operators.clone());
    let described =
        interruptible(py, bytes.len(), move || -> PyResult<Result<Exported, Vec<Diagnostic>>> {
            let mut checked = match check_with(&bytes, &options, &operators) {
                Ok(checked) => checked,
                Err(error) => return Ok(Err(vec![problem(&error)?])),
            };
            if !checked.is_ok() {
                return Ok(Err(checked.diagnostics()));
            }
            Exported::new(MAIN, checked.interface()).map(Ok).map_err(core_error)
        })??;
    Ok(match described {
        Ok(exported) => (Some(Interface(exported)), Vec::new()),
        Err(diagnostics) => (None, convert::diagnostics(py, name, &diagnostics)?),
    })
}

/// The interfaces in a bundle with their labels.
#[pyfunction]
pub(crate) fn import_interfaces(bundle: &[u8]) -> PyResult<Vec<(String, Interface)>> {
    let interfaces = typeloom::interface::import(bundle).map_err(core_error)?;
    Ok(interfaces.into_iter().map(|exported| (exported.label.clone(), Interface(exported))).collect())
}

impl Interface {
    /// `(name, type, is optional, is assumed)` for each parameter.
    fn list<'py>(&self, py: Python<'py>, parameters: &[Parameter]) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let one = |it: &Parameter| {
            let ty = type_tuple(py, &self.0.interface.value_type(&it.ty))?;
            (it.name.as_str(), ty, it.optional, it.assumed).into_pyobject(py)
        };
        parameters.iter().map(one).collect()
    }
}

#[pymethods]
impl Interface {
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        self.list(py, &self.0.interface.inputs)
    }

    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        self.list(py, &self.0.interface.outputs)
    }

    #[getter]
    fn symbols(&self) -> Vec<String> {
        self.0.interface.symbols()
    }

    #[getter]
    fn conditions(&self) -> Vec<String> {
        self.0.interface.shown_conditions()
    }

    #[getter]
    fn digest(&self) -> String {
        self.0.digest.to_string()
    }

    #[getter]
    fn signature(&self) -> &str {
        &self.0.signature
    }

    fn __str__(&self) -> String {
        self.0.interface.to_string()
    }

    /// The text of `typeloom describe`.
    fn text(&self, name: &str) -> String {
        report::interface::human(name, &self.0.interface, &self.digest())
    }

    /// The object of `typeloom describe --format json`.
    fn json<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let value = report::interface::value(name, &self.0.interface, &self.digest(), &self.0.signature);
        convert::json(py, &value.into())
    }

    fn to_bundle<'py>(&self, py: Python<'py>, label: &str) -> PyResult<Bound<'py, PyBytes>> {
        let exported = Exported { label: label.to_owned(), ..self.0.clone() };
        let bundle = export_interfaces(&[exported]).map_err(core_error)?;
        Ok(PyBytes::new(py, bundle.as_bytes()))
    }

    /// The differences from this interface to another: whether the direction is kept, and an object and a line of text for
    /// each difference.
    fn compare<'py>(
        &self,
        py: Python<'py>,
        new: &Self,
        direction: &str,
        by_name: bool,
    ) -> PyResult<(bool, Bound<'py, PyAny>)> {
        let direction = parse_direction(direction)?;
        let identity = if by_name { PortIdentity::Name } else { PortIdentity::NameAndPosition };
        let comparison = compare(&self.0.interface, &new.0.interface, direction, identity);
        let differences = report::interface::comparison(MAIN, &comparison);
        Ok((comparison.is_compatible(), convert::json(py, &differences.into())?))
    }
}

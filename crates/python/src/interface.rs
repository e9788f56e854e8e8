//! `describe` and `diff`: interfaces of models, and contracts for serving.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use typeloom::interface::{Parameter, PortIdentity, compare};
use typeloom_project::interfaces;
use typeloom_project::parts::interface::MAIN;
use typeloom_project::parts::interface::bundle::{Exported, export_interfaces};
use typeloom_project::parts::report;
use typeloom_project::parts::serving::{Contract, Format, Options};

use crate::convert::{self, parse_direction};
use crate::error::{core_error, project_error};
use crate::interrupt::interruptible;
use crate::model::Model;
use crate::settings::Settings;
use crate::types::type_tuple;

/// Inputs, outputs and conditions of a model, with the digest of its type.
#[pyclass(frozen, module = "typeloom._core")]
pub(crate) struct Interface {
    exported: Exported,
    /// The contract that states the interface.
    contract: Option<Contract>,
}

impl From<Exported> for Interface {
    fn from(exported: Exported) -> Self {
        Self { exported, contract: None }
    }
}

/// The interface of a model, or the diagnostics of a model with errors.
#[pyfunction]
pub(crate) fn describe<'py>(
    py: Python<'py>,
    model: Model,
    settings: &Settings,
    name: &str,
) -> PyResult<(Option<Interface>, Vec<Bound<'py, PyAny>>)> {
    let bytes = model.open()?;
    let (file, plan) = (settings.file(&bytes, name), Arc::clone(&settings.plan));
    let described = interruptible(py, bytes.len(), move || interfaces::of_model(&file, &plan))?;
    Ok(match described.map_err(project_error)? {
        // The main function is the first one.
        Ok(interfaces) => (interfaces.functions.into_iter().next().map(Interface::from), Vec::new()),
        Err(diagnostics) => (None, convert::diagnostics(py, name, &diagnostics)?),
    })
}

/// The interfaces in a bundle with their labels.
#[pyfunction]
pub(crate) fn import_interfaces(bundle: &[u8]) -> PyResult<Vec<(String, Interface)>> {
    let interfaces = typeloom::interface::import(bundle).map_err(core_error)?;
    Ok(interfaces.into_iter().map(|exported| (exported.label.clone(), exported.into())).collect())
}

/// The interface that a contract states, and the name of the model in it. `file` is the name of the file.
#[pyfunction]
#[pyo3(signature = (contract, file = None))]
pub(crate) fn read_contract(contract: &[u8], file: Option<&str>) -> PyResult<(Interface, Option<String>)> {
    let contract = Contract::read(contract, file).map_err(core_error)?;
    let exported = Exported::new(MAIN, contract.interface()).map_err(core_error)?;
    let name = contract.name().map(str::to_owned);
    Ok((Interface { exported, contract: Some(contract) }, name))
}

impl Interface {
    /// `(name, type, is optional, is assumed)` for each parameter.
    fn list<'py>(&self, py: Python<'py>, parameters: &[Parameter]) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let one = |it: &Parameter| {
            let ty = type_tuple(py, &self.exported.interface.value_type(&it.ty))?;
            (it.name.as_str(), ty, it.optional, it.assumed).into_pyobject(py)
        };
        parameters.iter().map(one).collect()
    }
}

#[pymethods]
impl Interface {
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        self.list(py, &self.exported.interface.inputs)
    }

    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        self.list(py, &self.exported.interface.outputs)
    }

    #[getter]
    fn symbols(&self) -> Vec<String> {
        self.exported.interface.symbols()
    }

    #[getter]
    fn conditions(&self) -> Vec<String> {
        self.exported.interface.shown_conditions()
    }

    #[getter]
    fn digest(&self) -> String {
        self.exported.digest.to_string()
    }

    #[getter]
    fn signature(&self) -> &str {
        &self.exported.signature
    }

    fn __str__(&self) -> String {
        self.exported.interface.to_string()
    }

    /// The text of `typeloom describe`.
    fn text(&self, name: &str) -> String {
        report::interface::human(name, &self.exported.interface, &self.digest())
    }

    /// The object of `typeloom describe --format json`.
    fn json<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let value = report::interface::value(
            name,
            &self.exported.interface,
            &self.digest(),
            &self.exported.signature,
        );
        convert::json(py, &value.into())
    }

    fn to_bundle<'py>(&self, py: Python<'py>, label: &str) -> PyResult<Bound<'py, PyBytes>> {
        let exported = Exported { label: label.to_owned(), ..self.exported.clone() };
        let bundle = export_interfaces(&[exported]).map_err(core_error)?;
        Ok(PyBytes::new(py, bundle.as_bytes()))
    }

    /// A contract for serving as text.
    #[pyo3(signature = (format, name = None, max_batch = None))]
    fn contract(&self, format: &str, name: Option<String>, max_batch: Option<u32>) -> PyResult<String> {
        let Some(format) = Format::named(format) else {
            let names: Vec<&str> = Format::ALL.into_iter().map(Format::name).collect();
            return Err(PyValueError::new_err(format!(
                "no format `{format}`; there are {}",
                names.join(", ")
            )));
        };
        let options = Options { name, max_batch };
        typeloom_project::parts::serving::write(format, &self.exported.interface, &options)
            .map_err(core_error)
    }

    /// The differences from this interface to another: whether the direction is kept, an object for each
    /// difference, and the facts that a contract cannot express.
    fn compare<'py>(
        &self,
        py: Python<'py>,
        new: &Self,
        direction: &str,
        by_name: bool,
    ) -> PyResult<(bool, Bound<'py, PyAny>, Vec<String>)> {
        let direction = parse_direction(direction)?;
        let has_contract = self.contract.is_some() || new.contract.is_some();
        let identity =
            if by_name || has_contract { PortIdentity::Name } else { PortIdentity::NameAndPosition };
        let mut notes = Vec::new();
        let mut part = |of: &Self, other: &Self| match &other.contract {
            Some(contract) => {
                let projection = contract.project(&of.exported.interface);
                notes.extend(projection.notes);
                projection.interface
            }
            None => of.exported.interface.clone(),
        };
        // The notes about the new interface are the first ones, as of the command.
        let (after, before) = (part(new, self), part(self, new));
        let comparison = compare(&before, &after, direction, identity);
        let differences = report::interface::comparison(MAIN, &comparison);
        Ok((comparison.is_compatible(), convert::json(py, &differences.into())?, notes))
    }
}

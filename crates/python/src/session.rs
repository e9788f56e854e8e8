//! `Session`: runs checked models.

use std::collections::HashMap;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use typeloom::check::Diagnostic;
use typeloom::run::host::Interrupt;
use typeloom::run::{Datum, Port, Verify};
use typeloom_project::budget::{Budget, Size};
use typeloom_project::check;
use typeloom_project::parts::io::files::SideFiles;

use crate::array::{datum, object};
use crate::convert;
use crate::error::{core_error, project_error};
use crate::interrupt::{interruptible, interruptible_by};
use crate::model::Model;
use crate::settings::Settings;
use crate::types::type_tuple;

/// The outputs in order, and the values of symbols.
type Outcome<'py> = (Vec<Bound<'py, PyAny>>, HashMap<String, usize>);

/// A prepared model on the embedded backend.
#[pyclass(frozen, module = "typeloom._core")]
pub(crate) struct Session {
    session: typeloom::run::Session,
    verify: Verify,
    budget: Budget,
    /// The size of the model; a run adds its inputs.
    size: Size,
}

#[pymethods]
impl Session {
    /// Checks and prepares a model; the diagnostics of a model with errors are the second result.
    #[staticmethod]
    #[pyo3(signature = (model, settings, name, verify, max_steps, max_memory, max_work))]
    #[expect(
        clippy::too_many_arguments,
        reason = "the caller is one Python constructor with keyword arguments"
    )]
    fn open<'py>(
        py: Python<'py>,
        model: Model,
        settings: &Settings,
        name: &str,
        verify: bool,
        max_steps: Option<u64>,
        max_memory: Option<u64>,
        max_work: Option<u64>,
    ) -> PyResult<(Option<Self>, Vec<Bound<'py, PyAny>>)> {
        let bytes = model.open()?;
        let size = bytes.len();
        let plan = Arc::clone(&settings.plan);
        // Weights are used where they are: a session keeps the bytes, so those of a mapped file are copied.
        let file = settings.file(&bytes, name);
        let file = if bytes.is_mapped() { file.with_model(bytes.to_vec()) } else { file };
        let budget = Budget { iterations: None, steps: max_steps, memory: max_memory, work: max_work };
        let prepare = move || -> PyResult<Result<(typeloom::run::Session, Size), Vec<Diagnostic>>> {
            let file = plan.file_to_run(&file).unwrap_or(file);
            let mut checked =
                match plan.well_typed(&file, check::SideFiles::InFolder).map_err(project_error)? {
                    Ok(checked) => checked,
                    Err(diagnostics) => return Ok(Err(diagnostics)),
                };
            let side_files = SideFiles::new(file.folder());
            let read = |tensor: &_| side_files.read(tensor).map(|bytes| bytes.to_vec().into());
            let external = typeloom_project::parts::io::files::used(checked.solved(), file.folder());
            let size = Size { model: file.model().len() as u64, external, inputs: 0 };
            let session = typeloom::run::Session::of_checked_file(
                checked.solved(),
                file.model().shared(),
                &read,
                budget.limits(size),
            );
            Ok(Ok((session.map_err(core_error)?, size)))
        };
        Ok(match interruptible(py, size, prepare)?? {
            Ok((session, size)) => {
                let verify = if verify { Verify::EveryValue } else { Verify::Inputs };
                (Some(Self { session, verify, budget, size }), Vec::new())
            }
            Err(diagnostics) => (None, convert::diagnostics(py, name, &diagnostics)?),
        })
    }

    /// `(name, type, has default)` for each input.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        ports(py, self.session.inputs())
    }

    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        ports(py, self.session.outputs())
    }

    /// Runs the model.
    fn run<'py>(&self, py: Python<'py>, inputs: &Bound<'py, PyDict>) -> PyResult<Outcome<'py>> {
        let mut values = HashMap::with_capacity(inputs.len());
        for (name, value) in inputs {
            values.insert(name.extract::<String>()?, datum(&value)?);
        }
        let interrupt = Interrupt::default();
        let inputs = values.values().filter_map(Datum::as_tensor).map(|tensor| tensor.bytes().len() as u64);
        let limits = self.budget.limits(Size { inputs: inputs.sum(), ..self.size });
        let session = self.session.clone().with_limits(limits).with_interrupt(interrupt.clone());
        let verify = self.verify;
        let run = move || session.run(values, verify);
        let outcome = interruptible_by(py, || interrupt.trigger(), run)?.map_err(core_error)?;
        let symbols = outcome.symbols.iter().map(|(name, size)| (name.to_owned(), size)).collect();
        let outputs = outcome.outputs.into_iter().map(|(_, value)| object(py, value));
        Ok((outputs.collect::<PyResult<_>>()?, symbols))
    }
}

fn ports<'py>(py: Python<'py>, ports: &[Port]) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    let one =
        |port: &Port| (port.name.as_str(), type_tuple(py, &port.ty)?, port.has_default).into_pyobject(py);
    ports.iter().map(one).collect()
}

//! `cost`: memory and arithmetic of a model.

use pyo3::prelude::*;
use serde_json::Value;
use typeloom::check::Diagnostic;
use typeloom_project::parts::report::cost::{CostOptions, human, object};
use typeloom_project::plan::Plan;

use crate::convert;
use crate::error::{core_error, project_error};
use crate::interrupt::interruptible;
use crate::model::Model;
use crate::settings::Settings;

/// The cost as an object and as text (`None` for a model with errors), and the diagnostics of such a model.
type Costs<'py> = (Option<(Bound<'py, PyAny>, String)>, Vec<Bound<'py, PyAny>>);

/// The cost of a model. `solve` is a symbol and a number of bytes.
#[pyfunction]
pub(crate) fn cost<'py>(
    py: Python<'py>,
    model: Model,
    settings: &Settings,
    name: &str,
    solve: Option<(String, u64)>,
    nodes: usize,
) -> PyResult<Costs<'py>> {
    let bytes = model.open()?;
    let (file, plan) = (settings.file(&bytes, name), Plan::for_costs(&settings.plan));
    let options = CostOptions { nodes };
    let result =
        interruptible(py, bytes.len(), move || -> PyResult<Result<(Value, String), Vec<Diagnostic>>> {
            let mut costed = match plan.cost(&file).map_err(project_error)? {
                Ok(costed) => costed,
                Err(diagnostics) => return Ok(Err(diagnostics)),
            };
            let solved = solve.map(|(symbol, memory)| costed.solve(&symbol, memory)).transpose();
            let solved = solved.map_err(core_error)?;
            let checked = costed.checked.solved();
            let raw = Value::Object(object(checked, &costed.cost, solved.as_ref(), options));
            Ok(Ok((raw, human(checked, &costed.cost, solved.as_ref(), options))))
        })??;
    Ok(match result {
        Ok((raw, text)) => (Some((convert::json(py, &raw)?, text)), Vec::new()),
        Err(diagnostics) => (None, convert::diagnostics(py, name, &diagnostics)?),
    })
}

//! `annotate`, `strip`, `specialize`, `fix`, `convert` and `compile`: new models from old ones.
//!
//! A function returns the new bytes, `None` if they equal the old ones, or the diagnostics of a model with
//! errors.

use std::borrow::Cow;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;
use typeloom::check::{Diagnostic, Policy};
use typeloom::module::{Coercion, Compiler};
use typeloom_project::check::SideFiles;
use typeloom_project::convert::Conversion;
use typeloom_project::parts::report;
use typeloom_project::parts::rewrite::annotate::AnnotationForm;
use typeloom_project::parts::rewrite::coerce::Preferences;
use typeloom_project::parts::rewrite::convert::ConvertError;
use typeloom_project::parts::solver::diagnostic::Safety;
use typeloom_project::plan::Plan;

use crate::error::{core_error, project_error};
use crate::interrupt::interruptible;
use crate::model::Model;
use crate::settings::Settings;

/// New bytes or `None`, and diagnostics as dictionaries.
type Rewritten<'py> = (Option<Bound<'py, PyBytes>>, Vec<Bound<'py, PyAny>>);

/// Joins the pieces of a file; `None` if they are the old bytes.
fn changed(old: &[u8], pieces: &[Cow<'_, [u8]>]) -> Option<Vec<u8>> {
    match pieces {
        [Cow::Borrowed(only)] if only.len() == old.len() => None,
        _ => Some(pieces.concat()),
    }
}

fn rewritten<'py>(
    py: Python<'py>,
    name: &str,
    result: Result<Option<Vec<u8>>, Vec<Diagnostic>>,
) -> PyResult<Rewritten<'py>> {
    match result {
        Ok(file) => Ok((file.map(|file| PyBytes::new(py, &file)), Vec::new())),
        Err(diagnostics) => Ok((None, crate::convert::diagnostics(py, name, &diagnostics)?)),
    }
}

/// The result of [`annotate`]: new bytes (`None` if nothing changes), diagnostics of a model that is refused,
/// whether the model has no errors, and the numbers of added and completed types.
type Annotated<'py> = (Option<Bound<'py, PyBytes>>, Vec<Bound<'py, PyAny>>, bool, (usize, usize));

/// Writes the proven types of all values into a model.
///
/// `form` is `tagged`, `untagged` or `solved`. A model with errors is refused unless `partial` is set.
#[pyfunction]
pub(crate) fn annotate<'py>(
    py: Python<'py>,
    model: Model,
    settings: &Settings,
    name: &str,
    form: &str,
    partial: bool,
) -> PyResult<Annotated<'py>> {
    let form = match form {
        "tagged" => AnnotationForm::Tagged,
        "untagged" => AnnotationForm::Untagged,
        "solved" => AnnotationForm::Solved,
        other => return Err(core_error(format!("there is no form `{other}`"))),
    };
    let bytes = model.open()?;
    let (file, mut plan) = (settings.file(&bytes, name), Plan::clone(&settings.plan));
    plan.options.functions = true;
    let result = interruptible(py, bytes.len(), move || -> PyResult<_> {
        let mut checked = match plan.solve(&file, SideFiles::Unchecked).map_err(project_error)? {
            Ok(checked) => checked,
            Err(problem) => return Ok(Err(vec![*problem])),
        };
        let is_ok = checked.is_ok();
        if !partial && !is_ok {
            return Ok(Err(checked.diagnostics()));
        }
        let annotated = typeloom_project::parts::rewrite::annotate::annotate(checked.solved(), form)
            .map_err(core_error)?;
        let counts = (annotated.added, annotated.filled);
        Ok(Ok((changed(file.model(), annotated.file.pieces()), is_ok, counts)))
    })??;
    Ok(match result {
        Ok((file, is_ok, counts)) => (file.map(|file| PyBytes::new(py, &file)), Vec::new(), is_ok, counts),
        Err(diagnostics) => (None, crate::convert::diagnostics(py, name, &diagnostics)?, false, (0, 0)),
    })
}

/// Removes the types that `annotate` added.
#[pyfunction]
pub(crate) fn strip<'py>(py: Python<'py>, model: Model) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let bytes = model.open()?;
    let file = interruptible(py, bytes.len(), move || {
        let stripped = typeloom_project::parts::rewrite::annotate::strip(&bytes).map_err(core_error)?;
        PyResult::Ok(changed(&bytes, stripped.file.pieces()))
    })??;
    Ok(file.map(|file| PyBytes::new(py, &file)))
}

/// New bytes (`None` for a model that is refused), its diagnostics, the changes as an object, and their text.
type Specialized<'py> = (Option<Bound<'py, PyBytes>>, Vec<Bound<'py, PyAny>>, Bound<'py, PyAny>, String);

/// Makes a model for the sizes that the settings assume.
#[pyfunction]
pub(crate) fn specialize<'py>(
    py: Python<'py>,
    model: Model,
    settings: &Settings,
    name: &str,
) -> PyResult<Specialized<'py>> {
    let bytes = model.open()?;
    let (file, plan) = (settings.file(&bytes, name), Arc::clone(&settings.plan));
    let result = interruptible(py, bytes.len(), move || plan.specialize(&file))?.map_err(project_error)?;
    let specialized = match result {
        Ok(specialized) => specialized,
        Err(problems) => {
            let problems = crate::convert::diagnostics(py, name, &problems)?;
            return Ok((None, problems, py.None().into_bound(py), String::new()));
        }
    };
    let lines = report::specialize::summary(&specialized);
    let text = format!("{lines}{name}: {}", report::specialize::verdict(&specialized));
    let changes = crate::convert::json(py, &report::specialize::value(&specialized).into())?;
    Ok((Some(PyBytes::new(py, &specialized.file)), Vec::new(), changes, text))
}

/// New bytes (`None` if nothing changes), whether no error remains, the changes as an object, and their text.
type Fixed<'py> = (Option<Bound<'py, PyBytes>>, bool, Bound<'py, PyAny>, String);

/// Repairs a model; with `unsafe_fixes` also where that can change results.
#[pyfunction]
pub(crate) fn fix<'py>(
    py: Python<'py>,
    model: Model,
    settings: &Settings,
    name: &str,
    policy: &str,
    unsafe_fixes: bool,
) -> PyResult<Fixed<'py>> {
    let applied = if unsafe_fixes { Safety::Unsafe } else { Safety::Safe };
    let preferences = Preferences { policy: Policy::parse(policy).map_err(core_error)?, applied };
    let bytes = model.open()?;
    let (model, plan) = (settings.file(&bytes, name), Arc::clone(&settings.plan));
    let repair = interruptible(py, bytes.len(), move || plan.fix(&model, preferences))?;
    let repair = repair.map_err(core_error)?;
    let (diff, lines) = (report::repair::diff(name, name, &repair), report::repair::summary(&repair));
    let count = match repair.file {
        Some(_) => report::repair::count(&repair),
        None => "nothing to fix".to_owned(),
    };
    let text = format!("{diff}{lines}{name}: {count}");
    let changes = crate::convert::json(py, &report::repair::value(&repair))?;
    let file = repair.file.as_deref().map(|file| PyBytes::new(py, file));
    Ok((file, repair.is_ok, changes, text))
}

/// New bytes, the changes as an object, and their text.
type Converted<'py> = (Bound<'py, PyBytes>, Bound<'py, PyAny>, String);

/// Converts a model to another floating-point precision; the diagnostics of a model with errors instead.
#[pyfunction]
pub(crate) fn convert<'py>(
    py: Python<'py>,
    model: Model,
    settings: &Settings,
    name: &str,
    to: &str,
    keep_io: bool,
    keep: Vec<String>,
) -> PyResult<Option<Converted<'py>>> {
    let conversion = Conversion { keep_io, keep, ..Conversion::to(to).map_err(core_error)? };
    let bytes = model.open()?;
    let (model, plan) = (settings.file(&bytes, name), Arc::clone(&settings.plan));
    let converted = interruptible(py, bytes.len(), move || plan.convert(&model, &conversion))?;
    let converted = match converted {
        Ok(converted) => converted,
        Err(ConvertError::HasErrors) => return Ok(None),
        Err(error) => return Err(core_error(error)),
    };
    let text =
        format!("{}{name}: {}", report::convert::summary(&converted), report::convert::count(&converted));
    let changes = crate::convert::json(py, &Value::Object(report::convert::value(&converted)))?;
    Ok(Some((PyBytes::new(py, &converted.file), changes, text)))
}

/// Runs the passes of the compiler on a model.
#[pyfunction]
pub(crate) fn compile<'py>(
    py: Python<'py>,
    model: Model,
    name: &str,
    cast: &str,
    permissive: bool,
    without: Vec<String>,
) -> PyResult<Rewritten<'py>> {
    let coercion = match cast {
        "never" => Coercion::Never,
        "lossless" => Coercion::Lossless,
        "as-declared" => Coercion::AsDeclared,
        other => {
            return Err(core_error(format!(
                "there is no policy `{other}`; there are never, lossless and as-declared"
            )));
        }
    };
    let bytes = model.open()?;
    let result = interruptible(py, bytes.len(), move || -> PyResult<_> {
        let mut compiler = Compiler::new().with_coercion(coercion);
        if permissive {
            compiler = compiler.with_permissive_types();
        }
        for pass in &without {
            compiler = compiler.without_pass(pass);
        }
        match compiler.compile(&bytes[..]) {
            Ok(artifact) => Ok(Ok(Some(artifact.to_bytes().map_err(core_error)?.to_vec()))),
            Err(error) => {
                let diagnostics = error.diagnostics();
                if diagnostics.is_empty() { Err(core_error(error)) } else { Ok(Err(diagnostics)) }
            }
        }
    })??;
    rewritten(py, name, result)
}

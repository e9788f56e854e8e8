//! `view`: the graph of a model as a page for browsers.

use pyo3::prelude::*;
use typeloom::check::Diagnostic;
use typeloom_project::parts::view::page::{self, Delivery};
use typeloom_project::parts::view::scene::{self, Scene};

use crate::convert;
use crate::error::project_error;
use crate::interrupt::interruptible;
use crate::model::Model;
use crate::settings::{Settings, side_files, source};

/// A page, the number of nodes of its model, of its errors, and of changes from an old model.
type View = (String, usize, usize, Option<usize>);

/// The page of a model, or of two models and the changes between them; or the diagnostics of a file that is
/// no model.
#[pyfunction]
pub(crate) fn view<'py>(
    py: Python<'py>,
    model: Model,
    new: Option<(Model, String)>,
    settings: &Settings,
    name: String,
) -> PyResult<(Option<View>, Vec<Bound<'py, PyAny>>)> {
    let mut old = None;
    let (model, name) = match new {
        None => (model, name),
        Some((new, new_name)) => {
            match scene_of(py, model, settings, &name)? {
                Ok(scene) => old = Some(scene),
                Err(diagnostics) => return Ok((None, convert::diagnostics(py, &name, &diagnostics)?)),
            }
            (new, new_name)
        }
    };
    let mut scene = match scene_of(py, model, settings, &name)? {
        Ok(scene) => scene,
        Err(diagnostics) => return Ok((None, convert::diagnostics(py, &name, &diagnostics)?)),
    };
    let nodes = scene.group(scene.main()).total;
    let page = interruptible(py, nodes, move || {
        if let Some(old) = &old {
            (scene, _) = scene::compare(old, &scene);
        }
        let errors = scene.marks.iter().filter(|mark| mark.is_error()).count();
        let changes = scene.comparison.as_ref().map(|comparison| comparison.total);
        (page::render(&scene, &scene.about.title, Delivery::File), nodes, errors, changes)
    })?;
    Ok((Some(page), Vec::new()))
}

/// The scene of a model, or the diagnostics of a file that is no model.
fn scene_of(
    py: Python<'_>,
    model: Model,
    settings: &Settings,
    name: &str,
) -> PyResult<Result<Scene, Vec<Diagnostic>>> {
    let bytes = model.open()?;
    let source = source(&bytes, name);
    let (plan, file) = (settings.plan_of(py, &source)?.for_pages(), settings.file(&bytes, name));
    let known = settings.known(source);
    interruptible(py, bytes.len(), move || -> PyResult<Result<Scene, Vec<Diagnostic>>> {
        let mut examined = plan.check(&file, side_files(&file)).map_err(project_error)?;
        known(&plan, &mut examined.findings)?;
        Ok(examined.scene(&file).ok_or_else(|| examined.findings.to_vec()))
    })?
}

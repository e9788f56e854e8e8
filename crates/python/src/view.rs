//! `view`: the graph of a model as a page for browsers.

use pyo3::prelude::*;
use typeloom::check::{Color, Diagnostic, Options, check_with};
use typeloom_report::human;
use typeloom_view::page::{self, Delivery};
use typeloom_view::scene;

use crate::convert;
use crate::interrupt::interruptible;
use crate::model::Model;
use crate::report::problem;
use crate::settings::Settings;

/// Maximum number of diagnostics that are rendered; the others have their messages only.
const MAX_REPORTS: usize = 1000;

/// A page, the number of nodes of its model, and of its errors.
type View = (String, usize, usize);

/// The page of a model, or the diagnostics of a file that is not one.
#[pyfunction]
pub(crate) fn view<'py>(
    py: Python<'py>,
    model: Model,
    settings: &Settings,
    name: String,
) -> PyResult<(Option<View>, Vec<Bound<'py, PyAny>>)> {
    let bytes = model.open()?;
    let options = Options { functions: true, ..settings.traced() };
    let operators = settings.operators.clone();
    let file = name.clone();
    let drawn = interruptible(py, bytes.len(), move || -> PyResult<Result<View, Vec<Diagnostic>>> {
        let mut checked = match check_with(&bytes, &options, &operators) {
            Ok(checked) => checked,
            Err(error) => return Ok(Err(vec![problem(&error)?])),
        };
        let diagnostics = checked.diagnostics();
        let mut scene = scene::scene(checked.solved(), &diagnostics);
        scene.about.title.clone_from(&file);
        for (mark, diagnostic) in scene.marks.iter_mut().zip(&diagnostics).take(MAX_REPORTS) {
            mark.report = human::diagnostic(&file, diagnostic, Color::Never);
        }
        let main = scene.group(scene.main());
        let errors = scene.marks.iter().filter(|mark| mark.is_error()).count();
        Ok(Ok((page::render(&scene, &file, Delivery::File), main.total, errors)))
    })??;
    Ok(match drawn {
        Ok(view) => (Some(view), Vec::new()),
        Err(diagnostics) => (None, convert::diagnostics(py, &name, &diagnostics)?),
    })
}

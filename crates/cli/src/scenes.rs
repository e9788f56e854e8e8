//! The scene of a model: the model is checked with its settings, and its diagnostics are rendered.

use typeloom_report::human;
use typeloom_solver::diagnostic::Diagnostic;
use typeloom_view::scene::{self, Scene};

use crate::args::SolveArgs;
use crate::exit::Outcome;
use crate::input::Source;

/// Maximum number of diagnostics that are rendered; the others have their messages only.
const MAX_REPORTS: usize = 1000;

/// A scene.
pub(crate) struct Drawn {
    pub(crate) scene: Scene,
    /// Whether the model has errors.
    pub(crate) outcome: Outcome,
}

/// The scene of a model, or the problems of a file that is not one.
pub(crate) fn of(solve: &SolveArgs, source: &Source) -> anyhow::Result<Result<Drawn, Vec<Diagnostic>>> {
    let bytes = source.open()?;
    let mut checker = crate::settings::checker(solve, source)?;
    checker.options.functions = true;
    checker.options.trace = true;
    let mut checked = checker.check(source, &bytes)?;
    let diagnostics = checker.diagnose(&bytes, &mut checked);
    let Ok(mut checked) = checked else { return Ok(Err(diagnostics)) };
    let outcome = if checked.is_ok() { Outcome::Typed } else { Outcome::Problems };
    let mut scene = scene::scene(&mut checked, &diagnostics);
    scene.about.title.clone_from(&source.name);
    for (mark, diagnostic) in scene.marks.iter_mut().zip(&diagnostics).take(MAX_REPORTS) {
        mark.report = human::diagnostic(&source.name, diagnostic, human::Color::Never);
    }
    Ok(Ok(Drawn { scene, outcome }))
}

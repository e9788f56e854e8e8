//! The scene of a model: the model is checked with its settings, and its diagnostics are rendered. Two scenes
//! have one for both.

use anyhow::bail;
use typeloom_report::human;
use typeloom_solver::diagnostic::Diagnostic;
use typeloom_view::page::{self, Delivery};
use typeloom_view::scene::{self, Scene};
use typeloom_view::text::counted;

use crate::args::SolveArgs;
use crate::exit::Outcome;
use crate::input::{Checker, Source};
use crate::target::Target;

/// A scene.
pub(crate) struct Drawn {
    pub(crate) scene: Scene,
    /// Whether the model has errors.
    pub(crate) outcome: Outcome,
}

/// The scene of a model, or the problems of a file that is not one.
pub(crate) fn of(solve: &SolveArgs, source: &Source) -> anyhow::Result<Result<Drawn, Vec<Diagnostic>>> {
    let bytes = source.open()?;
    of_bytes(crate::settings::checker(solve, source)?, source, &bytes)
}

/// The scene of the bytes of a model.
fn of_bytes(
    mut checker: Checker,
    source: &Source,
    bytes: &[u8],
) -> anyhow::Result<Result<Drawn, Vec<Diagnostic>>> {
    checker.options.functions = true;
    checker.options.trace = true;
    let mut checked = checker.check(source, bytes)?;
    let diagnostics = checker.diagnose(bytes, &mut checked);
    let Ok(mut checked) = checked else { return Ok(Err(diagnostics)) };
    let outcome = if checked.is_ok() { Outcome::Typed } else { Outcome::Problems };
    let mut scene = scene::scene(&mut checked, &diagnostics);
    scene.about.title.clone_from(&source.name);
    scene.set_reports(diagnostics.iter().map(|it| human::diagnostic(&source.name, it, human::Color::Never)));
    Ok(Ok(Drawn { scene, outcome }))
}

/// The scene of two models; the number of its changes is in it.
pub(crate) fn compared(old: &Drawn, new: &Drawn) -> Drawn {
    let (scene, _) = scene::compare(&old.scene, &new.scene);
    Drawn { scene, outcome: new.outcome }
}

/// The number of changes of a scene of two models, as text.
pub(crate) fn changes(drawn: &Drawn) -> String {
    counted(drawn.scene.comparison.as_ref().map_or(0, |comparison| comparison.total), "change")
}

/// The target of a page with the changes of a command; `None` if there is none. The page is no model, so it
/// cannot replace the input, or be mixed with a model on standard output.
pub(crate) fn target(file: Option<&str>, model: Option<&Target>) -> anyhow::Result<Option<Target>> {
    let Some(file) = file else { return Ok(None) };
    let target = Target::output(file)?;
    if target.is_stdout() {
        bail!("--view writes a page into a file: it needs a name");
    }
    if let (Target::File { path, name, .. }, Some(Target::File { path: other, .. })) = (&target, model)
        && path == other
    {
        bail!("`{name}` is the file of the changed model");
    }
    Ok(Some(target))
}

/// Writes a page with the changes of a model by a command. Nothing is printed if the model is written to
/// standard output.
pub(crate) fn write_changes(
    solve: &SolveArgs,
    source: &Source,
    [old, new]: [&[u8]; 2],
    target: &Target,
    output: Option<&Target>,
) -> anyhow::Result<()> {
    let scene = |bytes: &[u8]| -> anyhow::Result<Drawn> {
        match of_bytes(crate::settings::checker(solve, source)?, source, bytes)? {
            Ok(drawn) => Ok(drawn),
            Err(_) => bail!("`{}` has no graph that can be shown", source.name),
        }
    };
    let drawn = compared(&scene(old)?, &scene(new)?);
    target.write(page::render(&drawn.scene, &source.name, Delivery::File).as_bytes())?;
    // Standard output contains the model and nothing else.
    if output.is_some_and(Target::is_stdout) {
        return Ok(());
    }
    target.announce(source, &changes(&drawn))
}

//! The scene of a model, with the findings of its check. Two scenes have one for both.

use anyhow::bail;
use typeloom_project::file::File;
use typeloom_project::parts::solver::diagnostic::Diagnostic;
use typeloom_project::parts::view::page::{self, Delivery};
use typeloom_project::parts::view::scene::{self, Scene};
use typeloom_project::parts::view::text::counted;
use typeloom_project::plan::Plan;

use crate::args::SolveArgs;
use crate::baselines;
use crate::exit::Outcome;
use crate::input::Source;
use crate::target::Target;

/// A scene.
pub(crate) struct Drawn {
    pub(crate) scene: Scene,
    /// Whether the model has errors.
    pub(crate) outcome: Outcome,
}

/// The scene of a model with the verdicts of targets, or the problems of a file that is not one.
pub(crate) fn of(
    solve: &SolveArgs,
    targets: &[String],
    source: &Source,
) -> anyhow::Result<Result<Drawn, Vec<Diagnostic>>> {
    let plan = crate::settings::plan_of_check(solve, targets, source)?;
    of_file(&plan, source, &source.open()?)
}

/// The scene of a file.
pub(crate) fn of_file(
    plan: &Plan,
    source: &Source,
    file: &File,
) -> anyhow::Result<Result<Drawn, Vec<Diagnostic>>> {
    let plan = plan.for_pages();
    let mut examined = source.with_side_files(|side| plan.check(file, side))?;
    baselines::apply(&plan, source, &mut examined.findings)?;
    let outcome = if examined.findings.is_ok() { Outcome::Typed } else { Outcome::Problems };
    Ok(match examined.scene(file) {
        Some(scene) => Ok(Drawn { scene, outcome }),
        None => Err(examined.findings.to_vec()),
    })
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
    [old, new]: [&File; 2],
    target: &Target,
    output: Option<&Target>,
) -> anyhow::Result<()> {
    let plan = crate::settings::plan_of_check(solve, &[], source)?;
    let scene = |file: &File| -> anyhow::Result<Drawn> {
        match of_file(&plan, source, file)? {
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

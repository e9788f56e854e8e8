//! Writes baseline files, and removes the known problems of one model.

use typeloom_project::baselines::{BaselineMode, Baselines, Updated};
use typeloom_project::findings::Findings;
use typeloom_project::parts::solver::diagnostic::text::count;
use typeloom_project::plan::Plan;

use crate::input::{Source, read};
use crate::output::note;
use crate::settings::current;
use crate::target::Target;

/// Removes the known problems of a model, in a command that shows one model.
pub(crate) fn apply(plan: &Plan, source: &Source, findings: &mut Findings) -> anyhow::Result<()> {
    if let Some(path) = &plan.settings.baseline {
        let mut baselines = Baselines::new(BaselineMode::Compare, current(), read);
        baselines.apply(&path.value, source, findings)?;
    }
    Ok(())
}

/// Writes the baselines that a run has changed.
pub(crate) fn write(baselines: Baselines) -> anyhow::Result<()> {
    for Updated { path, text, total, new, fixed } in baselines.updated() {
        if let Some(text) = text {
            Target::replacing(&path.display().to_string()).write(text.as_bytes())?;
        }
        note(&format!("{}: {}, {new} new, {fixed} fixed", path.display(), count(total, "problem")));
    }
    Ok(())
}

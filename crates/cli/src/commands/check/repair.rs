//! `check --fix`: repairs of models in place.
//!
//! With targets, exact changes follow that a runtime or device requires, as in `typeloom fix --target`.
//!
//! **Invariant:** a model is replaced only by one that was checked and has fewer errors, or as many and fewer
//! warnings about targets, and as a whole. The repair is made where the model is checked; it is written where
//! models are reported, in their order.

use anyhow::bail;
use typeloom_project::file::File;
use typeloom_project::findings::Findings;
use typeloom_project::parts::report::repair::{count, diff, summary};
use typeloom_project::parts::rewrite::coerce::{Policy, Preferences, Repair, RepairError};
use typeloom_project::parts::solver::diagnostic::Safety;
use typeloom_project::plan::Plan;

use crate::args::{CheckArgs, TargetArgs};
use crate::input::Source;
use crate::output::{aside, write};
use crate::target::Target;

/// The repairs that the arguments request; `None` without `--fix`.
pub(super) fn requested(args: &CheckArgs) -> Option<Safety> {
    args.fix.then_some(if args.unsafe_fixes { Safety::Unsafe } else { Safety::Safe })
}

/// Whether a model has errors, or issues of targets.
pub(super) fn is_needed(findings: &Findings) -> bool {
    !findings.is_ok() || badness(findings) > (0, 0)
}

/// A repair of a model.
pub(super) struct Repaired {
    /// The model with fewer errors; `None` if there is no such one.
    pub(super) file: Option<File>,
    /// The changes, and the repairs that are not applied.
    text: String,
}

/// The repair of a model with these problems.
pub(super) fn repair(
    source: &Source,
    file: &File,
    plan: &Plan,
    before: &Findings,
    applied: Safety,
) -> anyhow::Result<Repaired> {
    let none = |text: String| Ok(Repaired { file: None, text });
    if file.is_text() {
        return none(format!(
            "{}: not fixed, a text is not replaced; `typeloom fix` writes a model\n",
            source.name
        ));
    }
    let repair = |applied| match plan.repair(file, Preferences { policy: Policy::default(), applied }) {
        Ok(repair) => Ok(repair),
        // Its check reports a file that is no model.
        Err(RepairError::Check(_)) => Ok(Repair::default()),
        Err(error) => bail!("cannot change `{}`: {error}", source.name),
    };
    let mut found = repair(applied)?;
    match plan.retarget(file, &mut found) {
        Ok(()) | Err(RepairError::Check(_)) => {}
        Err(error) => bail!("cannot change `{}`: {error}", source.name),
    }
    let new = found.file.as_ref().map(|model| file.with_model(model.clone()));
    let is_better = match &new {
        Some(new) => {
            let after = source.with_side_files(|side| plan.check(new, side))?.findings;
            badness(&after) < badness(before)
        }
        None => false,
    };
    if !is_better {
        let Repair { refused, withheld, .. } = found;
        return none(summary(&Repair { refused, withheld, ..Repair::default() }));
    }
    let mut text = diff(&source.name, &source.name, &found) + &summary(&found);
    if applied == Safety::Unsafe {
        for withheld in repair(Safety::Safe)?.withheld {
            text.push_str(&format!("unsafe, applied: {}\n", withheld.repair));
        }
    }
    text.push_str(&format!("{}: fixed, {}\n", source.name, count(&found)));
    Ok(Repaired { file: new, text })
}

/// The numbers of errors, and of warnings about targets.
fn badness(findings: &Findings) -> (usize, usize) {
    let errors = findings.diagnostics().filter(|it| it.is_error()).count();
    let issues = findings.diagnostics().zip(findings.targets());
    (errors, issues.filter(|(it, target)| !it.is_error() && target.is_some()).count())
}

impl Repaired {
    /// Replaces the model, and shows the changes.
    pub(super) fn write(&self, source: &Source, is_for_people: bool) -> anyhow::Result<()> {
        if let Some(file) = &self.file {
            Target::of(&TargetArgs { output: None, in_place: true }, source)?.write(file.model())?;
        }
        if is_for_people { write(&self.text) } else { aside(&self.text) }
    }
}

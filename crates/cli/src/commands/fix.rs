//! `typeloom fix FILE -o FILE`: the fewest conversions that make a model type-check.
//!
//! With `--target`, exact changes follow that a runtime or device requires, and with `--assume` those of
//! `typeloom specialize`.
//!
//! A model that keeps errors is written with `--partial` only, and only if it has fewer of them than before.

use anyhow::bail;
use serde_json::Value;
use typeloom_project::check::problem;
use typeloom_project::file::File;
use typeloom_project::parts::report;
use typeloom_project::parts::rewrite::coerce::{Policy, Preferences, Repair, RepairError};
use typeloom_project::parts::solver::diagnostic::{Code, Diagnostic, Safety};
use typeloom_project::parts::types::plural::counted;
use typeloom_project::plan::Plan;

use crate::args::{FixArgs, TextFormat};
use crate::exit::Outcome;
use crate::input::{self, Source};
use crate::output::write;
use crate::scenes;
use crate::target::Target;

pub(crate) fn run(args: &FixArgs) -> anyhow::Result<Outcome> {
    let source = input::source(&args.file);
    let target = if args.dry_run { None } else { Some(Target::of(&args.target, &source)?) };
    let view = scenes::target(args.view.as_deref(), target.as_ref())?;
    let file = source.open()?;
    let plan = crate::settings::plan_for(&args.solve, &source, &args.targets)?;
    let applied = if args.unsafe_fixes { Safety::Unsafe } else { Safety::Safe };
    let preferences = Preferences { policy: Policy::parse(&args.policy)?, applied };
    let repair = match plan.fix(&file, preferences) {
        Ok(repair) => repair,
        Err(RepairError::Check(error)) => {
            let problem = problem(&file, error)?;
            return refuse(args, &source, &Repair::default(), &[problem], "it cannot be checked");
        }
        Err(error) => bail!("cannot change `{}`: {error}", source.name),
    };
    if !repair.is_ok {
        return incomplete(args, &source, &file, &plan, [target.as_ref(), view.as_ref()], &repair);
    }
    if let Some(target) = &target {
        match &repair.file {
            Some(model) => target.write(model)?,
            None => {
                let model = file.model();
                target.write_changed(model, &[std::borrow::Cow::Borrowed(&model[..])])?;
            }
        }
    }
    let new = repair.file.clone().map(|model| file.with_model(model));
    let new = new.as_ref().unwrap_or(&file);
    let left = plan.target_issues(new, &repair)?;
    announce(args, &source, target.as_ref(), &repair, &left, "")?;
    show(args, &source, [&file, new], [target.as_ref(), view.as_ref()])?;
    Ok(if left.iter().any(Diagnostic::is_error) { Outcome::Problems } else { Outcome::Typed })
}

/// Writes the page of `--view`.
fn show(
    args: &FixArgs,
    source: &Source,
    models: [&File; 2],
    [target, view]: [Option<&Target>; 2],
) -> anyhow::Result<()> {
    match view {
        Some(page) => scenes::write_changes(&args.solve, source, models, page, target),
        None => Ok(()),
    }
}

/// Shows the changes of a repair that was written, and the errors that remain.
fn announce(
    args: &FixArgs,
    source: &Source,
    target: Option<&Target>,
    repair: &Repair,
    left: &[Diagnostic],
    remain: &str,
) -> anyhow::Result<()> {
    // Standard output contains the model and nothing else.
    if target.is_some_and(Target::is_stdout) {
        return Ok(());
    }
    let name = target.map_or("<dry run>", Target::name);
    write(&match args.format {
        TextFormat::Json => json(&source.name, repair, left),
        TextFormat::Human if repair.file.is_none() => format!(
            "{}{}: nothing to fix\n",
            report::human::diagnostics(&source.name, left, args.color.paint()),
            source.name
        ),
        TextFormat::Human => format!(
            "{}{}{}{} -> {name}: {}{remain}\n",
            report::human::diagnostics(&source.name, left, args.color.paint()),
            report::repair::diff(&source.name, name, repair),
            report::repair::summary(repair),
            source.name,
            report::repair::count(repair)
        ),
    })
}

/// A repair after which errors remain: written if the arguments request it.
fn incomplete(
    args: &FixArgs,
    source: &Source,
    file: &File,
    plan: &Plan,
    [target, view]: [Option<&Target>; 2],
    repair: &Repair,
) -> anyhow::Result<Outcome> {
    let before = plan.problems(file)?;
    let repaired = repair.file.as_ref().map(|model| file.with_model(model.clone()));
    let after = match &repaired {
        Some(repaired) => Some((repaired, plan.problems(repaired)?)),
        None => None,
    };
    let errors = |left: &[Diagnostic]| left.iter().filter(|diagnostic| diagnostic.is_error()).count();
    let Some((repaired, left)) = after.filter(|(_, left)| errors(left) < errors(&before)) else {
        return refuse(args, source, repair, &before, reason(repair, &before));
    };
    let left_over = errors(&left);
    let all = counted(errors(&before), "error");
    if !args.partial {
        let why = format!("{left_over} of {all} would remain; `--partial` repairs the others");
        return refuse(args, source, repair, &before, &why);
    }
    if let Some(target) = target {
        target.write(repaired.model())?;
    }
    announce(args, source, target, repair, &left, &format!("; {left_over} of {all} remain"))?;
    show(args, source, [file, repaired], [target, view])?;
    Ok(Outcome::Problems)
}

/// The reason why a repair does not remove errors.
fn reason(repair: &Repair, left: &[Diagnostic]) -> &'static str {
    let of_types = [Code::ElementTypeMismatch, Code::ElementTypeNotAllowed, Code::TypeMismatch];
    if !repair.refused.is_empty() {
        "the policy forbids it"
    } else if !repair.withheld.is_empty() {
        "only unsafe repairs are known"
    } else if left.iter().filter(|diagnostic| diagnostic.is_error()).all(|it| of_types.contains(&it.code)) {
        "casts cannot repair it"
    } else {
        "no repair is certain"
    }
}

/// Nothing is written, so the diagnostics are those of the model as it is, and the repair has no changes.
fn refuse(
    args: &FixArgs,
    source: &Source,
    repair: &Repair,
    left: &[Diagnostic],
    why: &str,
) -> anyhow::Result<Outcome> {
    let Repair { refused, withheld, .. } = repair.clone();
    let repair = &Repair { refused, withheld, ..Repair::default() };
    write(&match args.format {
        TextFormat::Json => json(&source.name, repair, left),
        TextFormat::Human => {
            let mut text = report::human::diagnostics(&source.name, left, args.color.paint());
            text.push_str(&report::repair::summary(repair));
            text + &format!("{}: not fixed, {why}\n", source.name)
        }
    })?;
    Ok(Outcome::Problems)
}

fn json(file: &str, repair: &Repair, left: &[Diagnostic]) -> String {
    let Value::Object(mut object) = report::repair::value(repair) else { return String::new() };
    object.insert("diagnostics".to_owned(), report::json::values(file, left));
    report::json::line(file, object)
}

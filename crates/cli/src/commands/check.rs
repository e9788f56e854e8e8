//! `typeloom check FILE...`: proves the type of every value.

use std::collections::BTreeMap;

use anyhow::bail;

use typeloom_onnx::text::escape;
use typeloom_report::list::{Checked, Content, FileReport, ListedFiles, TargetOutcome, TargetVerdict};
use typeloom_settings::effective::{Settings, Sourced};
use typeloom_settings::exceptions::{Excepted, Exceptions};
use typeloom_solver::diagnostic::{Diagnostic, MAX_LISTED};
use typeloom_solver::model::{self, Coverage};
use typeloom_targets::{Outcome as Verdict, Target};

use crate::args::CheckArgs;
use crate::baselines::{BaselineMode, Baselines};
use crate::exit::Outcome;
use crate::input::{self, Source};
use crate::output::{complain, progress};
use crate::reports::Reports;
use crate::settings::{Plan, Resolver};

/// The problems of one file.
struct Found {
    diagnostics: Vec<Diagnostic>,
    coverage: Coverage,
    excepted: Excepted,
    known: usize,
    targets: Vec<TargetVerdict>,
}

pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<Outcome> {
    let mut settings = Resolver::new(&args.solve, command_line(args))?;
    let sources = input::sources(&args.files, &mut settings)?;
    let mode = if args.update_baseline { BaselineMode::Update } else { BaselineMode::Compare };
    let mut baselines = Baselines::new(mode);
    let listed = if args.quiet { ListedFiles::WithFindings } else { ListedFiles::All };
    let mut reports = Reports::open(&args.report, args.color, listed)?;
    let progress = progress(u64::try_from(sources.len()).ok(), "{bar:30} {pos}/{len} {wide_msg}");
    for source in &sources {
        progress.set_message(source.name.clone());
        let plan = settings.plan(source)?;
        let found = check(source, &plan);
        let found = match found {
            Ok(mut found) => {
                match &plan.settings.baseline {
                    Some(path) => {
                        found.known = baselines.apply(&path.value, source, &mut found.diagnostics)?;
                    }
                    None if mode == BaselineMode::Update => {
                        bail!(
                            "--update-baseline needs a baseline: --baseline FILE, or `baseline` in the settings"
                        );
                    }
                    None => {}
                }
                Ok(found)
            }
            Err(error) => {
                progress.suspend(|| complain(&error));
                Err(escape(&format!("{error:#}")).into_owned())
            }
        };
        let content = match &found {
            Ok(Found { diagnostics, coverage, excepted, known, targets }) => {
                let max = plan.settings.max_problems.as_ref().map_or(usize::MAX, |max| max.value);
                Content::Checked(Checked {
                    diagnostics,
                    shown: max.min(diagnostics.len()),
                    known: *known,
                    excepted: excepted.codes.clone(),
                    unknown_exceptions: excepted.unknown.clone(),
                    coverage: *coverage,
                    targets: targets.clone(),
                })
            }
            Err(error) => Content::Unusable { error },
        };
        progress.suspend(|| reports.file(&FileReport { file: &source.name, content }))?;
        progress.inc(1);
    }
    progress.finish_and_clear();
    reports.totals.fixed = baselines.fixed();
    let totals = reports.totals;
    reports.finish()?;
    baselines.finish()?;
    Ok(match totals.unusable {
        0 if totals.errors == 0 => Outcome::Typed,
        0 => Outcome::Problems,
        _ => Outcome::Unusable,
    })
}

/// The settings of the command line, except for those of the solver.
fn command_line(args: &CheckArgs) -> Settings {
    let off = |flag: bool| flag.then(|| Sourced::of_command_line(false));
    Settings {
        severities: args.levels.settings(),
        targets: args.targets.iter().cloned().map(Sourced::of_command_line).collect(),
        inline: off(args.no_inline),
        external_data: off(args.no_external_data),
        max_problems: args.max_problems.map(Sourced::of_command_line),
        baseline: args.baseline.clone().map(Sourced::of_command_line),
        ..Settings::default()
    }
}

fn check(source: &Source, plan: &Plan) -> anyhow::Result<Found> {
    let Plan { settings, levels, checker, targets } = plan;
    let is_on = |flag: &Option<Sourced<bool>>| flag.as_ref().is_none_or(|flag| flag.value);
    let bytes = source.open()?;
    let mut checked = checker.check(source, &bytes)?;
    let mut coverage = Coverage::default();
    if let Ok(checked) = &mut checked {
        if is_on(&settings.external_data) {
            typeloom_files::report_missing(checked, source.folder());
        }
        coverage = checked.coverage();
    }
    let mut diagnostics = checker.diagnose(&bytes, &mut checked);
    // The last one of a list that was cut states how many follow, which may be of any code, so it is not removed.
    let cut = if diagnostics.len() >= MAX_LISTED { diagnostics.pop() } else { None };
    let targets = match &mut checked {
        Ok(checked) => verdicts(checked, targets, &mut diagnostics),
        Err(_) => Vec::new(),
    };
    levels.apply(&mut diagnostics);
    let mut excepted = Excepted { codes: BTreeMap::new(), unknown: Vec::new() };
    if is_on(&settings.inline)
        && !diagnostics.is_empty()
        && let Some(model) = checked.as_ref().ok().and_then(|checked| checked.model())
    {
        excepted = Exceptions::of_model(model).apply(&mut diagnostics);
    }
    diagnostics.extend(cut);
    Ok(Found { diagnostics, coverage, excepted, known: 0, targets })
}

/// The verdict of each target. Its reasons follow the diagnostics of the model. A model with errors of its own runs nowhere, so
/// for such a model only rejections are listed.
fn verdicts(
    checked: &mut model::Checked<'_>,
    targets: &[&'static Target],
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<TargetVerdict> {
    let is_valid = !diagnostics.iter().any(Diagnostic::is_error);
    let mut verdicts = Vec::new();
    for target in targets {
        let verdict = target.check(checked);
        let outcome = match verdict.outcome() {
            Verdict::Runs => TargetOutcome::Runs,
            Verdict::Rejected => TargetOutcome::Rejected,
            Verdict::Undecided => TargetOutcome::Undecided,
        };
        if is_valid || outcome == TargetOutcome::Rejected {
            verdicts.push(TargetVerdict { target: target.name().to_owned(), outcome });
            diagnostics.extend(verdict.diagnostics(target.name(), checked));
        }
    }
    verdicts
}

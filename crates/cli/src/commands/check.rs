//! `typeloom check FILE...`: proves the type of every value.

use typeloom_report as report;
use typeloom_solver::diagnostic::Diagnostic;
use typeloom_solver::diagnostic::text::count;
use typeloom_solver::model::{Checked, Coverage};
use typeloom_targets::{Outcome as Verdict, Target};

use crate::args::{CheckArgs, CheckFormat};
use crate::commands::targets;
use crate::input::{self, Checker, Source};
use crate::output::{Outcome, complain, progress, write};

/// The result of one file.
struct FileResult {
    diagnostics: Vec<Diagnostic>,
    coverage: Coverage,
    verdicts: Vec<(&'static Target, Verdict)>,
}

pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<Outcome> {
    let mut checker = input::checker(&args.solve)?;
    let targets = targets::find(&args.targets)?;
    checker.options.functions |= !targets.is_empty();
    let sources = input::sources(&args.files)?;
    let progress = progress(u64::try_from(sources.len()).ok(), "{bar:30} {pos}/{len} {wide_msg}");
    let mut outcome = Outcome::Typed;
    let mut log: Vec<(String, Vec<Diagnostic>)> = Vec::new();
    for source in &sources {
        progress.set_message(source.name.clone());
        let found = match check(source, &checker, &targets, args) {
            Ok(found) => found,
            Err(error) => {
                progress.suspend(|| complain(&error));
                outcome = outcome.max(Outcome::Unusable);
                continue;
            }
        };
        if found.diagnostics.iter().any(Diagnostic::is_error) {
            outcome = outcome.max(Outcome::Problems);
        }
        let text = render(args, &source.name, &found);
        progress.suspend(|| write(&text))?;
        progress.inc(1);
        if args.format == CheckFormat::Sarif {
            log.push((source.name.clone(), shown(args, &found.diagnostics).to_vec()));
        }
    }
    progress.finish_and_clear();
    if args.format == CheckFormat::Sarif {
        let files = log.iter().map(|(file, diagnostics)| (file.as_str(), diagnostics.as_slice()));
        write(&report::sarif::document(files))?;
    }
    Ok(outcome)
}

fn check(
    source: &Source,
    checker: &Checker,
    targets: &[&'static Target],
    args: &CheckArgs,
) -> anyhow::Result<FileResult> {
    let bytes = source.open()?;
    let mut checked = checker.check(source, &bytes)?;
    let mut coverage = Coverage::default();
    if let Ok(checked) = &mut checked {
        if !args.no_external_data {
            typeloom_files::report_missing(checked, source.folder());
        }
        coverage = checked.coverage();
    }
    let mut diagnostics = checker.diagnose(&bytes, &mut checked);
    let verdicts = match &mut checked {
        Ok(checked) => verdicts(checked, targets, &mut diagnostics),
        Err(_) => Vec::new(),
    };
    Ok(FileResult { diagnostics, coverage, verdicts })
}

/// The verdict of each target. Its reasons follow the diagnostics of the model. A model with errors of its own runs nowhere, so
/// for such a model only rejections are listed.
fn verdicts(
    checked: &mut Checked<'_>,
    targets: &[&'static Target],
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<(&'static Target, Verdict)> {
    let is_valid = !diagnostics.iter().any(Diagnostic::is_error);
    let mut verdicts = Vec::new();
    for target in targets {
        let verdict = target.check(checked);
        let outcome = verdict.outcome();
        if is_valid || outcome == Verdict::Rejected {
            verdicts.push((*target, outcome));
            diagnostics.extend(verdict.diagnostics(target.name(), checked));
        }
    }
    verdicts
}

fn render(args: &CheckArgs, file: &str, found: &FileResult) -> String {
    let diagnostics = shown(args, &found.diagnostics);
    let lines = |line: fn(&str, &Diagnostic) -> String| -> String {
        diagnostics.iter().map(|diagnostic| line(file, diagnostic) + "\n").collect()
    };
    match args.format {
        CheckFormat::Human => {
            let mut text = report::human::diagnostics(file, diagnostics, args.color.paint());
            if !diagnostics.is_empty() {
                text.push('\n');
            }
            text + &summary(args, file, found)
        }
        CheckFormat::Concise => lines(report::concise::diagnostic) + &summary(args, file, found),
        CheckFormat::Json => lines(report::json::diagnostic),
        CheckFormat::Github => lines(report::github::diagnostic),
        CheckFormat::Sarif => String::new(),
    }
}

/// The diagnostics to show: at most `--max-problems`.
fn shown<'d>(args: &CheckArgs, diagnostics: &'d [Diagnostic]) -> &'d [Diagnostic] {
    let max = args.max_problems.unwrap_or(usize::MAX);
    &diagnostics[..max.min(diagnostics.len())]
}

/// One line per file, such as `model.onnx: ok, 120 values fully typed`.
fn summary(args: &CheckArgs, file: &str, found: &FileResult) -> String {
    let errors = found.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
    let warnings = found.diagnostics.len() - errors;
    let mut parts = Vec::new();
    if errors > 0 {
        parts.push(count(errors, "error"));
    } else {
        if warnings == 0 && args.quiet {
            return String::new();
        }
        parts.push("ok".to_owned());
        parts.extend(coverage(&found.coverage));
    }
    if warnings > 0 {
        parts.push(count(warnings, "warning"));
    }
    for (target, verdict) in &found.verdicts {
        let verdict = match verdict {
            Verdict::Runs => "runs on",
            Verdict::Rejected => "does not run on",
            Verdict::Undecided => "undecided on",
        };
        parts.push(format!("{verdict} {}", target.name()));
    }
    match found.diagnostics.len() - shown(args, &found.diagnostics).len() {
        0 => {}
        hidden => parts.push(format!("{hidden} not shown")),
    }
    format!("{file}: {}\n", parts.join(", "))
}

/// Counts of values with complete types and with each kind of incomplete one.
fn coverage(coverage: &Coverage) -> Vec<String> {
    let Coverage { values, typed, unknown_extents, unknown_rank, assumed, open_conditions } = *coverage;
    let mut parts = vec![if typed == values {
        format!("{} fully typed", count(values, "value"))
    } else {
        format!("{typed} of {} fully typed", count(values, "value"))
    }];
    for (values, what) in
        [(unknown_extents, "with unknown extents"), (unknown_rank, "of unknown rank"), (assumed, "assumed")]
    {
        if values > 0 {
            parts.push(format!("{values} {what}"));
        }
    }
    if open_conditions > 0 {
        parts.push(format!("{} undecided", count(open_conditions, "condition")));
    }
    parts
}

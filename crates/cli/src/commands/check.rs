//! `typeloom check FILE...`: whether every value has a proven type.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use typeloom_report as report;
use typeloom_solver::diagnostic::{Diagnostic, Severity, diagnose_error};
use typeloom_solver::model::Coverage;

use crate::args::{CheckArgs, CheckFormat};
use crate::external;
use crate::input::{self, Solve, Source};
use crate::output::{Outcome, complain, write};

/// The result of one file.
struct Found {
    diagnostics: Vec<Diagnostic>,
    coverage: Coverage,
}

pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<Outcome> {
    let solve = input::solve(&args.solve)?;
    let sources = input::sources(&args.files)?;
    let progress = progress(sources.len());
    let mut outcome = Outcome::Typed;
    let mut log: Vec<(String, Vec<Diagnostic>)> = Vec::new();
    for source in &sources {
        progress.set_message(source.name.clone());
        let found = match check(source, &solve, args) {
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

/// A bar over the files, on a terminal, once it takes long enough to be wanted.
fn progress(files: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(u64::try_from(files).ok(), ProgressDrawTarget::stderr_with_hz(5));
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {wide_msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

fn check(source: &Source, solve: &Solve, args: &CheckArgs) -> anyhow::Result<Found> {
    let bytes = source.open()?;
    let mut checked = match solve.check(&bytes) {
        Ok(checked) => checked,
        Err(error) => match diagnose_error(&error) {
            Some(diagnostic) => {
                return Ok(Found { diagnostics: vec![diagnostic], coverage: Coverage::default() });
            }
            None => return Err(anyhow::Error::new(error).context(format!("cannot check `{}`", source.name))),
        },
    };
    if !args.no_external_data {
        external::report(&mut checked, source.folder());
    }
    Ok(Found { coverage: checked.coverage(), diagnostics: solve.diagnose(&bytes, &mut checked) })
}

fn render(args: &CheckArgs, file: &str, found: &Found) -> String {
    let diagnostics = shown(args, &found.diagnostics);
    let lines = |line: fn(&str, &Diagnostic) -> String| -> String {
        diagnostics.iter().map(|diagnostic| with_line_end(line(file, diagnostic))).collect()
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

/// The problems that are shown.
fn shown<'d>(args: &CheckArgs, diagnostics: &'d [Diagnostic]) -> &'d [Diagnostic] {
    let most = args.max_problems.unwrap_or(usize::MAX);
    &diagnostics[..most.min(diagnostics.len())]
}

fn with_line_end(mut line: String) -> String {
    if !line.ends_with('\n') {
        line.push('\n');
    }
    line
}

/// One line a file: `model.onnx: ok, 120 values fully typed`.
fn summary(args: &CheckArgs, file: &str, found: &Found) -> String {
    let count =
        |severity| found.diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let mut parts = Vec::new();
    if errors > 0 {
        parts.push(number(errors, "error"));
    } else {
        if warnings == 0 && args.quiet {
            return String::new();
        }
        parts.push("ok".to_owned());
        parts.extend(coverage(&found.coverage));
    }
    if warnings > 0 {
        parts.push(number(warnings, "warning"));
    }
    match found.diagnostics.len() - shown(args, &found.diagnostics).len() {
        0 => {}
        hidden => parts.push(format!("{hidden} not shown")),
    }
    format!("{file}: {}\n", parts.join(", "))
}

/// How many values are fully typed, and what is known of the others.
fn coverage(coverage: &Coverage) -> Vec<String> {
    let Coverage { values, typed, unknown_extents, unknown_rank, assumed, open_conditions } = *coverage;
    let mut parts = vec![if typed == values {
        format!("{} fully typed", number(values, "value"))
    } else {
        format!("{typed} of {} fully typed", number(values, "value"))
    }];
    for (count, what) in
        [(unknown_extents, "with unknown extents"), (unknown_rank, "of unknown rank"), (assumed, "assumed")]
    {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    if open_conditions > 0 {
        parts.push(format!("{} undecided", number(open_conditions, "condition")));
    }
    parts
}

fn number(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

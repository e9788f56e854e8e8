//! Reports of commands over several files, written file by file.
//!
//! [`renderer`] returns a [`ListRenderer`] for a [`Format`]. It is called once at the start, once for each
//! file in order, and once at the end; the texts that it returns are concatenated. So a report of any length
//! needs memory for one file only.

mod people;
mod targets;

pub use targets::{TargetOutcome, TargetPlacement, TargetTable, TargetVerdict};

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use typeloom_solver::diagnostic::text::count;
use typeloom_solver::diagnostic::{Code, Diagnostic, Severity};
use typeloom_solver::model::Coverage;

use crate::finding::{Difference, Finding};
use crate::human::Color;
use crate::{concise, github, gitlab, json, junit, markdown, sarif};

/// A format of a report.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Format {
    /// For people: the printed node with labels, notes and help.
    #[default]
    Human,
    /// One line for each finding.
    Concise,
    /// One JSON object for each file.
    Json,
    /// One SARIF 2.1.0 log.
    Sarif,
    /// Annotations of a GitHub workflow.
    Github,
    /// A page of Markdown, for summaries of a job.
    Markdown,
    /// JUnit XML.
    Junit,
    /// A report of GitLab Code Quality.
    Gitlab,
}

/// Parameters of renderers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Style {
    /// Colours of the format for people.
    pub color: Color,
    /// The files that the formats for people list.
    pub files: ListedFiles,
    /// The separator of paths in the names of files.
    pub paths: PathStyle,
}

/// The files that a report for people lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ListedFiles {
    /// All.
    #[default]
    All,
    /// Those with findings.
    WithFindings,
}

/// The notation of paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PathStyle {
    /// `/` separates.
    #[default]
    Unix,
    /// `\` and `/` separate, and a path can begin with a drive.
    Windows,
}

/// The result of one file, or of two files that are compared.
#[derive(Clone, Debug)]
pub struct FileReport<'r> {
    /// The file; of two files, the new one.
    pub file: &'r str,
    pub content: Content<'r>,
}

/// The kinds of results.
#[derive(Clone, Debug)]
pub enum Content<'r> {
    /// The file was checked.
    Checked(Checked<'r>),
    /// Two files were compared.
    Compared(Compared<'r>),
    /// The file could not be used.
    Unusable {
        /// The reason.
        error: &'r str,
    },
}

/// The result of a check.
#[derive(Clone, Debug, Default)]
pub struct Checked<'r> {
    /// All problems that are reported.
    pub diagnostics: &'r [Diagnostic],
    /// The number of problems that are shown.
    pub shown: usize,
    /// The number of problems of the baseline.
    pub known: usize,
    /// The problems that the model excepts, by code.
    pub excepted: BTreeMap<Code, usize>,
    /// The exceptions of the model that select no code.
    pub unknown_exceptions: Vec<String>,
    pub coverage: Coverage,
    /// Whether each target can run the model.
    pub targets: Vec<TargetVerdict>,
    /// The comparison with a version of a registry.
    pub against: Option<Against<'r>>,
}

/// The comparison of a checked model with a version of its interface.
#[derive(Clone, Debug)]
pub struct Against<'r> {
    pub differences: &'r [Difference],
    /// The result for people, as a clause: `not compatible with vision/resnet@production`.
    pub verdict: String,
    /// The result for programs.
    pub object: Value,
}

/// The result of a comparison.
#[derive(Clone, Debug)]
pub struct Compared<'r> {
    pub differences: &'r [Difference],
    /// The line with the result, for people.
    pub verdict: String,
    /// The result for programs.
    pub object: Map<String, Value>,
}

impl Checked<'_> {
    /// The problems that are shown.
    #[must_use]
    pub fn listed(&self) -> &[Diagnostic] {
        &self.diagnostics[..self.shown.min(self.diagnostics.len())]
    }

    /// The differences from a version of a registry.
    #[must_use]
    pub fn differences(&self) -> &[Difference] {
        self.against.as_ref().map_or(&[], |against| against.differences)
    }

    /// All findings, shown or not.
    fn findings(&self) -> impl Iterator<Item = Finding<'_>> {
        let problems = self.diagnostics.iter().map(Finding::Problem);
        problems.chain(self.differences().iter().map(Finding::Difference))
    }

    /// The numbers of errors and warnings, shown or not.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let breaking = self.differences().iter().filter(|difference| difference.breaking).count();
        let errors = self.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count() + breaking;
        (errors, self.diagnostics.len() + self.differences().len() - errors)
    }

    /// The problems that are not reported, see [`unreported`].
    #[must_use]
    pub fn unreported(&self) -> Vec<String> {
        unreported(self.known, &self.excepted)
    }

    /// The result in one line: `ok, 120 values fully typed`, or `ok, 1 known, 118 of 120 values fully typed`.
    #[must_use]
    pub fn summary(&self) -> String {
        let (errors, warnings) = self.counts();
        let mut parts = vec![if errors > 0 { count(errors, "error") } else { "ok".to_owned() }];
        parts.extend(self.unreported());
        if errors == 0 {
            parts.extend(coverage(&self.coverage));
        }
        if warnings > 0 {
            parts.push(count(warnings, "warning"));
        }
        parts.extend(self.against.iter().map(|against| against.verdict.clone()));
        parts.extend(self.targets.iter().map(TargetVerdict::clause));
        let hidden = self.diagnostics.len() - self.listed().len();
        if hidden > 0 {
            parts.push(format!("{hidden} not shown"));
        }
        if let Some(first) = self.unknown_exceptions.first() {
            parts.push(format!("`typeloom.allow` of the model names no code: `{first}`"));
        }
        parts.join(", ")
    }
}

/// Rows of cells as lines with aligned columns.
#[must_use]
pub fn aligned(rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// Problems that are not reported: `3 known`, `1 allowed by the model (dim-mismatch)`.
#[must_use]
pub fn unreported(known: usize, excepted: &BTreeMap<Code, usize>) -> Vec<String> {
    let mut parts = Vec::new();
    if known > 0 {
        parts.push(format!("{known} known"));
    }
    if !excepted.is_empty() {
        let total = excepted.values().sum::<usize>();
        let codes: Vec<&str> = excepted.keys().map(|code| code.name()).collect();
        parts.push(format!("{total} allowed by the model ({})", codes.join(", ")));
    }
    parts
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

impl FileReport<'_> {
    /// The findings that are shown.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding<'_>> {
        match &self.content {
            Content::Checked(checked) => {
                let problems = checked.listed().iter().map(Finding::Problem);
                problems.chain(checked.differences().iter().map(Finding::Difference)).collect()
            }
            Content::Compared(compared) => compared.differences.iter().map(Finding::Difference).collect(),
            Content::Unusable { .. } => Vec::new(),
        }
    }

    /// Whether the file is clean, has warnings or errors, or could not be used.
    #[must_use]
    pub fn status(&self) -> Status {
        let errors = |severities: &mut dyn Iterator<Item = Severity>| match severities
            .max_by_key(|it| *it == Severity::Error)
        {
            Some(Severity::Error) => Status::Errors,
            Some(Severity::Warning) => Status::Warnings,
            None => Status::Clean,
        };
        match &self.content {
            Content::Checked(checked) => {
                let differences = checked.differences().iter().map(|it| Finding::Difference(it).severity());
                errors(&mut checked.diagnostics.iter().map(|it| it.severity).chain(differences))
            }
            Content::Compared(compared) => {
                errors(&mut compared.differences.iter().map(|it| Finding::Difference(it).severity()))
            }
            Content::Unusable { .. } => Status::Unusable,
        }
    }
}

/// The result of a file in one word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Status {
    /// There are no findings.
    Clean,
    /// There are warnings only.
    Warnings,
    /// There is an error.
    Errors,
    /// The file could not be used.
    Unusable,
}

impl Status {
    /// `clean`, `warnings`, `errors` or `unusable`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Warnings => "warnings",
            Self::Errors => "errors",
            Self::Unusable => "unusable",
        }
    }
}

/// The number of problems of each code and severity, with the summary of the code.
pub type Statistics = BTreeMap<(&'static str, Severity), (usize, &'static str)>;

/// The totals of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    pub files: usize,
    pub errors: usize,
    pub warnings: usize,
    pub unusable: usize,
    /// Problems of the baseline that were found.
    pub known: usize,
    /// Problems that a model excepts.
    pub excepted: usize,
    /// Problems of the baseline that no longer occur; `None` without a baseline.
    pub fixed: Option<usize>,
    /// The number of files that are missing because the run was interrupted.
    pub missing: Option<usize>,
    /// Whether files were compared, and not checked.
    pub is_comparison: bool,
    /// The problems by code; `None` unless they are requested.
    pub statistics: Option<Statistics>,
    /// The verdicts of targets.
    pub targets: TargetTable,
}

impl Totals {
    /// Adds a file.
    pub fn add(&mut self, report: &FileReport<'_>) {
        self.files += 1;
        self.targets.add(report);
        match &report.content {
            Content::Checked(checked) => {
                let (errors, warnings) = checked.counts();
                self.errors += errors;
                self.warnings += warnings;
                self.known += checked.known;
                if let Some(statistics) = &mut self.statistics {
                    for finding in checked.findings() {
                        let (rule, severity) = (finding.rule(), finding.severity());
                        statistics.entry((rule.name, severity)).or_insert((0, rule.summary)).0 += 1;
                    }
                }
                self.excepted += checked.excepted.values().sum::<usize>();
            }
            Content::Compared(compared) => {
                let breaking = compared.differences.iter().filter(|it| it.breaking).count();
                self.is_comparison = true;
                self.errors += breaking;
                self.warnings += compared.differences.len() - breaking;
            }
            Content::Unusable { .. } => self.unusable += 1,
        }
    }

    /// The clause about an interrupted run.
    pub(crate) fn interruption(&self) -> Option<String> {
        self.missing.map(|missing| format!("interrupted before {}", count(missing, "other file")))
    }

    /// The problems by code, the most frequent first: their number, the code, the severity and the summary.
    #[must_use]
    pub fn statistics(&self) -> Vec<[String; 4]> {
        let mut rows: Vec<_> = self.statistics.iter().flatten().collect();
        rows.sort_by_key(|((code, severity), (count, _))| {
            (std::cmp::Reverse(*count), *code, severity.name())
        });
        let row = |((code, severity), (count, summary)): (&(&str, Severity), &(usize, &str))| {
            [count.to_string(), (*code).to_owned(), severity.name().to_owned(), (*summary).to_owned()]
        };
        rows.into_iter().map(row).collect()
    }

    /// The totals in one line: `40 files: 1 error, 30 known, 1 fixed`.
    #[must_use]
    pub fn summary(&self) -> String {
        let Self { files, errors, warnings, unusable, known, excepted, fixed, .. } = *self;
        let mut parts = Vec::new();
        for (number, noun) in [(errors, "error"), (warnings, "warning"), (unusable, "unusable file")] {
            if number > 0 {
                parts.push(count(number, noun));
            }
        }
        if parts.is_empty() {
            parts.push("no problems".to_owned());
        }
        for (number, adjective) in
            [(known, "known"), (excepted, "allowed by models"), (fixed.unwrap_or_default(), "fixed")]
        {
            if number > 0 {
                parts.push(format!("{number} {adjective}"));
            }
        }
        parts.extend(self.interruption());
        format!("{}: {}", count(files, "file"), parts.join(", "))
    }
}

/// Writes a report file by file.
pub trait ListRenderer {
    /// The text before the first file.
    fn begin(&mut self) -> String {
        String::new()
    }

    /// The text of one file.
    fn file(&mut self, report: &FileReport<'_>) -> String;

    /// The text after the last file.
    fn end(&mut self, totals: &Totals) -> String {
        let _ = totals;
        String::new()
    }
}

/// The renderer of a format.
#[must_use]
pub fn renderer(format: Format, style: Style) -> Box<dyn ListRenderer> {
    match format {
        Format::Human => Box::new(people::List::new(style)),
        Format::Concise => Box::new(concise::List::new(style)),
        Format::Json => Box::new(json::List),
        Format::Sarif => Box::new(sarif::List::new(style.paths)),
        Format::Github => Box::new(github::List),
        Format::Markdown => Box::new(markdown::List::new()),
        Format::Junit => Box::new(junit::List),
        Format::Gitlab => Box::new(gitlab::List::default()),
    }
}

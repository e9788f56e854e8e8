//! One line per finding: `model.onnx: /attn/Add_3: element-type-mismatch: ...`.
//!
//! The file is followed by the name of the node or value, the code and the message, which begins with
//! `warning: ` if the finding is one. A finding of the whole file is at `model`.

use typeloom_onnx::text::escape;
use typeloom_solver::diagnostic::{Diagnostic, Severity};

use crate::finding::Finding;
use crate::list::{Content, FileReport, ListRenderer, ListedFiles, Style, Totals};

/// One problem of a file, without line break.
#[must_use]
pub fn diagnostic(file: &str, diagnostic: &Diagnostic) -> String {
    line(file, Finding::Problem(diagnostic))
}

/// One finding, without line break.
#[must_use]
pub fn line(file: &str, finding: Finding<'_>) -> String {
    let severity = match finding.severity() {
        Severity::Error => "",
        Severity::Warning => "warning: ",
    };
    let [file, at, message] = [file, &finding.at(), finding.message()].map(|text| escape(text).into_owned());
    format!("{file}: {at}: {}: {severity}{message}", finding.code())
}

/// The report of a run: lines, and a summary for each file.
pub(crate) struct List {
    style: Style,
}

impl List {
    pub(crate) fn new(style: Style) -> Self {
        Self { style }
    }
}

impl ListRenderer for List {
    fn file(&mut self, report: &FileReport<'_>) -> String {
        let findings = report.findings();
        let mut text: String = findings.iter().map(|finding| line(report.file, *finding) + "\n").collect();
        text.push_str(&summary(report, self.style.files));
        text
    }

    fn end(&mut self, totals: &Totals) -> String {
        closing(totals, self.style.files)
    }
}

/// The last line about a file.
pub(crate) fn summary(report: &FileReport<'_>, files: ListedFiles) -> String {
    let file = report.file;
    match &report.content {
        Content::Checked(checked) => {
            match (files, checked.diagnostics.is_empty() && checked.differences().is_empty()) {
                (ListedFiles::WithFindings, true) => String::new(),
                (ListedFiles::WithFindings | ListedFiles::All, _) => {
                    format!("{file}: {}\n", escape(&checked.summary()))
                }
            }
        }
        Content::Compared(compared) => format!("{}\n", escape(&compared.verdict)),
        // The command reports the error where people read it.
        Content::Unusable { .. } => String::new(),
    }
}

/// The end of a run: the problems by code, and the totals. A check of one file has no totals, unless it is
/// compared with a baseline or was interrupted.
pub(crate) fn closing(totals: &Totals, files: ListedFiles) -> String {
    let rows = totals.statistics();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or_default();
    let [counts, codes, severities] = [width(0), width(1), width(2)];
    let line = |[count, code, severity, summary]: &[String; 4]| {
        format!("{count:>counts$}  {code:codes$}  {severity:severities$}  {summary}\n")
    };
    let text: String = rows.iter().map(line).collect();
    let has_findings = totals.errors + totals.warnings + totals.unusable > 0;
    let is_list = totals.files > 1 && !totals.is_comparison;
    let is_listed = is_list && (files == ListedFiles::All || has_findings);
    if is_listed || totals.fixed.is_some() || totals.missing.is_some() || totals.statistics.is_some() {
        return text + &totals.summary() + "\n";
    }
    text
}

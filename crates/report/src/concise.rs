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
        closing(totals)
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

/// The last line of a run that is compared with a baseline, or was interrupted.
pub(crate) fn closing(totals: &Totals) -> String {
    match (totals.fixed, totals.missing) {
        (None, None) => String::new(),
        (Some(_), _) | (_, Some(_)) => format!("{}\n", totals.summary()),
    }
}

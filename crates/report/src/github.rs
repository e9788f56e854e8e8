//! Workflow commands of GitHub Actions: `::error file=model.onnx,title=...::...`.
//!
//! Source: "Workflow commands for GitHub Actions", setting an error message. A command is one line, so
//! line breaks, percent signs and, in properties, colons and commas are escaped.

use typeloom_onnx::text::{escape, escape_lines};
use typeloom_solver::diagnostic::Diagnostic;

use crate::finding::Finding;
use crate::list::{Content, FileReport, ListRenderer, Totals};

/// One problem of a file as a command, without line break.
#[must_use]
pub fn diagnostic(file: &str, diagnostic: &Diagnostic) -> String {
    finding(file, Finding::Problem(diagnostic))
}

fn finding(file: &str, finding: Finding<'_>) -> String {
    let message = match finding {
        Finding::Problem(diagnostic) => diagnostic.message.clone(),
        Finding::Difference(difference) => format!("{}: {}", finding.at(), difference.message),
    };
    let lines: Vec<String> = std::iter::once(message).chain(finding.details()).collect();
    command(finding.severity().name(), file, finding.code(), &lines.join("\n"))
}

fn command(level: &str, file: &str, title: &str, message: &str) -> String {
    format!("::{level} file={},title={}::{}", property(file), property(title), data(message))
}

/// The report of a run: a command for each finding and each file that cannot be used.
pub(crate) struct List;

impl ListRenderer for List {
    fn file(&mut self, report: &FileReport<'_>) -> String {
        if let Content::Unusable { error } = &report.content {
            return command("error", report.file, "unusable-file", error) + "\n";
        }
        report.findings().into_iter().map(|it| finding(report.file, it) + "\n").collect()
    }

    fn end(&mut self, totals: &Totals) -> String {
        let command = |text: String| format!("::error title=interrupted::{}\n", data(&text));
        totals.interruption().map(command).unwrap_or_default()
    }
}

/// Escapes the message of a command, which follows the second pair of colons.
fn data(text: &str) -> String {
    escape_lines(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property of a command.
fn property(text: &str) -> String {
    data(&escape(text)).replace(':', "%3A").replace(',', "%2C")
}

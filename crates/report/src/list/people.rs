//! The report of a run for people.

use typeloom_onnx::text::escape;

use super::{Content, FileReport, ListRenderer, ListedFiles, Style, Totals, aligned};
use crate::concise::{closing, summary};
use crate::finding::differences;
use crate::human::diagnostics;

/// The report of a run: the problems of each file, and a summary.
pub(super) struct List {
    style: Style,
}

impl List {
    pub(super) fn new(style: Style) -> Self {
        Self { style }
    }
}

impl ListRenderer for List {
    fn file(&mut self, report: &FileReport<'_>) -> String {
        let text = match &report.content {
            Content::Checked(checked) => {
                let mut text = diagnostics(report.file, checked.listed(), self.style.color);
                if !(text.is_empty() || checked.differences().is_empty()) {
                    text.push('\n');
                }
                text.push_str(&differences(checked.differences()));
                if !text.is_empty() {
                    text.push('\n');
                }
                text
            }
            Content::Compared(compared) => differences(compared.differences),
            Content::Unusable { .. } => String::new(),
        };
        text + &summary(report, self.style.files)
    }

    fn end(&mut self, totals: &Totals) -> String {
        table(totals, self.style.files) + &closing(totals, self.style.files)
    }
}

/// The verdicts of targets about several models, aligned. A list of models with findings has none.
fn table(totals: &Totals, files: ListedFiles) -> String {
    let Some(rows) = totals.targets.rows().filter(|_| totals.files > 1 && files == ListedFiles::All) else {
        return String::new();
    };
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| escape(cell).into_owned()).collect()).collect();
    format!("\n{}\n", aligned(&rows))
}

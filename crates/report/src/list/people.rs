//! The report of a run for people.

use super::{Content, FileReport, ListRenderer, Style, Totals};
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
        closing(totals, self.style.files)
    }
}

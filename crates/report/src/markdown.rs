//! A page of Markdown, for the summary of a job.
//!
//! A table has one row for each finding, with the explanation in a section that can be unfolded. Files
//! without findings are counted in the last line only, unless targets are named: a second table has the
//! verdicts about all models.

use typeloom_onnx::text::{escape, escape_lines};

use crate::finding::Finding;
use crate::list::{Content, FileReport, ListRenderer, Totals};

/// The head of the table.
const HEAD: &str = "| | file | location | code | problem |\n|---|---|---|---|---|\n";

/// The report of a run.
pub(crate) struct List {
    has_table: bool,
}

impl List {
    pub(crate) fn new() -> Self {
        Self { has_table: false }
    }

    fn row(&mut self, cells: [&str; 5]) -> String {
        let head = if self.has_table { "" } else { HEAD };
        self.has_table = true;
        format!("{head}| {} |\n", cells.join(" | "))
    }
}

impl ListRenderer for List {
    fn begin(&mut self) -> String {
        "## typeloom\n\n".to_owned()
    }

    fn file(&mut self, report: &FileReport<'_>) -> String {
        let file = code(report.file);
        if let Content::Unusable { error } = &report.content {
            return self.row(["error", &file, "", "", &prose(error)]);
        }
        let mut text = String::new();
        for finding in report.findings() {
            let (at, rule) = (code(&finding.at()), code(finding.code()));
            let problem = format!("{}{}", prose(finding.message()), details(finding));
            text.push_str(&self.row([finding.severity().name(), &file, &at, &rule, &problem]));
        }
        text
    }

    fn end(&mut self, totals: &Totals) -> String {
        let gap = if self.has_table { "\n" } else { "" };
        let rows = totals.statistics();
        let mut table: String = rows.iter().map(|row| format!("| {} |\n", row.join(" | "))).collect();
        if !table.is_empty() {
            table = format!("| problems | code | severity | |\n|---:|---|---|---|\n{table}\n");
        }
        format!("{gap}{}{table}**{}**\n", targets(totals), totals.summary())
    }
}

/// The verdicts of targets.
fn targets(totals: &Totals) -> String {
    let Some(rows) = totals.targets.rows() else { return String::new() };
    let mut text = String::new();
    for (at, row) in rows.iter().enumerate() {
        // The first row has the names of targets, the first column those of files.
        let is_name = |column: usize| (at == 0) != (column == 0);
        let cells = row.iter().enumerate();
        let cells = cells.map(|(column, cell)| if is_name(column) { code(cell) } else { prose(cell) });
        text.push_str(&format!("| {} |\n", cells.collect::<Vec<_>>().join(" | ")));
        if at == 0 {
            text.push_str(&format!("|{}\n", "---|".repeat(row.len())));
        }
    }
    text + "\n"
}

/// The explanation of a finding in a cell of a table, folded.
fn details(finding: Finding<'_>) -> String {
    let lines = finding.details();
    if lines.is_empty() {
        return String::new();
    }
    let text = html(&escape_lines(&lines.join("\n"))).replace('\n', "<br>").replace("  ", "&nbsp; ");
    format!("<details><summary>explanation</summary>{text}</details>")
}

/// A name in a cell.
fn code(name: &str) -> String {
    format!("<code>{}</code>", html(&escape(name)))
}

/// A sentence in a cell, in which names are in backticks.
fn prose(text: &str) -> String {
    let text = escape(text);
    let mut out = String::with_capacity(text.len());
    for (at, part) in text.split('`').enumerate() {
        // The last part is not in backticks if their number is odd.
        let is_name = at % 2 == 1 && text.matches('`').count() > at;
        out.push_str(if at % 2 == 1 && !is_name { "&#96;" } else { "" });
        out.push_str(&if is_name { format!("<code>{}</code>", html(part)) } else { html(part) });
    }
    out
}

/// Escapes a text, so that Markdown and HTML show it as it is.
fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // The letters that Markdown, or GitHub's dialect of it, gives a meaning.
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '~' | '#' | '@' | '!' | '$' | ':' => {
                out.push_str(&format!("&#{};", c as u32));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_cell() {
        assert_eq!(code("a|b\n<i>"), "<code>a&#124;b&#92;u{a}&lt;i&gt;</code>");
        assert_eq!(prose("`x*` is *not* `y`"), "<code>x&#42;</code> is &#42;not&#42; <code>y</code>");
        assert_eq!(prose("an odd ` mark"), "an odd &#96; mark");
    }
}

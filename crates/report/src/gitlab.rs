//! A report of GitLab Code Quality, for the widget of merge requests.
//!
//! Source: "Code Quality report format" of GitLab's documentation: a JSON array of objects with
//! `description`, `check_name`, `fingerprint`, `severity` and `location`. A model has no lines, so each
//! location is line 1. GitLab compares reports by fingerprint, so one contains the file, the problem without
//! its position, and the number of the equal problems before it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use typeloom_onnx::text::escape_json;
use typeloom_settings::fingerprint::Fingerprint;
use typeloom_solver::diagnostic::Severity;

use crate::finding::Finding;
use crate::list::{Content, FileReport, ListRenderer, Totals};

/// The report of a run.
#[derive(Default)]
pub(crate) struct List {
    has_entries: bool,
}

impl List {
    fn entry(&mut self, entry: &Value) -> String {
        let comma = if std::mem::replace(&mut self.has_entries, true) { "," } else { "" };
        format!("{comma}\n  {}", escape_json(&entry.to_string()))
    }
}

impl ListRenderer for List {
    fn begin(&mut self) -> String {
        "[".to_owned()
    }

    fn file(&mut self, report: &FileReport<'_>) -> String {
        if let Content::Unusable { error } = &report.content {
            let fingerprint = Fingerprint::of_parts([report.file, "unusable-file"]);
            return self.entry(&entry(report.file, "unusable-file", "critical", error, fingerprint));
        }
        let mut before: BTreeMap<String, usize> = BTreeMap::new();
        let mut text = String::new();
        for finding in report.findings() {
            let own = finding.fingerprint().to_string();
            let equal = before.entry(own.clone()).or_default();
            let fingerprint = Fingerprint::of_parts([report.file, &own, &equal.to_string()]);
            *equal += 1;
            text.push_str(&self.entry(&of_finding(report.file, finding, fingerprint)));
        }
        text
    }

    fn end(&mut self, totals: &Totals) -> String {
        let interrupted = totals.interruption().map(|text| {
            let fingerprint = Fingerprint::of_parts(["interrupted"]);
            self.entry(&entry(".", "interrupted", "critical", &text, fingerprint))
        });
        let gap = if self.has_entries { "\n" } else { "" };
        format!("{}{gap}]\n", interrupted.unwrap_or_default())
    }
}

fn of_finding(file: &str, finding: Finding<'_>, fingerprint: Fingerprint) -> Value {
    let severity = match finding.severity() {
        Severity::Error => "major",
        Severity::Warning => "minor",
    };
    let text = format!("{}: {}", finding.at(), finding.message());
    entry(file, finding.code(), severity, &text, fingerprint)
}

fn entry(file: &str, name: &str, severity: &str, text: &str, fingerprint: Fingerprint) -> Value {
    json!({
        "description": text,
        "check_name": name,
        "fingerprint": fingerprint.to_string(),
        "severity": severity,
        // GitLab compares the path with those of the repository.
        "location": {"path": file.strip_prefix("./").unwrap_or(file), "lines": {"begin": 1}},
    })
}

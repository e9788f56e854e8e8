//! Workflow commands of GitHub Actions: `::error file=model.onnx,title=...::...`.
//!
//! Source: "Workflow commands for GitHub Actions", setting an error message. A command is one line, so
//! line breaks, percent signs and, in properties, colons and commas are escaped.

use typeloom_onnx::text::{escape, escape_lines};
use typeloom_solver::diagnostic::{Diagnostic, Severity, Snippet};

/// One problem of a file as a command, without line break.
#[must_use]
pub fn diagnostic(file: &str, diagnostic: &Diagnostic) -> String {
    let Diagnostic {
        code,
        severity,
        message,
        location,
        also: _,
        value: _,
        snippets,
        notes,
        help,
        fix: _,
        source,
    } = diagnostic;
    let command = match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut lines = vec![message.clone()];
    let location = location.to_string();
    if !location.is_empty() {
        lines.push(format!("at {location}"));
    }
    for Snippet { text, labels, .. } in snippets {
        lines.push(format!("  {text}"));
        let labels = labels.iter().filter(|label| !label.text.is_empty());
        lines.extend(labels.map(|label| {
            let part = text.get(label.span.clone()).unwrap_or_default();
            format!("    {part}: {}", label.text)
        }));
    }
    lines.extend(notes.iter().map(|note| format!("note: {note}")));
    lines.extend(help.iter().map(|help| format!("help: {help}")));
    lines.extend(source.iter().map(|source| format!("from {source}")));
    format!(
        "::{command} file={},title={}::{}",
        property(file),
        property(code.name()),
        data(&lines.join("\n"))
    )
}

/// The part of a command behind the second pair of colons.
fn data(text: &str) -> String {
    escape_lines(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property of a command.
fn property(text: &str) -> String {
    data(&escape(text)).replace(':', "%3A").replace(',', "%2C")
}

//! Workflow commands of GitHub Actions: `::error file=model.onnx,title=...::...`.
//!
//! Source: "Workflow commands for GitHub Actions", setting an error message. A command is one line, so
//! line breaks, percent signs and, in properties, colons and commas are escaped.

use typeloom_onnx::text::{escape, escape_lines};
use typeloom_solver::diagnostic::Diagnostic;

/// One problem of a file as a command, without line break.
#[must_use]
pub fn diagnostic(file: &str, diagnostic: &Diagnostic) -> String {
    let mut lines = vec![diagnostic.message.clone()];
    let location = diagnostic.location.to_string();
    if !location.is_empty() {
        lines.push(format!("at {location}"));
    }
    for snippet in &diagnostic.snippets {
        lines.push(format!("  {}", snippet.text));
        lines.extend(snippet.labelled().map(|(part, label)| format!("    {part}: {label}")));
    }
    lines.extend(diagnostic.notes.iter().map(|note| format!("note: {note}")));
    lines.extend(diagnostic.help.iter().map(|help| format!("help: {help}")));
    lines.extend(diagnostic.source.iter().map(|source| format!("from {source}")));
    format!(
        "::{} file={},title={}::{}",
        diagnostic.severity,
        property(file),
        property(diagnostic.code.name()),
        data(&lines.join("\n"))
    )
}

/// Escapes the message of a command, which follows the second pair of colons.
fn data(text: &str) -> String {
    escape_lines(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property of a command.
fn property(text: &str) -> String {
    data(&escape(text)).replace(':', "%3A").replace(',', "%2C")
}

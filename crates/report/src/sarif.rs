//! A SARIF 2.1.0 document for code scanning.
//!
//! Source: OASIS "Static Analysis Results Interchange Format (SARIF) Version 2.1.0". A model is a binary
//! file, so the location of a result is *logical*: the node or value, with its graph and function. A line of
//! the program that exported the model is a related, physical location.
//!
//! The results precede the description of the tool. So the document can be written file by file, and the
//! description lists only the rules of these results. A file that cannot be read is reported by a
//! notification of the invocation.

use serde_json::{Value, json};
use typeloom_onnx::text::escape_json;
use typeloom_settings::fingerprint::{Fingerprint, VERSION};
use typeloom_solver::diagnostic::{Diagnostic, Location};

use crate::finding::{Difference, Finding, Rule, pascal};
use crate::list::{Checked, Content, FileReport, ListRenderer, PathStyle, Totals};

/// The address of the documentation.
const DOCUMENTATION: &str = "https://docs.rs/typeloom";

/// Returns a document of the problems in several files. It ends in a line break.
#[must_use]
pub fn document<'d>(files: impl IntoIterator<Item = (&'d str, &'d [Diagnostic])>) -> String {
    let mut list = List::new(PathStyle::Unix);
    let mut totals = Totals::default();
    let mut text = list.begin();
    for (file, diagnostics) in files {
        let checked = Checked { diagnostics, shown: diagnostics.len(), ..Checked::default() };
        let report = FileReport { file, content: Content::Checked(checked) };
        totals.add(&report);
        text.push_str(&list.file(&report));
    }
    text + &list.end(&totals)
}

/// A document that is written file by file.
pub(crate) struct List {
    paths: PathStyle,
    /// The rules of the results, in the order of their first use.
    rules: Vec<Rule>,
    notifications: Vec<Value>,
    has_results: bool,
}

impl List {
    pub(crate) fn new(paths: PathStyle) -> Self {
        Self { paths, rules: Vec::new(), notifications: Vec::new(), has_results: false }
    }

    fn result(&mut self, file: &str, finding: Finding<'_>) -> Value {
        let rule = finding.rule();
        let index = self.rules.iter().position(|known| known.name == rule.name).unwrap_or_else(|| {
            self.rules.push(rule);
            self.rules.len() - 1
        });
        let mut result = match finding {
            Finding::Problem(diagnostic) => of_problem(file, diagnostic, self.paths),
            Finding::Difference(difference) => of_difference(file, difference, self.paths),
        };
        result["ruleId"] = json!(finding.code());
        result["ruleIndex"] = json!(index);
        result["level"] = json!(finding.severity().name());
        let fingerprint: Fingerprint = finding.fingerprint();
        result["partialFingerprints"] = json!({format!("typeloom/v{VERSION}"): fingerprint.to_string()});
        result
    }
}

impl ListRenderer for List {
    fn begin(&mut self) -> String {
        "{\n  \"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\",\n  \"version\": \"2.1.0\",\n  \"runs\": [\n    {\n      \
         \"columnKind\": \"unicodeCodePoints\",\n      \"results\": ["
            .to_owned()
    }

    fn file(&mut self, report: &FileReport<'_>) -> String {
        if let Content::Unusable { error } = &report.content {
            let uri = uri(report.file, self.paths);
            self.notifications.push(json!({
                "level": "error",
                "message": {"text": error},
                "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri}}}],
            }));
        }
        let mut text = String::new();
        for finding in report.findings() {
            let result = self.result(report.file, finding);
            text.push_str(if self.has_results { ",\n        " } else { "\n        " });
            text.push_str(&indented(&result, "        "));
            self.has_results = true;
        }
        text
    }

    fn end(&mut self, totals: &Totals) -> String {
        if let Some(text) = totals.interruption() {
            self.notifications.push(json!({"level": "error", "message": {"text": text}}));
        }
        let tool = json!({"driver": {
            "name": "typeloom",
            "version": env!("CARGO_PKG_VERSION"),
            "informationUri": DOCUMENTATION,
            "rules": self.rules.iter().map(rule).collect::<Vec<Value>>(),
        }});
        let mut invocation = json!({"executionSuccessful": self.notifications.is_empty()});
        if !self.notifications.is_empty() {
            invocation["toolExecutionNotifications"] = Value::Array(std::mem::take(&mut self.notifications));
        }
        let close = if self.has_results { "\n      ]" } else { "]" };
        let [tool, invocations] = [tool, json!([invocation])].map(|part| indented(&part, "      "));
        format!("{close},\n      \"tool\": {tool},\n      \"invocations\": {invocations}\n    }}\n  ]\n}}\n")
    }
}

/// Formats a value on several lines. All lines except the first are indented.
fn indented(value: &Value, indent: &str) -> String {
    // Line breaks inside of strings are escaped, so they are not replaced.
    escape_json(&format!("{value:#}")).replace('\n', &format!("\n{indent}"))
}

fn rule(rule: &Rule) -> Value {
    let Rule { name, summary, page, uri, severity } = rule;
    let mut object = json!({
        "id": name,
        "name": pascal(name),
        "shortDescription": {"text": summary},
        "helpUri": uri,
        "defaultConfiguration": {"level": severity.name()},
    });
    if let Some(page) = page {
        object["help"] = json!({"text": page, "markdown": page});
    }
    object
}

fn of_problem(file: &str, diagnostic: &Diagnostic, paths: PathStyle) -> Value {
    let lines: Vec<&str> = std::iter::once(&diagnostic.message)
        .chain(&diagnostic.notes)
        .chain(&diagnostic.help)
        .map(String::as_str)
        .collect();
    let mut location = described(file, &diagnostic.location, paths);
    if let Some(offset) = diagnostic.location.offset {
        location["physicalLocation"]["region"] = json!({"byteOffset": offset, "byteLength": 0});
    }
    let mut related: Vec<Value> = Vec::new();
    for snippet in &diagnostic.snippets {
        let labels = snippet.labelled().map(|(part, label)| format!("{part}: {label}"));
        let lines: Vec<String> = std::iter::once(snippet.text.clone()).chain(labels).collect();
        let mut location = described(file, snippet.location.as_ref().unwrap_or(&diagnostic.location), paths);
        location["id"] = json!(related.len());
        location["message"] = json!({"text": lines.join("\n")});
        related.push(location);
    }
    if let Some(source) = &diagnostic.source {
        related.push(json!({
            "id": related.len(),
            "physicalLocation": {
                "artifactLocation": {"uri": uri(&source.file, paths)},
                "region": {"startLine": source.line.max(1)},
            },
            "message": {"text": "the line that the node comes from"},
        }));
    }
    let mut result = json!({
        "ruleId": Value::Null,
        "ruleIndex": Value::Null,
        "level": Value::Null,
        "message": {"text": lines.join("\n")},
        "locations": [location],
    });
    if !related.is_empty() {
        result["relatedLocations"] = Value::Array(related);
    }
    result
}

fn of_difference(file: &str, difference: &Difference, paths: PathStyle) -> Value {
    let at = Finding::Difference(difference).at();
    json!({
        "ruleId": Value::Null,
        "ruleIndex": Value::Null,
        "level": Value::Null,
        "message": {"text": format!("{at}: {}", difference.message)},
        "locations": [{
            "physicalLocation": {"artifactLocation": {"uri": uri(file, paths)}},
            "logicalLocations": [{"name": at, "kind": "parameter"}],
        }],
    })
}

/// A SARIF location: the file, and the node or value of the model.
fn described(file: &str, location: &Location, paths: PathStyle) -> Value {
    let mut described = json!({"physicalLocation": {"artifactLocation": {"uri": uri(file, paths)}}});
    if let Some(logical) = logical(location) {
        described["logicalLocations"] = json!([logical]);
    }
    described
}

fn logical(location: &Location) -> Option<Value> {
    let Location { function, graph, node, value, offset: _, subjects: _ } = location;
    let (name, kind) = match (node, value) {
        (Some(node), _) if node.name.is_empty() => (format!("#{} {}", node.index, node.operator), "element"),
        (Some(node), _) => (node.name.clone(), "element"),
        (None, Some(value)) => (value.name.clone(), "variable"),
        (None, None) => return None,
    };
    let path = match node {
        Some(node) => {
            format!("{}{graph}/{}:{}", function.as_deref().unwrap_or_default(), node.index, node.operator)
        }
        None => format!("{}{graph}/{name}", function.as_deref().unwrap_or_default()),
    };
    Some(json!({"name": name, "fullyQualifiedName": path, "kind": kind}))
}

/// A path as a URI. The URI of a relative path is relative.
fn uri(path: &str, style: PathStyle) -> String {
    let (path, has_drive) = match style {
        PathStyle::Unix => (path.to_owned(), false),
        PathStyle::Windows => {
            let path = path.replace('\\', "/");
            let mut start = path.bytes();
            let has_drive =
                start.next().is_some_and(|letter| letter.is_ascii_alphabetic()) && start.next() == Some(b':');
            (path, has_drive)
        }
    };
    let mut uri = match path.strip_prefix("//") {
        // A server: `//server/share/model.onnx`.
        Some(_) if style == PathStyle::Windows => "file:".to_owned(),
        _ if has_drive => "file:///".to_owned(),
        _ if path.starts_with('/') => "file://".to_owned(),
        _ => String::new(),
    };
    for (at, byte) in path.bytes().enumerate() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b'+' | b'@' => {
                uri.push(char::from(byte));
            }
            b':' if has_drive && at == 1 => uri.push(':'),
            // This includes other colons: in the first segment, a colon would end the scheme of a URI.
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_uris_on_both_kinds_of_systems() {
        for (style, path, expected) in [
            (PathStyle::Unix, "my models/a:b.onnx", "my%20models/a%3Ab.onnx"),
            (PathStyle::Unix, "a\\b.onnx", "a%5Cb.onnx"),
            (PathStyle::Unix, "/data/m.onnx", "file:///data/m.onnx"),
            (PathStyle::Unix, "C:/m.onnx", "C%3A/m.onnx"),
            (PathStyle::Windows, "models\\é.onnx", "models/%C3%A9.onnx"),
            (PathStyle::Windows, "C:\\my models\\m.onnx", "file:///C:/my%20models/m.onnx"),
            (PathStyle::Windows, "\\\\server\\share\\m.onnx", "file://server/share/m.onnx"),
            (PathStyle::Windows, "a\\b:c.onnx", "a/b%3Ac.onnx"),
        ] {
            assert_eq!(uri(path, style), expected, "{path}");
        }
    }

    #[test]
    fn a_document_without_findings_is_short() {
        let document = document([("m.onnx", &[][..])]);
        assert!(document.len() < 2048, "{document}");
        let value: Value = serde_json::from_str(&document).unwrap();
        assert_eq!(value["runs"][0]["results"], json!([]));
        assert_eq!(value["runs"][0]["tool"]["driver"]["rules"], json!([]));
    }
}

//! A SARIF 2.1.0 document for code scanning.
//!
//! Source: OASIS "Static Analysis Results Interchange Format (SARIF) Version 2.1.0". A model is a binary
//! file, so a result's place is a *logical* location: the node or value, with the graph and function it
//! is in. A line of the author's program is a related, physical location.

use serde_json::{Value, json};
use typeloom_solver::diagnostic::{Code, Diagnostic, Location, Severity};

/// The problems of several files as one document, ending in a line break.
#[must_use]
pub fn document<'d>(files: impl IntoIterator<Item = (&'d str, &'d [Diagnostic])>) -> String {
    let results: Vec<Value> = files
        .into_iter()
        .flat_map(|(file, diagnostics)| diagnostics.iter().map(move |diagnostic| result(file, diagnostic)))
        .collect();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "typeloom",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": Code::ALL.iter().copied().map(rule).collect::<Vec<Value>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    crate::json::escaped(&format!("{document:#}\n"))
}

fn rule(code: Code) -> Value {
    json!({
        "id": code.name(),
        "name": code.name().split('-').map(capitalized).collect::<String>(),
        "shortDescription": {"text": code.summary()},
        "help": {"text": code.page(), "markdown": code.page()},
        "defaultConfiguration": {"level": level(code.severity())},
    })
}

fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn result(file: &str, diagnostic: &Diagnostic) -> Value {
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
    let mut text = message.clone();
    for line in notes.iter().chain(help) {
        text.push('\n');
        text.push_str(line);
    }
    let mut physical = json!({"artifactLocation": {"uri": uri(file)}});
    if let Some(offset) = location.offset {
        physical["region"] = json!({"byteOffset": offset, "byteLength": 0});
    }
    let mut described = json!({"physicalLocation": physical});
    if let Some(logical) = logical(location) {
        described["logicalLocations"] = json!([logical]);
    }
    let mut related: Vec<Value> = Vec::new();
    for (at, snippet) in snippets.iter().enumerate() {
        let location = snippet.location.as_ref().unwrap_or(location);
        let labels: Vec<String> = snippet
            .labels
            .iter()
            .filter(|label| !label.text.is_empty())
            .map(|label| {
                format!("{}: {}", snippet.text.get(label.span.clone()).unwrap_or_default(), label.text)
            })
            .collect();
        let words = std::iter::once(snippet.text.clone()).chain(labels).collect::<Vec<_>>().join("\n");
        let mut described = json!({
            "id": at,
            "physicalLocation": {"artifactLocation": {"uri": uri(file)}},
            "message": {"text": words},
        });
        if let Some(logical) = logical(location) {
            described["logicalLocations"] = json!([logical]);
        }
        related.push(described);
    }
    if let Some(source) = source {
        related.push(json!({
            "id": related.len(),
            "physicalLocation": {
                "artifactLocation": {"uri": uri(&source.file)},
                "region": {"startLine": source.line.max(1)},
            },
            "message": {"text": "the line that the node comes from"},
        }));
    }
    let rule_index = Code::ALL.iter().position(|other| other == code);
    let mut result = json!({
        "ruleId": code.name(),
        "ruleIndex": rule_index,
        "level": level(*severity),
        "message": {"text": text},
        "locations": [described],
    });
    if !related.is_empty() {
        result["relatedLocations"] = Value::Array(related);
    }
    result
}

fn logical(location: &Location) -> Option<Value> {
    let Location { function, graph, node, value, offset: _ } = location;
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

/// A path as a relative or absolute URI reference.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.replace('\\', "/").bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b'+' | b'@' => {
                uri.push(char::from(byte));
            }
            // A colon in the first segment would make it a scheme.
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

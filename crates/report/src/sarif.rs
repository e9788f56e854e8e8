//! A SARIF 2.1.0 document for code scanning.
//!
//! Source: OASIS "Static Analysis Results Interchange Format (SARIF) Version 2.1.0". A model is a binary
//! file, so the location of a result is *logical*: the node or value, with its graph and function. A line of
//! the program that exported the model is a related, physical location.

use serde_json::{Value, json};
use typeloom_solver::diagnostic::{Code, Diagnostic, Location};

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
        "defaultConfiguration": {"level": code.severity().name()},
    })
}

fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn result(file: &str, diagnostic: &Diagnostic) -> Value {
    let lines: Vec<&str> = std::iter::once(&diagnostic.message)
        .chain(&diagnostic.notes)
        .chain(&diagnostic.help)
        .map(String::as_str)
        .collect();
    let mut location = described(file, &diagnostic.location);
    if let Some(offset) = diagnostic.location.offset {
        location["physicalLocation"]["region"] = json!({"byteOffset": offset, "byteLength": 0});
    }
    let mut related: Vec<Value> = Vec::new();
    for snippet in &diagnostic.snippets {
        let labels = snippet.labelled().map(|(part, label)| format!("{part}: {label}"));
        let lines: Vec<String> = std::iter::once(snippet.text.clone()).chain(labels).collect();
        let mut location = described(file, snippet.location.as_ref().unwrap_or(&diagnostic.location));
        location["id"] = json!(related.len());
        location["message"] = json!({"text": lines.join("\n")});
        related.push(location);
    }
    if let Some(source) = &diagnostic.source {
        related.push(json!({
            "id": related.len(),
            "physicalLocation": {
                "artifactLocation": {"uri": uri(&source.file)},
                "region": {"startLine": source.line.max(1)},
            },
            "message": {"text": "the line that the node comes from"},
        }));
    }
    let mut result = json!({
        "ruleId": diagnostic.code.name(),
        "ruleIndex": Code::ALL.iter().position(|other| *other == diagnostic.code),
        "level": diagnostic.severity.name(),
        "message": {"text": lines.join("\n")},
        "locations": [location],
    });
    if !related.is_empty() {
        result["relatedLocations"] = Value::Array(related);
    }
    result
}

/// A location in a file, with the part of the model.
fn described(file: &str, location: &Location) -> Value {
    let mut described = json!({"physicalLocation": {"artifactLocation": {"uri": uri(file)}}});
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

//! One JSON object for each problem.
//!
//! ```json
//! {"file":"model.onnx","code":"element-type-mismatch","severity":"error","message":"..",
//!  "place":{"graph":"","node":{"index":17,"name":"/attn/Add_3","operator":"Add"}},
//!  "snippets":[{"text":"scores = Add(x, mask)","line":17,
//!               "labels":[{"start":16,"end":20,"text":"int64, ..","primary":true}]}],
//!  "notes":[".."],"help":"..","fix":{"kind":"insert-cast","input":1,"value":"mask","to":"float"},
//!  "source":{"file":"model.py","line":91,"function":"forward","text":".."}}
//! ```
//!
//! Missing parts are omitted. Spans count bytes of the snippet's text in UTF-8.

use serde_json::{Map, Value, json};
use typeloom_onnx::text::is_unsafe;
use typeloom_solver::diagnostic::{
    Diagnostic, Explanation, Fix, Label, Location, NodeLocation, Reader, Reason, Role, Snippet, SourceLine,
    ValueLocation,
};

/// A value as JSON on one line, in which each [unsafe](is_unsafe) character is written as `\\uXXXX`.
#[must_use]
pub fn text(value: &Value) -> String {
    escaped(&value.to_string())
}

/// An object about a file, on one line that ends in a line break.
#[must_use]
pub fn line(file: &str, fields: Map<String, Value>) -> String {
    let mut object = Map::new();
    object.insert("file".to_owned(), json!(file));
    object.extend(fields);
    text(&Value::Object(object)) + "\n"
}

/// The problems of a file.
#[must_use]
pub fn values(file: &str, diagnostics: &[Diagnostic]) -> Value {
    diagnostics.iter().map(|diagnostic| value(file, diagnostic)).collect()
}

/// Escapes unsafe characters of a JSON text. They occur in strings only, apart from the line breaks of the layout.
pub(crate) fn escaped(json: &str) -> String {
    let unsafe_in_json = |c: char| is_unsafe(c) && c != '\n';
    if !json.contains(unsafe_in_json) {
        return json.to_owned();
    }
    let mut text = String::with_capacity(json.len() + 8);
    for c in json.chars() {
        if unsafe_in_json(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            text.push(c);
        }
    }
    text
}

/// One problem of a file as a line, without line break.
#[must_use]
pub fn diagnostic(file: &str, diagnostic: &Diagnostic) -> String {
    text(&value(file, diagnostic))
}

/// One problem of a file.
#[must_use]
pub fn value(file: &str, diagnostic: &Diagnostic) -> Value {
    let Diagnostic { code, severity, message, location, value: _, also, snippets, notes, help, fix, source } =
        diagnostic;
    object([
        ("file", Some(json!(file))),
        ("code", Some(json!(code.name()))),
        ("severity", Some(json!(severity.name()))),
        ("message", Some(json!(message))),
        ("place", Some(self::location(location))),
        ("also", (!also.is_empty()).then(|| also.iter().map(self::location).collect())),
        ("snippets", Some(snippets.iter().map(snippet).collect())),
        ("notes", Some(json!(notes))),
        ("help", help.as_ref().map(|help| json!(help))),
        ("fix", fix.as_ref().map(self::fix)),
        ("source", source.as_ref().map(self::source)),
    ])
}

/// The explanation of a value's type as JSON.
#[must_use]
pub fn explanation(file: &str, explanation: &Explanation) -> Value {
    let Explanation { value, location, ty, reasons, hidden, extents } = explanation;
    let reason = |reason: &Reason| {
        let Reason { text, location, rule, snippet, source } = reason;
        object([
            ("text", Some(json!(text))),
            ("place", Some(self::location(location))),
            ("rule", (!rule.is_empty()).then(|| json!(rule))),
            ("snippet", snippet.as_ref().map(self::snippet)),
            ("source", source.as_ref().map(self::source)),
        ])
    };
    object([
        ("file", Some(json!(file))),
        ("value", Some(json!(value))),
        ("type", Some(json!(ty))),
        ("place", Some(self::location(location))),
        ("reasons", Some(reasons.iter().map(reason).collect())),
        ("hidden", (*hidden > 0).then(|| json!(hidden))),
        ("extents", (!extents.is_empty()).then(|| json!(extents))),
    ])
}

fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let fields = fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(fields.collect::<Map<String, Value>>())
}

fn location(location: &Location) -> Value {
    let Location { function, graph, node, value, offset } = location;
    object([
        ("function", function.as_ref().map(|function| json!(function))),
        ("graph", Some(json!(graph.to_string()))),
        (
            "node",
            node.as_ref().map(|NodeLocation { index, name, operator }| {
                json!({"index": index, "name": name, "operator": operator})
            }),
        ),
        (
            "value",
            value.as_ref().map(|ValueLocation { name, role }| json!({"name": name, "role": self::role(*role)})),
        ),
        ("offset", offset.map(|offset| json!(offset))),
    ])
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Input => "input",
        Role::Initializer => "initializer",
        Role::Output => "output",
        Role::Value => "value",
    }
}

fn snippet(snippet: &Snippet) -> Value {
    let Snippet { text, line, location, labels } = snippet;
    let label = |Label { span, text, primary }: &Label| json!({"start": span.start, "end": span.end, "text": text, "primary": primary});
    object([
        ("text", Some(json!(text))),
        ("line", line.map(|line| json!(line))),
        ("place", location.as_ref().map(self::location)),
        ("labels", Some(labels.iter().map(label).collect())),
    ])
}

fn source(source: &SourceLine) -> Value {
    let SourceLine { file, line, function, text } = source;
    json!({"file": file, "line": line, "function": function, "text": text})
}

fn fix(fix: &Fix) -> Value {
    match fix {
        Fix::InsertCast { input, value, to, readers } => {
            let reader = |Reader { location, input }: &Reader| json!({"place": self::location(location), "input": input});
            object([
                ("kind", Some(json!("insert-cast"))),
                ("input", Some(json!(input))),
                ("value", Some(json!(value))),
                ("to", Some(json!(to))),
                ("readers", (!readers.is_empty()).then(|| readers.iter().map(reader).collect())),
            ])
        }
        Fix::RenameInput { input, to } => json!({"kind": "rename-input", "input": input, "to": to}),
        Fix::RenameOperator { to } => json!({"kind": "rename-operator", "to": to}),
        Fix::RenameAttribute { from, to } => json!({"kind": "rename-attribute", "from": from, "to": to}),
        Fix::RemoveAttribute { name } => json!({"kind": "remove-attribute", "name": name}),
        Fix::SortNodes => json!({"kind": "sort-nodes"}),
        Fix::DropShapes => json!({"kind": "drop-shapes"}),
        Fix::DropDims => json!({"kind": "drop-dims"}),
        Fix::RenameDims => json!({"kind": "rename-dims"}),
        Fix::ImportOpset { domain, version } => {
            json!({"kind": "import-opset", "domain": domain, "version": version})
        }
        Fix::RenameOutput { from, to } => json!({"kind": "rename-output", "from": from, "to": to}),
    }
}

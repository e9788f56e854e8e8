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

use serde::Serialize;
use serde_json::{Map, Value, json};
use typeloom_onnx::text::is_unsafe;
use typeloom_solver::diagnostic::{Diagnostic, Explanation};

/// A value as JSON on one line, in which each [unsafe](is_unsafe) character is written as `\\uXXXX`.
#[must_use]
pub fn text(value: &Value) -> String {
    escaped(&value.to_string())
}

/// An object about a file, on one line that ends in a line break.
#[must_use]
pub fn line(file: &str, fields: Map<String, Value>) -> String {
    text(&json!(InFile { file, object: fields })) + "\n"
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
    json!(InFile { file, object: diagnostic })
}

/// The explanation of a value's type as JSON.
#[must_use]
pub fn explanation(file: &str, explanation: &Explanation) -> Value {
    json!(InFile { file, object: explanation })
}

/// An object about a file.
#[derive(Serialize)]
struct InFile<'a, T> {
    file: &'a str,
    #[serde(flatten)]
    object: T,
}

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
//!
//! The report of a run has one record for each file, also for clean and unusable ones.
//! `docs/check.schema.json` is its JSON Schema:
//!
//! ```json
//! {"version":1,"file":"model.onnx","status":"errors","errors":1,"warnings":0,"known":0,"hidden":0,
//!  "coverage":{"values":64,"typed":60,..},"diagnostics":[..]}
//! ```

use serde::Serialize;
use serde_json::{Map, Value, json};
use typeloom_onnx::text::escape_json;
use typeloom_settings::fingerprint::Fingerprint;
use typeloom_solver::diagnostic::{Diagnostic, Explanation};
use typeloom_solver::model::Coverage;

use crate::list::{Content, FileReport, ListRenderer};

/// The version of the records.
const VERSION: u32 = 1;

/// A value as JSON on one line, in which each [unsafe](typeloom_onnx::text::is_unsafe) character is an escape
/// of hexadecimal digits.
#[must_use]
pub fn text(value: &Value) -> String {
    escape_json(&value.to_string()).into_owned()
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

/// The report of a run: one record for each file, each on one line.
pub(crate) struct List;

impl ListRenderer for List {
    fn file(&mut self, report: &FileReport<'_>) -> String {
        text(&record(report)) + "\n"
    }
}

/// The record of one file.
#[must_use]
pub fn record(report: &FileReport<'_>) -> Value {
    let status = report.status().name();
    match &report.content {
        Content::Checked(checked) => {
            let (errors, warnings) = checked.counts();
            let Coverage { values, typed, unknown_extents, unknown_rank, assumed, open_conditions } =
                checked.coverage;
            let mut record = json!({
                "version": VERSION,
                "file": report.file,
                "status": status,
                "errors": errors,
                "warnings": warnings,
                "known": checked.known,
                "hidden": checked.diagnostics.len() - checked.listed().len(),
                "coverage": {
                    "values": values,
                    "typed": typed,
                    "unknown_extents": unknown_extents,
                    "unknown_rank": unknown_rank,
                    "assumed": assumed,
                    "open_conditions": open_conditions,
                },
            });
            if !checked.excepted.is_empty() {
                let codes =
                    checked.excepted.iter().map(|(code, count)| (code.name().to_owned(), json!(count)));
                record["allowed"] = Value::Object(codes.collect());
            }
            if !checked.unknown_exceptions.is_empty() {
                record["unknown_exceptions"] = json!(checked.unknown_exceptions);
            }
            if !checked.targets.is_empty() {
                let verdicts = checked.targets.iter();
                let verdicts =
                    verdicts.map(|verdict| (verdict.target.clone(), json!(verdict.outcome.name())));
                record["targets"] = Value::Object(verdicts.collect());
            }
            let placements: Map<String, Value> = checked
                .targets
                .iter()
                .filter_map(|it| Some((it.target.clone(), it.placement.as_ref()?.value())))
                .collect();
            if !placements.is_empty() {
                record["placements"] = Value::Object(placements);
            }
            if let Some(against) = &checked.against {
                record["against"] = against.object.clone();
            }
            let diagnostics = checked.listed().iter().map(|diagnostic| {
                let mut value = json!(diagnostic);
                value["fingerprint"] =
                    json!(Fingerprint::new(diagnostic.code, &diagnostic.location).to_string());
                value
            });
            record["diagnostics"] = diagnostics.collect();
            record
        }
        Content::Compared(compared) => {
            let mut record = Map::new();
            record.insert("version".to_owned(), json!(VERSION));
            record.extend(compared.object.clone());
            Value::Object(record)
        }
        Content::Unusable { error } => {
            json!({"version": VERSION, "file": report.file, "status": status, "error": error})
        }
    }
}

/// An object about a file.
#[derive(Serialize)]
struct InFile<'a, T> {
    file: &'a str,
    #[serde(flatten)]
    object: T,
}

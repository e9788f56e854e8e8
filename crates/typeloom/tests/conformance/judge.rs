//! Compares inferred types with recorded ones.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Grade of an answer, from best to worst.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Grade {
    /// Equal to the recorded answer, or more precise.
    Exact,
    /// No contradiction, but a shape is less precise than the recorded one.
    LessPrecise,
    /// A recorded element type or constructor is unknown.
    Untyped,
    /// Some part contradicts the recorded answer.
    Wrong,
    /// A well-typed model was rejected or could not be read.
    Rejected,
}

impl Grade {
    pub(crate) fn fails(self) -> bool {
        match self {
            Self::Exact | Self::LessPrecise => false,
            Self::Untyped | Self::Wrong | Self::Rejected => true,
        }
    }
}

pub(crate) struct Verdict {
    pub(crate) grade: Grade,
    pub(crate) reason: String,
}

impl Verdict {
    pub(crate) fn exact() -> Self {
        Self { grade: Grade::Exact, reason: String::new() }
    }

    pub(crate) fn wrong(reason: impl Into<String>) -> Self {
        Self { grade: Grade::Wrong, reason: reason.into() }
    }

    pub(crate) fn rejected(reason: impl Into<String>) -> Self {
        Self { grade: Grade::Rejected, reason: reason.into() }
    }

    fn note(&mut self, grade: Grade, reason: impl FnOnce() -> String) {
        if grade > self.grade {
            self.grade = grade;
            self.reason = reason();
        }
    }
}

/// Compares the answer for a whole model with that of the reference.
pub(crate) fn judge_inference(ours: &Map<String, Value>, expected: &Value) -> Verdict {
    let mut verdict = Verdict::exact();
    let mut symbols = BTreeMap::new();
    graph(&mut verdict, &mut symbols, ours, expected);
    let empty = Vec::new();
    let subs = ours.get("sub").and_then(Value::as_array).unwrap_or(&empty);
    for sub in expected["sub"].as_array().into_iter().flatten() {
        match subs.iter().find(|ours| ours["path"] == sub["path"]).and_then(Value::as_object) {
            Some(ours) => graph(&mut verdict, &mut symbols, ours, sub),
            None => verdict.note(Grade::Untyped, || format!("no graph at {}", sub["path"])),
        }
    }
    verdict
}

fn graph(
    verdict: &mut Verdict,
    symbols: &mut BTreeMap<String, Value>,
    ours: &Map<String, Value>,
    expected: &Value,
) {
    for list in ["inputs", "value_info", "outputs"] {
        for (name, expected) in expected[list].as_object().into_iter().flatten() {
            let found =
                ["inputs", "value_info", "outputs"].iter().find_map(|list| ours.get(*list)?.get(name));
            ty(verdict, symbols, name, found.unwrap_or(&Value::Null), expected);
        }
    }
}

/// Compares the types of the outputs with those of the recorded values.
pub(crate) fn judge_outputs(ours: &Map<String, Value>, actual: &Map<String, Value>) -> Verdict {
    let mut verdict = Verdict::exact();
    let mut symbols = BTreeMap::new();
    for (name, actual) in actual {
        let found = ours["outputs"].get(name).unwrap_or(&Value::Null);
        ty(&mut verdict, &mut symbols, name, found, actual);
    }
    verdict
}

/// Compares one inferred type with that of a value.
pub(crate) fn judge_value(verdict: &mut Verdict, name: &str, ours: &Value, actual: &Value) {
    ty(verdict, &mut BTreeMap::new(), name, ours, actual);
}

fn ty(
    verdict: &mut Verdict,
    symbols: &mut BTreeMap<String, Value>,
    name: &str,
    ours: &Value,
    expected: &Value,
) {
    let says = |what: &str| format!("`{name}`: {what}: ours {ours}, recorded {expected}");
    if expected["k"] == "none" {
        return;
    }
    if ours.is_null() || ours["k"] == "none" {
        return verdict.note(Grade::Untyped, || says("no type"));
    }
    // The recorded value of an optional is its content.
    if ours["k"] == "opt" && expected["k"] != "opt" {
        return ty(verdict, symbols, name, &ours["of"], expected);
    }
    if ours["k"] != expected["k"] {
        return verdict.note(Grade::Wrong, || says("another constructor"));
    }
    match expected["k"].as_str() {
        // A recorded value lists the type of every element.
        Some("seq" | "opt") => match expected["of"].as_array() {
            Some(elements) => {
                return elements.iter().for_each(|element| ty(verdict, symbols, name, &ours["of"], element));
            }
            None => return ty(verdict, symbols, name, &ours["of"], &expected["of"]),
        },
        Some("map") if ours["key"] != expected["key"] => {
            return verdict.note(Grade::Wrong, || says("another key"));
        }
        Some("map") => return ty(verdict, symbols, name, &ours["val"], &expected["val"]),
        _ => {}
    }
    if let Some(elem) = expected.get("e") {
        match ours.get("e") {
            Some(found) if found == elem => {}
            Some(_) => verdict.note(Grade::Wrong, || says("another element type")),
            None => verdict.note(Grade::Untyped, || says("no element type")),
        }
    }
    let Some(shape) = expected.get("s").and_then(Value::as_array) else { return };
    let Some(found) = ours.get("s").and_then(Value::as_array) else {
        return verdict.note(Grade::LessPrecise, || says("no rank"));
    };
    if shape.len() != found.len() {
        return verdict.note(Grade::Wrong, || says("another rank"));
    }
    for (ours, expected) in found.iter().zip(shape) {
        match (ours, expected) {
            (_, Value::Null) => {}
            (Value::Number(a), Value::Number(b)) if a == b => {}
            (Value::Number(_), Value::Number(_)) => verdict.note(Grade::Wrong, || says("another extent")),
            // A constant is more precise than the reference's symbol.
            (Value::Number(_), _) => {}
            (Value::Null, Value::String(symbol)) if symbol.starts_with("unk__") => {}
            (Value::String(a), Value::String(b)) if a == b => {}
            (Value::String(_), Value::String(symbol)) if symbol.starts_with("unk__") => {
                let known = symbols.entry(symbol.clone()).or_insert_with(|| ours.clone());
                if known != ours {
                    verdict.note(Grade::LessPrecise, || says("one extent of the reference is two of ours"));
                }
            }
            _ => verdict.note(Grade::LessPrecise, || says("an extent is less precise")),
        }
    }
}

//! Loads the recorded cases and prints the table of a run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value};

use super::judge::{Grade, Verdict};

/// One line of a `cases.jsonl`.
pub(crate) struct Case {
    record: Value,
    expected: Option<PathBuf>,
}

impl Case {
    pub(crate) fn named(name: &str) -> Self {
        Self { record: serde_json::json!({"id": name, "ops": [name]}), expected: None }
    }

    pub(crate) fn id(&self) -> &str {
        let field = |key: &str| self.record.get(key).and_then(Value::as_str);
        field("id").or_else(|| field("name")).unwrap_or("?")
    }

    pub(crate) fn model(&self) -> &str {
        self.record["model"].as_str().expect("every case names its model")
    }

    pub(crate) fn ops(&self) -> Vec<&str> {
        self.record["ops"]
            .as_array()
            .map(|ops| ops.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default()
    }

    pub(crate) fn skip(&self) -> bool {
        self.record.get("skip").is_some_and(|skip| !matches!(skip, Value::Null | Value::Bool(false)))
    }

    pub(crate) fn is_ok(&self) -> bool {
        self.record["outcome"] == "ok"
    }

    pub(crate) fn is_well_typed(&self) -> bool {
        self.record["strict_type_ok"] != Value::Bool(false)
    }

    /// The types that the reference infers in its strictest mode.
    pub(crate) fn expected(&self) -> Value {
        let path = self.expected.as_ref().expect("only cases of `inference` have expectations");
        serde_json::from_slice(&std::fs::read(path).expect("the expectation is there")).expect("it is JSON")
    }

    pub(crate) fn actual(&self) -> &Map<String, Value> {
        self.record["actual"].as_object().expect("every backend case records its outputs")
    }

    /// The folder with recorded inputs and outputs, if the case has one.
    pub(crate) fn data(&self) -> Option<&str> {
        self.record["data"].as_str()
    }

    pub(crate) fn declared(&self) -> &Map<String, Value> {
        self.record["declared"].as_object().expect("every case of constant shapes records the shapes")
    }
}

fn root() -> Option<PathBuf> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance");
    let path = std::env::var_os("TYPELOOM_CONFORMANCE").map_or(beside, PathBuf::from);
    if path.is_dir() {
        return Some(path);
    }
    assert!(std::env::var("CI").as_deref() != Ok("true"), "no recorded cases at {}", path.display());
    println!("skipped: no recorded cases at {}", path.display());
    None
}

/// The cases of a folder, filtered by `TYPELOOM_OPS`.
pub(crate) fn list(folder: &str) -> Option<Vec<Case>> {
    let folder = root()?.join(folder);
    let text = std::fs::read_to_string(folder.join("cases.jsonl")).expect("the folder has a list of cases");
    let wanted = std::env::var("TYPELOOM_OPS").ok();
    let wanted: Option<Vec<&str>> = wanted.as_deref().map(|ops| ops.split(',').collect());
    let cases = text.lines().filter(|line| !line.trim().is_empty()).map(|line| {
        let record: Value = serde_json::from_str(line).expect("a case is one JSON object a line");
        let expected = record["expected_strict_dp"].as_str().or_else(|| record["expected"].as_str());
        let expected = expected.map(|path| folder.join(path));
        Case { record, expected }
    });
    let asked =
        |case: &Case| wanted.as_ref().is_none_or(|wanted| case.ops().iter().any(|op| wanted.contains(op)));
    Some(cases.filter(asked).collect())
}

/// The models of a folder without a list.
pub(crate) fn case_files(folder: &str) -> Option<Vec<PathBuf>> {
    let entries = std::fs::read_dir(root()?.join(folder)).expect("the folder is there");
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "onnx"));
    files.sort();
    Some(files)
}

pub(crate) fn bytes_of(folder: &str, model: &str) -> Vec<u8> {
    let path = root().expect("the cases were listed").join(folder).join(model);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn bytes_if_there(folder: &str, file: &str) -> Option<Vec<u8>> {
    std::fs::read(root()?.join(folder).join(file)).ok()
}

/// Counts by operator, and the failed cases.
pub(crate) struct Table {
    title: &'static str,
    rows: BTreeMap<String, BTreeMap<Grade, usize>>,
    total: BTreeMap<Grade, usize>,
    failures: Vec<String>,
}

impl Table {
    pub(crate) fn new(title: &'static str) -> Self {
        Self { title, rows: BTreeMap::new(), total: BTreeMap::new(), failures: Vec::new() }
    }

    pub(crate) fn add(&mut self, case: &Case, verdict: Verdict) {
        let Verdict { grade, reason } = verdict;
        let op = case.ops().last().copied().unwrap_or("?").to_owned();
        *self.rows.entry(op).or_default().entry(grade).or_default() += 1;
        *self.total.entry(grade).or_default() += 1;
        if grade == Grade::LessPrecise && std::env::var_os("TYPELOOM_LESS_PRECISE").is_some() {
            println!("less precise: {} ({}): {reason}", case.id(), case.ops().join(" "));
        }
        if grade.fails() {
            self.failures.push(format!(
                "{} ({}) {}: {reason}",
                case.id(),
                case.ops().join(" "),
                case.record["model"]
            ));
        }
    }

    /// Like [`Table::finish`], and also fails if an operator that is not listed is less precise than
    /// recorded.
    pub(crate) fn finish_exact(self, listed: &[(&str, &str)]) {
        let unlisted: Vec<String> = self
            .rows
            .iter()
            .filter(|(_, grades)| grades.contains_key(&Grade::LessPrecise))
            .filter(|(op, _)| !listed.iter().any(|(known, _)| known == op))
            .map(|(op, grades)| format!("{op} {grades:?}"))
            .collect();
        let title = self.title;
        self.finish();
        for (op, reason) in listed {
            println!("  {op}: {reason}");
        }
        assert!(unlisted.is_empty(), "{title}: less precise than recorded: {}", unlisted.join(", "));
    }

    /// Prints the table and fails the test if a case failed.
    pub(crate) fn finish(self) {
        let Self { title, rows, total, failures } = self;
        println!("{title}: {total:?}");
        for (op, grades) in rows {
            if grades.keys().any(|grade| *grade != Grade::Exact) {
                println!("  {op:32} {grades:?}");
            }
        }
        for failure in &failures {
            println!("FAILED {failure}");
        }
        assert!(failures.is_empty(), "{title}: {} cases failed", failures.len());
    }
}

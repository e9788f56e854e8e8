//! Validation of reports against the schemas of their formats.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

fn schema(path: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("the schema is JSON")
}

/// A compiled schema. Compiling it takes longer than a validation.
struct Validator {
    schemas: Schemas,
    root: SchemaIndex,
}

fn validator(schema: Value) -> Validator {
    // A name that no schema refers to.
    let name = "schema:/root";
    let mut schemas = Schemas::new();
    let mut compiler = Compiler::new();
    compiler.enable_format_assertions();
    compiler.add_resource(name, schema).expect("the name is a URL");
    let root = compiler.compile(name, &mut schemas).expect("the schema is valid");
    Validator { schemas, root }
}

fn validate(validator: &Validator, document: &Value) {
    if let Err(error) = validator.schemas.validate(document, validator.root) {
        panic!("{error:#}\n{document:#}");
    }
}

/// Parses and validates a SARIF log.
pub(crate) fn sarif(text: &str) -> Value {
    static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| {
        let mut schema = schema("tests/schemas/sarif-2.1.0.json");
        // Two patterns have an unmatched bracket, which is no regular expression of JSON Schema. Our logs
        // have no such property.
        for owner in ["run", "toolComponent"] {
            let path = format!("/definitions/{owner}/properties/language");
            let language = schema.pointer_mut(&path).and_then(Value::as_object_mut);
            language.and_then(|language| language.remove("pattern")).expect("the published pattern");
        }
        validator(schema)
    });
    let document: Value = serde_json::from_str(text).expect("the log is JSON");
    validate(&VALIDATOR, &document);
    document
}

/// Parses and validates the records of `check --format json`.
pub(crate) fn records(text: &str) -> Vec<Value> {
    static VALIDATOR: LazyLock<Validator> =
        LazyLock::new(|| validator(schema("../../docs/check.schema.json")));
    let records = text.lines().map(|line| serde_json::from_str(line).expect("a record is JSON"));
    records.inspect(|record| validate(&VALIDATOR, record)).collect()
}

/// Parses and validates the output of `fix --format json`.
pub(crate) fn repair(text: &str) -> Value {
    static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| validator(schema("../../docs/fix.schema.json")));
    let document: Value = serde_json::from_str(text).expect("the output is JSON");
    validate(&VALIDATOR, &document);
    document
}

/// Whether the schema of settings accepts a file.
pub(crate) fn accepts_settings(text: &str) -> bool {
    static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| validator(settings()));
    let document: Value = toml::from_str(text).expect("the file is TOML");
    VALIDATOR.schemas.validate(&document, VALIDATOR.root).is_ok()
}

/// The schema of settings.
pub(crate) fn settings() -> Value {
    schema("../../docs/settings.schema.json")
}

/// Parses a report of GitLab Code Quality, and checks the properties that its documentation requires.
pub(crate) fn gitlab(text: &str) -> Vec<Value> {
    let document: Vec<Value> = serde_json::from_str(text).expect("the report is a JSON array");
    let mut fingerprints = std::collections::BTreeSet::new();
    for entry in &document {
        let text = |pointer: &str| entry.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        assert!(["description", "check_name"].iter().all(|key| entry[key].is_string()), "{entry}");
        assert!(["info", "minor", "major", "critical", "blocker"].contains(&text("/severity")), "{entry}");
        assert!(!text("/location/path").starts_with(['.', '/']), "{entry}");
        assert!(entry.pointer("/location/lines/begin").is_some_and(Value::is_u64), "{entry}");
        assert!(fingerprints.insert(text("/fingerprint").to_owned()), "{entry}");
    }
    document
}

/// A workflow command of GitHub: its level, properties and message.
pub(crate) fn workflow_command(line: &str) -> (String, Vec<(String, String)>, String) {
    let rest = line.strip_prefix("::").unwrap_or_else(|| panic!("{line}"));
    let (head, message) = rest.split_once("::").unwrap_or_else(|| panic!("{line}"));
    let (level, properties) = head.split_once(' ').unwrap_or_else(|| panic!("{line}"));
    assert!(["error", "warning", "notice"].contains(&level), "{line}");
    let properties = properties.split(',').map(|property| {
        let (key, value) = property.split_once('=').unwrap_or_else(|| panic!("{line}"));
        assert!(["file", "title", "line", "endLine", "col", "endColumn"].contains(&key), "{line}");
        assert!(!value.contains(':'), "{line}");
        (key.to_owned(), value.to_owned())
    });
    for (at, _) in rest.match_indices('%') {
        assert!(["%25", "%0A", "%0D", "%3A", "%2C"].contains(&&rest[at..at + 3]), "{line}");
    }
    (level.to_owned(), properties.collect(), message.to_owned())
}

/// Validates a JUnit file with Python's `xmlschema`, if it is installed; it has to be under `CI=true`.
pub(crate) fn junit(file: &Path) {
    let python = std::env::var_os("TYPELOOM_PYTHON").unwrap_or_else(|| "python3".into());
    let quiet = |command: &mut Command| command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !quiet(Command::new(&python).args(["-c", "import xmlschema"])).is_ok_and(|status| status.success()) {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "under CI, {python:?} needs xmlschema");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script = root.join("../../tools/validate_junit.py");
    let schema = root.join("tests/schemas/junit-10.xsd");
    let output = Command::new(&python).arg(script).arg(schema).arg(file).output().expect("Python starts");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

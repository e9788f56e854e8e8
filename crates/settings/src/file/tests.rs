use std::path::Path;

use typeloom_solver::diagnostic::{Code, Severity};

use super::{FileKind, SettingsFile};
use crate::levels::Level;

fn parse(kind: FileKind, text: &str) -> Result<Option<SettingsFile>, String> {
    SettingsFile::parse(kind, "dir/typeloom.toml", Path::new("dir"), text).map_err(|error| error.to_string())
}

fn file(text: &str) -> SettingsFile {
    parse(FileKind::Typeloom, text).unwrap().unwrap()
}

fn error(text: &str) -> String {
    parse(FileKind::Typeloom, text).map(|_| ()).unwrap_err()
}

const FULL: &str = r#"
exclude = ["vendor", "*.tmp.onnx"]
ops = ["own.ops"]
targets = ["onnxruntime-1.31"]
target-files = ["board.txt"]
permissive = true
max-problems = 10
baseline = "known.json"

[severities]
dim-mismatch = "warn"
shapes = "allow"
all = "deny"

[seeds]
"input.1" = "float[...]"

[assume]
batch = 4
seq = "past + 1"

[[overrides]]
files = ["legacy"]
severities = { assumed-type = "allow" }
seeds = { "input.1" = "float[2]" }
max-problems = 3
"#;

#[test]
fn an_assumed_number_has_any_notation() {
    let file = file("assume = { A = 0x10, B = 0o10, C = 0b10, D = 1_000, E = +7, F = -3 }");
    let settings = file.settings(&file.overrides_of("m.onnx"));
    let texts: Vec<&str> = settings.assume.iter().map(|(_, number)| number.value.as_str()).collect();
    assert_eq!(texts, ["16", "8", "2", "1000", "7", "-3"]);
}

#[test]
fn settings_have_their_lines_as_sources() {
    let file = file(FULL);
    let settings = file.settings(&file.overrides_of("m.onnx"));
    let lines: Vec<String> =
        settings.lines().into_iter().map(|(text, source)| format!("{text} # {source}")).collect();
    assert_eq!(
        lines,
        [
            "severities.all = \"deny\" # dir/typeloom.toml:13",
            "severities.shapes = \"allow\" # dir/typeloom.toml:12",
            "severities.dim-mismatch = \"warn\" # dir/typeloom.toml:11",
            "seeds.\"input.1\" = \"float[...]\" # dir/typeloom.toml:16",
            "assume.batch = \"4\" # dir/typeloom.toml:19",
            "assume.seq = \"past + 1\" # dir/typeloom.toml:20",
            "ops = [\"dir/own.ops\"] # dir/typeloom.toml:3",
            "targets = [\"onnxruntime-1.31\"] # dir/typeloom.toml:4",
            "target-files = [\"dir/board.txt\"] # dir/typeloom.toml:5",
            "permissive = true # dir/typeloom.toml:6",
            "max-problems = 10 # dir/typeloom.toml:7",
            "baseline = \"dir/known.json\" # dir/typeloom.toml:8",
        ]
    );
}

#[test]
fn a_narrower_severity_takes_precedence_in_any_order() {
    let levels = file(FULL).settings(&[]).levels();
    assert_eq!(levels.level(Code::DimMismatch, Severity::Error), Level::Warn);
    assert_eq!(levels.level(Code::WrongRank, Severity::Error), Level::Allow);
    assert_eq!(levels.level(Code::AssumedType, Severity::Warning), Level::Deny);
}

#[test]
fn overrides_apply_to_their_files() {
    let file = file(FULL);
    assert_eq!(file.overrides_of("legacy/m.onnx"), [0]);
    let settings = file.settings(&[0]);
    assert_eq!(settings.levels().level(Code::AssumedType, Severity::Warning), Level::Allow);
    assert_eq!(settings.seeds[0].1.value.text, "float[2]");
    assert_eq!(settings.max_problems.map(|max| max.value), Some(3));
    assert!(file.excludes("a/vendor/m.onnx") && !file.excludes("a/m.onnx"));
}

#[test]
fn errors_have_positions_and_suggestions() {
    for (text, expected) in [
        ("\n  sevrities = {}", "dir/typeloom.toml:2:3: unknown key `sevrities`; did you mean `severities`?"),
        ("[[overrides]]\nfiles = []\nexclude = []", "dir/typeloom.toml:3:1: unknown key `exclude`"),
        (
            "[[overrides]]\ninline = false",
            "dir/typeloom.toml:2:1: an override needs `files`, a list of globs",
        ),
        (
            "severities.dim-mismach = \"warn\"",
            "dir/typeloom.toml:1:12: there is no diagnostic code or group `dim-mismach`; did you mean `dim-mismatch`?",
        ),
        (
            "[severities]\nshapes = \"wran\"",
            "dir/typeloom.toml:2:10: a severity is `allow`, `warn` or `deny`, not `wran`; did you mean `warn`?",
        ),
        ("seeds = { x = 3 }", "dir/typeloom.toml:1:15: this value is a string"),
        ("permissive = \"yes\"", "dir/typeloom.toml:1:14: `permissive` is `true` or `false`"),
        ("max-problems = -1", "dir/typeloom.toml:1:16: `max-problems` is a number that is not negative"),
        ("ops = \"a\"", "dir/typeloom.toml:1:7: `ops` is a list of strings"),
        ("overrides = 1", "dir/typeloom.toml:1:13: `overrides` is a list of tables: `[[overrides]]`"),
    ] {
        assert_eq!(error(text), expected, "{text}");
    }
    assert!(error("exclude = [\"a\", \"[\"]").starts_with("dir/typeloom.toml:1:17: malformed glob"));
    assert!(error("seeds = { x = \"float[\" }").starts_with("dir/typeloom.toml:1:15: `float[` is no type"));
    assert!(error("a = [\n1,").starts_with("dir/typeloom.toml:"));
}

#[test]
fn a_pyproject_without_the_table_has_no_settings() {
    let parse = |text| parse(FileKind::Pyproject, text);
    assert!(parse("[project]\nname = \"a\"").unwrap().is_none());
    assert!(parse("broken = ").unwrap().is_none());
    assert!(parse("[project]\nname = \"typeloom-user\"").unwrap().is_none());
    let found = parse("[tool.other]\nx = 1\n[tool.typeloom]\npermissive = true\n").unwrap().unwrap();
    assert_eq!(
        found.settings(&[]).permissive.map(|it| it.source.to_string()),
        Some("dir/typeloom.toml:4".into())
    );
    assert!(parse("[tool.typeloom]\nx = 1").is_err());
}

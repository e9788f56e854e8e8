use serde_json::json;

use super::schemas;
use super::support::{CLEAN, Folder, MIXED};

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.model("a.onnx", MIXED);
    folder.model("b.onnx", CLEAN);
    folder.write("c.onnx", "not a model");
    folder
}

const FILES: [&str; 5] = ["check", "a.onnx", "b.onnx", "c.onnx", "missing.onnx"];

fn with_format(format: &str) -> Vec<&str> {
    [&FILES[..], &["--format", format]].concat()
}

#[test]
fn several_models_have_a_total_and_problems_are_counted_by_code_on_request() {
    let folder = Folder::new("statistics");
    folder.model("a.onnx", CLEAN);
    folder.model("b.onnx", MIXED);
    folder.model("c.onnx", &format!("w = Reluu(x)\n{MIXED}"));
    let last = |arguments: &[&str], lines: usize| -> Vec<String> {
        let run = folder.run(&[&["check"], arguments].concat());
        let lines = run.out.lines().rev().take(lines).map(str::to_owned).collect::<Vec<_>>();
        lines.into_iter().rev().collect()
    };
    assert_eq!(last(&["."], 1), ["3 files: 3 errors"]);
    assert_eq!(last(&["a.onnx", "a.onnx"], 1), ["2 files: no problems"]);
    assert!(last(&["a.onnx", "a.onnx", "-q"], 1).is_empty());
    assert_eq!(last(&["a.onnx"], 2).len(), 1, "one model needs no total");
    let expected = [
        "2  element-type-mismatch  error  element types that must agree differ",
        "1  unknown-operator       error  ",
        "3 files: 3 errors",
    ];
    for format in ["human", "concise"] {
        let lines = last(&[".", "--statistics", "--format", format, "--max-problems", "1"], 3);
        for (line, start) in lines.iter().zip(expected) {
            assert!(line.starts_with(start), "{format}: {lines:?}");
        }
    }
    let markdown = last(&[".", "--statistics", "--format", "markdown"], 6).join("\n");
    assert!(markdown.contains("| 2 | element-type-mismatch | error | element types"), "{markdown}");
}

#[test]
fn every_file_has_a_record() {
    let run = folder("records").run(&with_format("json"));
    assert_eq!(run.code, 2);
    let records = schemas::records(&run.out);
    let statuses: Vec<_> = records.iter().map(|record| (&record["file"], &record["status"])).collect();
    assert_eq!(
        json!(statuses),
        json!([
            ["a.onnx", "errors"],
            ["b.onnx", "clean"],
            ["c.onnx", "errors"],
            ["missing.onnx", "unusable"]
        ])
    );
}

#[test]
fn a_file_that_cannot_be_read_is_a_notification_of_the_invocation() {
    let log = schemas::sarif(&folder("sarif").run(&with_format("sarif")).out);
    let run = &log["runs"][0];
    let invocation = &run["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let notification = &invocation["toolExecutionNotifications"][0];
    assert_eq!(notification["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "missing.onnx");
    let rules: Vec<_> =
        run["tool"]["driver"]["rules"].as_array().expect("rules").iter().map(|rule| &rule["id"]).collect();
    assert_eq!(rules, ["element-type-mismatch", "malformed-file"]);
    for (at, result) in run["results"].as_array().expect("results").iter().enumerate() {
        assert_eq!(result["ruleIndex"], at);
        assert_eq!(result["ruleId"], *rules[at]);
        assert!(result["partialFingerprints"]["typeloom/v1"].is_string(), "{result}");
    }
}

#[test]
fn a_log_without_findings_is_short() {
    let run = folder("sarif-clean").run(&["check", "b.onnx", "--format", "sarif"]);
    assert_eq!(run.code, 0);
    assert!(run.out.len() < 2048, "{}", run.out);
    assert_eq!(schemas::sarif(&run.out)["runs"][0]["invocations"][0]["executionSuccessful"], true);
}

#[test]
fn junit_and_workflow_commands_follow_their_syntax() {
    let folder = folder("syntax");
    let run = folder.run(&[&FILES[..], &["--format", "junit=r.xml", "--format", "github"]].concat());
    assert_eq!(run.code, 2);
    let levels: Vec<String> = run.out.lines().map(|line| schemas::workflow_command(line).0).collect();
    assert_eq!(levels, ["error", "error", "error"], "{}", run.out);
    let junit = folder.read("r.xml");
    assert_eq!(junit.matches("<testsuite ").count(), 4, "{junit}");
    assert_eq!((junit.matches("<failure ").count(), junit.matches("<error ").count()), (2, 1), "{junit}");
    schemas::junit(&folder.0.join("r.xml"));
}

#[test]
fn warnings_are_passed_tests_and_no_failures() {
    let folder = folder("junit-warnings");
    let run = folder.run(&["check", "a.onnx", "-W", "all", "--format", "junit", "--output", "r.xml"]);
    assert_eq!((run.code, run.out.as_str()), (0, ""));
    let junit = folder.read("r.xml");
    assert!(junit.contains("failures=\"0\"") && junit.contains("<system-out>warning: "), "{junit}");
    schemas::junit(&folder.0.join("r.xml"));
}

#[test]
fn two_reports_have_two_destinations() {
    let folder = folder("destinations");
    let run = folder.run(&["check", "b.onnx", "--format", "human", "--format", "json"]);
    assert_eq!(run.code, 2, "{run:?}");
    let run = folder.run(&["check", "b.onnx", "--format", "json=r.json", "--output", "o.txt"]);
    assert_eq!(run.code, 2, "{run:?}");
    let run = folder.run(&["check", "b.onnx", "--format", "human", "--format", "json", "--output", "o.txt"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(!folder.exists("o.txt") && !folder.exists("r.json"), "no report is written");
    let run =
        folder.run(&["check", "b.onnx", "--format", "human", "--format", "json=r.json", "--output", "o.txt"]);
    assert_eq!((run.code, run.out.as_str()), (0, ""), "{run:?}");
    assert_eq!(folder.read("o.txt"), "b.onnx: ok, 4 values fully typed\n");
    assert_eq!(schemas::records(&folder.read("r.json")).len(), 1);
}

#[test]
fn a_report_replaces_its_file_only_when_it_is_complete() {
    let folder = folder("atomic");
    folder.write("r.json", "old");
    folder.write("typeloom.toml", "unknown = 1\n");
    let run = folder.run(&["check", "a.onnx", "--format", "json=r.json"]);
    assert_eq!((run.code, folder.read("r.json").as_str()), (2, "old"), "{run:?}");
    let left: Vec<_> =
        std::fs::read_dir(&folder.0).expect("the folder").flatten().map(|it| it.file_name()).collect();
    assert_eq!(left.len(), 5, "{left:?}");
}

#[test]
fn hidden_problems_are_counted() {
    let folder = Folder::new("hidden");
    folder.model("m.onnx", "a = Reluu(x)\n b = Abss(x)\n c = Negg(x)\n y = Relu(x)");
    let run = folder.run(&["check", "m.onnx", "--max-problems", "1", "--format", "json"]);
    let record = &schemas::records(&run.out)[0];
    assert_eq!((&record["errors"], &record["hidden"]), (&json!(3), &json!(2)));
    assert_eq!(record["diagnostics"].as_array().map(Vec::len), Some(1));
}

//! A repository with 40 models and 30 known problems adopts the command: baseline, one new error, one fixed.

use serde_json::Value;

use super::schemas;
use super::support::{CLEAN, Folder, MIXED};

/// Nodes with one problem each, all of different codes.
const PROBLEMS: [&str; 5] = [
    MIXED,
    "[first] h = Relu(missing)\n[second] y = Neg(h)",
    "[first] h = Relu <alhpa = 1.0> (x)\n[second] y = Neg(h)",
    "[first] h = Reluu(x)\n[second] y = Neg(h)",
    "[first] h = Concat (x, x)\n[second] y = Neg(h)",
];

fn model(at: usize) -> String {
    format!("models/{at:02}.onnx")
}

/// A repository with a baseline, after a change that adds one error and removes another.
fn repository(name: &str) -> Folder {
    let folder = Folder::new(name);
    for at in 0..40 {
        folder.model(&model(at), if at < 30 { PROBLEMS[at % PROBLEMS.len()] } else { CLEAN });
    }
    assert_eq!(folder.problems(&["models"]).len(), 30);
    let baseline = ["check", "models", "--baseline", "known.json", "--update-baseline"];
    let recorded = folder.run(&baseline);
    assert_eq!(recorded.code, 0, "{recorded:?}");
    assert!(recorded.err.contains("30 problems, 30 new, 0 fixed"), "{recorded:?}");
    let unchanged = folder.run(&["check", "models", "--baseline", "known.json"]);
    assert_eq!(unchanged.code, 0, "{unchanged:?}");
    // One fixed, one new, one model renamed, one with another node in front of the error.
    folder.model(&model(3), CLEAN);
    folder.model(&model(35), MIXED);
    folder.rename(&model(7), "models/renamed.onnx");
    folder.model(&model(10), &format!("unused = Abs(x)\n{MIXED}"));
    folder
}

const FILE: &str = "models/35.onnx";

fn strings<'v>(list: &'v Value, pointer: &str) -> Vec<&'v str> {
    let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(|item| item.pointer(pointer)?.as_str()).collect()
}

#[test]
fn exactly_the_new_problem_is_reported_in_every_format() {
    let folder = repository("adoption");
    let formats = ["human", "concise", "json", "sarif", "github", "markdown", "junit", "gitlab"];
    let mut arguments = vec!["check", "models", "--baseline", "known.json", "--quiet"];
    let files: Vec<String> = formats.iter().map(|format| format!("{format}=report.{format}")).collect();
    arguments.extend(files.iter().flat_map(|file| ["--format", file.as_str()]));
    let run = folder.run(&arguments);
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (1, "", ""));
    let report = |format: &str| folder.read(&format!("report.{format}"));
    let totals = "40 files: 1 error, 29 known, 1 fixed";

    let human = report("human");
    assert_eq!(human.matches("error[").count(), 1, "{human}");
    assert!(
        human.contains("--> models/35.onnx: node `second` (#1)") && human.ends_with(&format!("{totals}\n")),
        "{human}"
    );

    let concise = report("concise");
    let lines: Vec<&str> = concise.lines().collect();
    let first = "models/35.onnx: second: element-type-mismatch: `Add` needs one element type, but `h` is float and `n` is int64";
    assert_eq!(lines, [first, "models/35.onnx: 1 error", totals]);

    let records = schemas::records(&report("json"));
    assert_eq!(records.len(), 40);
    let with_problems = records.iter().filter(|record| record["diagnostics"] != serde_json::json!([]));
    assert_eq!(with_problems.map(|record| &record["file"]).collect::<Vec<_>>(), [FILE]);
    assert_eq!(records.iter().filter_map(|record| record["known"].as_u64()).sum::<u64>(), 29);

    let sarif = schemas::sarif(&report("sarif"));
    let results = &sarif["runs"][0]["results"];
    assert_eq!(strings(results, "/ruleId"), ["element-type-mismatch"]);
    assert_eq!(strings(results, "/locations/0/physicalLocation/artifactLocation/uri"), [FILE]);
    assert_eq!(strings(&sarif["runs"][0]["tool"]["driver"]["rules"], "/id"), ["element-type-mismatch"]);

    let github = report("github");
    let commands: Vec<_> = github.lines().map(schemas::workflow_command).collect();
    assert_eq!(commands.len(), 1, "{github}");
    assert_eq!((commands[0].0.as_str(), commands[0].1[0].1.as_str()), ("error", FILE));

    let gitlab = schemas::gitlab(&report("gitlab"));
    assert_eq!(strings(&Value::Array(gitlab), "/location/path"), [FILE]);

    let markdown = report("markdown");
    let rows: Vec<&str> = markdown.lines().filter(|line| line.starts_with("| error")).collect();
    assert!(matches!(rows[..], [row] if row.contains(FILE)), "{markdown}");
    assert!(markdown.ends_with(&format!("**{totals}**\n")), "{markdown}");

    let junit = report("junit");
    assert_eq!((junit.matches("<failure ").count(), junit.matches("<error ").count()), (1, 0), "{junit}");
    assert!(
        junit.contains("<testcase classname=\"models/35.onnx\" name=\"element-type-mismatch: second\">"),
        "{junit}"
    );
    schemas::junit(&folder.0.join("report.junit"));
}

#[test]
fn an_updated_baseline_has_the_new_problem_and_not_the_fixed_one() {
    let folder = repository("adoption-update");
    let update = folder.run(&["check", "models", "--baseline", "known.json", "--update-baseline", "--quiet"]);
    assert_eq!(update.code, 0, "{update:?}");
    assert!(update.err.contains("known.json: 30 problems, 1 new, 1 fixed"), "{update:?}");
    let text = folder.read("known.json");
    let files: Vec<&str> =
        text.lines().filter_map(|line| line.trim().strip_prefix("{\"file\":\"")?.split('"').next()).collect();
    assert_eq!(files.len(), 30);
    assert!(files.contains(&FILE) && files.contains(&"models/renamed.onnx"), "{text}");
    assert!(!files.contains(&model(3).as_str()) && !files.contains(&model(7).as_str()), "{text}");
    let check = folder.run(&["check", "models", "--baseline", "known.json", "--quiet"]);
    assert_eq!((check.code, check.out.as_str()), (0, "40 files: no problems, 30 known\n"));
    let again = folder.run(&["check", "models", "--baseline", "known.json", "--update-baseline", "--quiet"]);
    assert_eq!((again.code, folder.read("known.json")), (0, text), "{again:?}");
}

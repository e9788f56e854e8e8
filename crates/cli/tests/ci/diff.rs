use super::schemas;
use super::support::{CLEAN, Folder};

fn folders(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.model("old/same.onnx", CLEAN);
    folder.model("new/same.onnx", CLEAN);
    folder.model("old/sub/changed.onnx", CLEAN);
    folder.model("new/sub/changed.onnx", "[first] h = Cast <to = 11> (x)\n[second] y = Neg(h)");
    folder.model("old/removed.onnx", CLEAN);
    folder.model("new/added.onnx", CLEAN);
    folder
}

#[test]
fn folders_are_compared_by_name_with_additions_and_removals() {
    let folder = folders("diff-folders");
    let run = folder.run(&["diff", "old", "new", "--format", "concise"]);
    assert_eq!(run.code, 1, "{run:?}");
    let lines: Vec<&str> = run.out.lines().collect();
    assert_eq!(
        lines,
        [
            "new/added.onnx: added.onnx: model-added: warning: added (breaks forward)",
            "new/added.onnx: backward compatible",
            "old/removed.onnx: removed.onnx: model-removed: removed (breaks backward)",
            "old/removed.onnx: not backward compatible",
            "old/same.onnx -> new/same.onnx: the same interface",
            "new/sub/changed.onnx: outputs.y: element-type-changed: float[N, 4] -> double[N, 4] (breaks both ways)",
            "old/sub/changed.onnx -> new/sub/changed.onnx: not backward compatible",
        ]
    );
    let forward = folder.run(&["diff", "old", "new", "--mode", "forward", "--format", "concise"]);
    assert!(forward.out.contains("removed.onnx: model-removed: warning: "), "{forward:?}");
    assert!(forward.out.contains("added.onnx: model-added: added"), "{forward:?}");
}

#[test]
fn differences_are_reported_in_every_format() {
    let folder = folders("diff-formats");
    let run = folder.run(&["diff", "old", "new", "--format", "sarif"]);
    let log = schemas::sarif(&run.out);
    let results = log["runs"][0]["results"].as_array().expect("results");
    let ids: Vec<_> = results.iter().map(|result| (&result["ruleId"], &result["level"])).collect();
    assert_eq!(
        serde_json::json!(ids),
        serde_json::json!([
            ["model-added", "warning"],
            ["model-removed", "error"],
            ["element-type-changed", "error"]
        ])
    );
    let run = folder.run(&["diff", "old", "new", "--format", "github"]);
    assert_eq!(
        run.out.lines().map(|line| schemas::workflow_command(line).0).collect::<Vec<_>>(),
        ["warning", "error", "error"]
    );
    let run = folder.run(&["diff", "old", "new", "--format", "junit=r.xml", "--format", "markdown"]);
    assert_eq!(folder.read("r.xml").matches("<failure ").count(), 2);
    schemas::junit(&folder.0.join("r.xml"));
    assert!(run.out.ends_with("**4 files: 2 errors, 1 warning**\n"), "{}", run.out);
    let run = folder.run(&["diff", "old", "new", "--format", "json"]);
    let compatible: Vec<serde_json::Value> = run
        .out
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON")["compatible"].take())
        .collect();
    assert_eq!(compatible, [true, false, true, false]);
}

#[test]
fn a_folder_is_not_compared_with_a_file() {
    let run = folders("diff-mixed").run(&["diff", "old", "new/same.onnx"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("`old` is a folder and `new/same.onnx` is not"), "{run:?}");
}

#[test]
fn a_pair_that_cannot_be_compared_leaves_the_others() {
    let folder = folders("diff-broken");
    folder.write("new/same.onnx", "not a model");
    let run = folder.run(&["diff", "old", "new", "--format", "json"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert_eq!(run.out.lines().count(), 4, "{run:?}");
    assert!(run.err.contains("`new/same.onnx` is not well typed"), "{run:?}");
}

//! Verdicts of targets in reports, and targets of files.

use serde_json::json;

use super::schemas;
use super::support::Folder;

const BOARD: &str = "typeloom-measured 1
source test 1
device Board
through onnxruntime BoardExecutionProvider
fixed
op ai.onnx::Relu 3
  version 14
  tree +
op ai.onnx::Sin 1
  version 22
  tree ~
";

/// Models that run, run with fallback, are undecided, and have an error.
fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("board.txt", BOARD);
    let model = |body: &str| format!("<ir_version: 10, opset_import: [\"\" : 22]> {body}\n");
    folder.write("a.onnxtxt", model("g (float[4] x) => (y) { y = Relu(x) }"));
    folder.write("b.onnxtxt", model("g (float[N, 2] x) => (y) { a = Sin(x)  b = Sin(a)  y = Relu(b) }"));
    folder.write("c.onnxtxt", model("g (float[4] x) => (y) { y = Cos(x) }"));
    folder.write("d.onnxtxt", model("g (float[4] x, double[4] z) => (y) { y = Add(x, z) }"));
    folder
}

#[test]
fn a_summary_states_how_a_model_runs() {
    let folder = folder("targets-summary");
    let run = folder.run(&["check", "b.onnxtxt", "--targets", "board.txt"]);
    let last = run.out.lines().last().unwrap_or_default();
    assert!(
        last.ends_with(
            "runs with fallback on board (2 of 3 nodes on the CPU, 1 partition, 8*N bytes cross) where N is a number"
        ),
        "{run:?}"
    );
    assert_eq!(run.code, 0);
    // Both nodes have the same reason.
    assert!(run.out.contains("warning[target-fallback]: board runs `Sin` on the CPU (2 nodes)"), "{run:?}");
    assert!(run.out.contains("= note: also node #1 (`Sin`)"), "{run:?}");
    let undecided = folder.run(&["check", "c.onnxtxt", "--targets", "board.txt"]);
    assert!(undecided.out.ends_with("undecided on board (1 of 1 node)\n"), "{undecided:?}");
}

#[test]
fn the_file_of_a_target_can_be_compressed() {
    let folder = folder("targets-compressed");
    folder.write("board.measured", miniz_oxide::deflate::compress_to_vec_zlib(BOARD.as_bytes(), 9));
    let run = folder.run(&["check", "a.onnxtxt", "--targets", "board.measured"]);
    assert!(run.code == 0 && run.out.contains("runs on board"), "{run:?}");
    folder.write("board.measured", b"x\x9cnothing");
    let run = folder.run(&["check", "a.onnxtxt", "--targets", "board.measured"]);
    assert!(run.code == 2 && run.err.contains("it is not a target"), "{run:?}");
}

#[test]
fn several_models_end_with_a_table_of_targets() {
    let folder = folder("targets-table");
    let files = ["check", "a.onnxtxt", "b.onnxtxt", "c.onnxtxt", "d.onnxtxt"];
    let arguments = [&files[..], &["--target", "onnxruntime-1.31", "--targets", "board.txt"]].concat();
    let run = folder.run(&arguments);
    let expected = "
model      onnxruntime-1.31  board
a.onnxtxt  runs              runs
b.onnxtxt  runs              fallback: 2 of 3 nodes, conditional
c.onnxtxt  runs              undecided: 1 of 1 node
d.onnxtxt  errors            errors

4 files: 1 error, 3 warnings
";
    assert!(run.out.ends_with(expected), "{}", run.out);
    let one = folder.run(&["check", "a.onnxtxt", "--targets", "board.txt"]);
    assert!(!one.out.contains("model "), "{one:?}");
    let quiet = folder.run(&[&arguments[..], &["-q"]].concat());
    assert!(!quiet.out.contains("fallback: "), "{quiet:?}");
    let markdown = folder.run(&[&arguments[..], &["--format", "markdown"]].concat());
    let row = "| <code>b.onnxtxt</code> | runs | fallback&#58; 2 of 3 nodes, conditional |";
    assert!(
        markdown
            .out
            .contains("| model | <code>onnxruntime-1.31</code> | <code>board</code> |\n|---|---|---|\n")
    );
    assert!(markdown.out.contains(row), "{}", markdown.out);
}

#[test]
fn records_have_the_placements_of_measured_targets() {
    let folder = folder("targets-records");
    let targets = ["--target", "onnxruntime-1.31", "--targets", "board.txt"];
    let run = folder.run(&[&["check", "b.onnxtxt", "--format", "json"], &targets[..]].concat());
    let records = schemas::records(&run.out);
    assert_eq!(records[0]["targets"], json!({"onnxruntime-1.31": "runs", "board": "fallback"}));
    assert_eq!(
        records[0]["placements"],
        json!({"board": {
            "device": 1, "cpu": 2, "rejected": 0, "undecided": 0, "partitions": 1, "crossing": "8*N",
            "conditions": [], "fixed": ["N"],
        }})
    );
}

#[test]
fn settings_name_files_of_targets_relative_to_their_folder() {
    let folder = folder("targets-settings");
    folder.write("typeloom.toml", "target-files = [\"board.txt\"]\n");
    folder.write("inner/a.onnxtxt", folder.read("a.onnxtxt"));
    let run = folder.run(&["check", "inner/a.onnxtxt"]);
    assert!(run.out.ends_with("runs on board\n"), "{run:?}");
    // The name of the file is a name of a target.
    let run = folder.run(&["check", "inner/a.onnxtxt", "--target", "board", "--target", "onnxruntime-1.31"]);
    assert!(run.out.ends_with("runs on board, runs on onnxruntime-1.31\n"), "{run:?}");
}

#[test]
fn a_wrong_file_is_an_error_with_its_line() {
    let folder = folder("targets-wrong");
    folder.write("wrong.txt", "typeloom-measured 1\nsauce a\n");
    folder.write("kernels.txt", "typeloom-target 1\nsauce a\n");
    folder.write("other.txt", "hello\n");
    folder.write("qnn-npu.txt", BOARD);
    for (file, message) in [
        ("wrong.txt", "typeloom: `wrong.txt`: line 2 of the target: unknown word `sauce`\n"),
        ("kernels.txt", "typeloom: `kernels.txt`: line 2"),
        (
            "other.txt",
            "typeloom: `other.txt`: it is not a target: the first line must be `typeloom-target 1`",
        ),
        ("qnn-npu.txt", "typeloom: `qnn-npu.txt`: there is a target `qnn-npu` already\n"),
        ("none.txt", "typeloom: cannot read `none.txt`: "),
    ] {
        let run = folder.run(&["check", "a.onnxtxt", "--targets", file]);
        assert_eq!(run.code, 2, "{file}");
        assert!(run.err.starts_with(message), "{file}: {}", run.err);
    }
}

#[test]
fn groups_are_names_of_targets_and_are_suggested() {
    let folder = folder("targets-groups");
    let run = folder.run(&["check", "a.onnxtxt", "--target", "qnn"]);
    assert!(run.out.contains("runs on qnn-gpu") && run.out.contains("runs on qnn-npu"), "{run:?}");
    let run = folder.run(&["check", "a.onnxtxt", "--target", "windows-nqu"]);
    assert!(run.err.contains("there is no target `windows-nqu`; did you mean `windows-npu`"), "{run:?}");
}

#[test]
fn targets_are_listed_and_described_for_people_and_programs() {
    let folder = Folder::new("targets-list");
    let list = folder.run(&["targets"]).out;
    assert!(list.contains("windows-npu           onnxruntime-openvino-npu, qnn-npu\n"), "{list}");
    assert!(list.ends_with("CoreML, DirectML, CUDA, WebNN, WebGPU (docs/targets.md)\n"), "{list}");
    let json = |arguments: &[&str]| -> Vec<serde_json::Value> {
        let run = folder.run(&[&["targets", "--format", "json"], arguments].concat());
        run.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let all = json(&[]);
    assert_eq!(all[0]["groups"]["qnn"], json!(["qnn-gpu", "qnn-npu"]));
    assert_eq!(all[0]["targets"][0]["name"], "onnxruntime-1.32");
    let npu = json(&["qnn-npu"]);
    assert_eq!(npu[0]["through"], "onnxruntime QNNExecutionProvider");
    assert_eq!(npu[0]["measured"]["ai.onnx::Abs"]["versions"], json!(["6", "13"]));
    assert_eq!(json(&["qnn"]).len(), 2);
    let details = folder.run(&["targets", "qnn-npu"]).out;
    assert!(details.contains("\n  extents      fixed in all measurements\n"), "{details}");
    assert!(details.contains("\n  operator "), "{details}");
    let unknown = folder.run(&["targets", "qnn-np"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("there is no target `qnn-np`; did you mean `qnn-npu`"), "{unknown:?}");
}

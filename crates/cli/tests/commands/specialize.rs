//! `typeloom specialize`, and `fix --assume`: what is written, and what is refused.

use serde_json::Value;

use super::support::Folder;

/// A target of `Reshape` that depends on the batch, and a third of it, which only a run of the nodes computes.
const MODEL: &str = "<ir_version: 10, opset_import: [\"\" : 21]>
    g (float[batch, 4] x) => (float[rows, 2] y, float[1] part) <int64[2] rest = {-1, 2}, float third = {3.0}, int64[1] zero = {0}> {
        s = Shape <start = 0, end = 1> (x)
        f = Cast <to = 1> (s)
        part = Div (f, third)
        twice = Add (s, s)
        tail = Constant <value_ints = [2]> ()
        to = Concat <axis = 0> (twice, tail)
        y = Reshape (x, to)
    }";

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("m.onnxtxt", MODEL);
    folder
}

#[test]
fn the_outputs_are_those_of_the_model() {
    let folder = folder("specialize-runs");
    let run = folder.run(&[
        "specialize",
        "m.onnxtxt",
        "--assume",
        "batch=2",
        "-o",
        "small.onnx",
        "--format",
        "json",
    ]);
    assert_eq!(run.code, 0, "{run:?}");
    let report: Value = serde_json::from_str(&run.out).expect("one JSON object");
    assert_eq!(report["nodes"], serde_json::json!({"before": 7, "after": 2}), "{report}");
    assert_eq!(report["open"], serde_json::json!([]));
    let types = folder.run(&["infer", "small.onnx"]).out;
    let words: Vec<&str> = types.split_whitespace().collect();
    assert!(words.ends_with(&["y", "float[4,", "2]", "Reshape", "part", "float[1]", "Constant"]), "{types}");
    // The generated inputs of one seed are the same.
    let printed = |run: super::support::Run| -> String {
        let (_, outputs) = run.out.split_once("outputs").expect("the run has outputs");
        outputs.split("symbols").next().unwrap_or_default().to_owned()
    };
    let before = printed(folder.run(&["run", "m.onnxtxt", "--size", "batch=2"]));
    assert_eq!(before, printed(folder.run(&["run", "small.onnx"])));
}

#[test]
fn nothing_is_written_for_wrong_arguments() {
    let folder = folder("specialize-refused");
    folder.write("old.onnx", "old");
    for (arguments, message) in [
        (&["--assume", "batch=two words", "-o", "new.onnx"][..], "an extent is an integer"),
        (&["--assume", "height=2", "-o", "new.onnx"], "declares no symbol `height`"),
        (&["--assume", "batch=2", "-o", "old.onnx"], "`old.onnx` exists; --force replaces it"),
        (&["--assume", "batch=2", "-o", "new.onnxtxt"], "binary form"),
        (&["--assume", "batch=2", "--in-place"], "binary form"),
        (&["--assume", "batch=2"], "--output"),
    ] {
        let run = folder.run(&[&["specialize", "m.onnxtxt"][..], arguments].concat());
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.err.contains(message), "{message}: {run:?}");
        assert!(!folder.exists("new.onnx") && folder.read("old.onnx") == "old");
    }
    let run = folder.run(&["specialize", "m.onnxtxt", "--assume", "batch=2", "-o", "old.onnx", "--force"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_ne!(std::fs::read(folder.0.join("old.onnx")).expect("the file is there"), b"old");
}

#[test]
fn a_size_that_the_model_does_not_allow_is_an_error_of_a_node() {
    let folder = Folder::new("specialize-window");
    folder.write(
        "m.onnxtxt",
        "<ir_version: 10, opset_import: [\"\" : 21]>
         g (float[1, 1, height, 8] x) => (y) { y = MaxPool <kernel_shape = [3, 3]> (x) }",
    );
    let run = folder.run(&["specialize", "m.onnxtxt", "--assume", "height=2", "-o", "new.onnx"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.out.contains("node #0 (`MaxPool`)") && run.out.contains("not specialized"), "{run:?}");
    let run = folder.run(&[
        "specialize",
        "m.onnxtxt",
        "--assume",
        "height=2",
        "-o",
        "new.onnx",
        "--format",
        "json",
    ]);
    let report: Value = serde_json::from_str(&run.out).expect("one JSON object");
    assert_eq!((run.code, &report["diagnostics"][0]["code"]), (1, &Value::from("shape-mismatch")));
    assert!(!folder.exists("new.onnx"));
}

#[test]
fn fix_fixes_sizes_after_its_repairs() {
    let folder = Folder::new("specialize-fix");
    folder.write(
        "m.onnxtxt",
        "<ir_version: 10, opset_import: [\"\" : 21]>
         g (float[N, 4] x, float16[4] w) => (y, float[N, 4] z) { s = Shape (x)  a = Add (x, w)  y = Reshape (a, s)  z = Relu (x) }",
    );
    let run = folder.run(&["fix", "m.onnxtxt", "--assume", "N=3", "-o", "new.onnx"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("1 value became a constant"), "{run:?}");
    let types = folder.run(&["infer", "new.onnx"]).out;
    assert!(types.contains("x") && !types.contains("N,") && !types.contains("Shape"), "{types}");
}

#[test]
fn tensors_in_other_files_decide_shapes_and_stay_there() {
    let folder = Folder::new("specialize-external");
    folder.write(
        "m.onnxtxt",
        "<ir_version: 10, opset_import: [\"\" : 21]>
         g (float[N, 4] x) => (y) <int64[2] to = [\"location\": \"to.bin\"], float[8] w = [\"location\": \"w.bin\"]> {
             r = Reshape (x, to)  s = Shape (r)  e = Expand (w, s)  y = Add (r, e) }",
    );
    folder.write("to.bin", [0_i64, 8].map(i64::to_le_bytes).concat());
    folder.write("w.bin", [0; 32]);
    let run = folder.run(&["specialize", "m.onnxtxt", "--assume", "N=6", "-o", "new.onnx"]);
    assert_eq!(run.code, 1, "zero copies the first extent, which does not fit: {run:?}");
    folder.write("to.bin", [3_i64, 8].map(i64::to_le_bytes).concat());
    let run = folder.run(&["specialize", "m.onnxtxt", "--assume", "N=6", "-o", "new.onnx"]);
    assert_eq!(run.code, 0, "{run:?}");
    let run = folder.run(&["run", "new.onnx"]);
    assert_eq!(run.code, 0, "{run:?}");
}

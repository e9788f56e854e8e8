//! `typeloom fix`: its output for programs, and what it states if nothing is written.

use std::path::Path;

use serde_json::Value;

use super::super::ci::schemas;
use super::support::Folder;

/// The lists of changes in the output.
const CHANGES: [&str; 8] =
    ["casts", "bypassed", "declarations", "diff", "moved", "fixed", "shapes", "copies"];

/// Models with changes of all kinds.
const MODELS: [&str; 4] = [
    "g (float[2] x, float16[2] w) => (float[2] y) <float16[2] s> { s = Add(x, w) y = Neg(s) }",
    "g (float[2] x, float[2] w) => (float16[2] h, float[2] y) {
        s = Cast <to = 10> (x)  h = Neg(s)  y = Add(s, w)
    }",
    "g (float[1, 2] x) => (y) <float[9] h> { y = Neg(h)  h = Squeeze <axes = [0]> (x) }",
    "g (float[N] x, double[N] y) => (float[N] z, double[N] w) { z = l.f(x)  w = l.f(y) }
     <opset_import: [\"\" : 13], domain: \"l\"> f (a) => (c) { t = Cast <to = 10> (a)  c = Add(t, a) }",
];

fn repair(folder: &Folder, arguments: &[&str]) -> Value {
    let run = folder.run(&[&["fix", "--dry-run", "--format", "json"][..], arguments].concat());
    assert!(run.code < 2, "{arguments:?}: {run:?}");
    schemas::repair(&run.out)
}

fn count(repair: &Value, list: &str) -> usize {
    repair[list].as_array().map_or(0, Vec::len)
}

#[test]
fn the_output_for_programs_has_a_schema() {
    let folder = Folder::new("fix-schema");
    let mut names: Vec<String> = Vec::new();
    for (at, graph) in MODELS.into_iter().enumerate() {
        names.push(format!("{at}.onnxtxt"));
        let opset = if graph.contains("l.f") { 13 } else { 21 };
        let head = format!("<ir_version: 10, opset_import: [\"\" : {opset}, \"l\" : 1]>");
        folder.write(&names[at], format!("{head} {graph}"));
    }
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/models");
    for name in ["compared.onnxtxt", "masked.onnxtxt", "twice.onnx", "wrapped.onnxtxt"] {
        names.push(models.join(name).display().to_string());
    }
    let mut seen: Vec<Value> = Vec::new();
    for name in &names {
        for options in [&["--partial"][..], &["--policy", "lossless"]] {
            seen.push(repair(&folder, &[&[name.as_str()], options].concat()));
        }
    }
    for list in CHANGES.into_iter().chain(["refused", "withheld", "diagnostics"]) {
        assert!(seen.iter().any(|repair| count(repair, list) > 0), "no model has `{list}`");
    }
}

#[test]
fn a_repair_that_is_not_written_lists_no_changes() {
    let folder = Folder::new("fix-refused");
    folder.model("m.onnx", "h = Squeeze <axes = [0]> (x)\ns = Add(x, n)\ny = MatMul(s, n)");
    let run = folder.run(&["fix", "m.onnx", "-o", "fixed.onnx"]);
    assert!(run.code == 1 && !folder.exists("fixed.onnx"), "{run:?}");
    assert!(run.out.contains("errors would remain"), "{}", run.out);
    assert!(!run.out.contains("pass `axes`") && !run.out.contains("keeps every value"), "{}", run.out);
    let refused = repair(&folder, &["m.onnx"]);
    assert!(CHANGES.iter().all(|list| count(&refused, list) == 0), "{refused:#}");
    assert_eq!((&refused["ok"], &refused["changed"]), (&Value::Bool(false), &Value::Bool(false)));
    let partial = repair(&folder, &["m.onnx", "--partial"]);
    assert!(count(&partial, "fixed") == 1 && count(&partial, "diagnostics") > 0, "{partial:#}");
}

#[test]
fn integers_in_side_files_are_compared_with_the_new_type() {
    let folder = Folder::new("fix-side-files");
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\n\
        main (uint8[2] x) => (uint8[2] y) <int64[2] w = [\"location\": \"w.bin\"]> { y = Add(x, w) }";
    folder.write(
        "m.onnx",
        typeloom_project::parts::onnx::text::model_bytes(text).expect("the text is a model"),
    );
    let with = |elements: [i64; 2]| {
        folder.write("w.bin", elements.map(i64::to_le_bytes).concat());
        folder.run(&["fix", "m.onnx", "-o", "fixed.onnx"])
    };
    let wrapped = with([1, 300]);
    assert!(wrapped.code == 1 && wrapped.out.contains("w: int64 -> uint8: 300 becomes 44"), "{wrapped:?}");
    let kept = with([1, 200]);
    assert!(kept.code == 0 && kept.out.contains("w: int64 -> uint8, keeps every value"), "{kept:?}");
}

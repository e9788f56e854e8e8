//! `typeloom run --compare`, with ONNX Runtime and with another model.
//!
//! The tests with ONNX Runtime need a Python interpreter with the package `onnxruntime`, as `TYPELOOM_PYTHON`
//! or `python3`. Without it they report that they are skipped, and fail under `CI=true`.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use super::support::{Folder, Run};

#[expect(clippy::print_stderr, reason = "reports that a test is skipped")]
fn python() -> Option<OsString> {
    let python = std::env::var_os("TYPELOOM_PYTHON").unwrap_or_else(|| "python3".into());
    let import = ["-c", "import onnxruntime"];
    let status = Command::new(&python).args(import).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if status.is_ok_and(|status| status.success()) {
        return Some(python);
    }
    assert!(std::env::var("CI").as_deref() != Ok("true"), "under CI, {python:?} needs onnxruntime");
    eprintln!("skipped: {python:?} has no onnxruntime");
    None
}

fn model(folder: &Folder, name: &str, text: &str) {
    let text = format!("<ir_version: 10, opset_import: [\"\": 21, \"ai.onnx.ml\": 3]> {text}");
    folder.write(
        name,
        typeloom_project::parts::onnx::text::model_bytes(&text)
            .unwrap_or_else(|error| panic!("{error}\n{text}")),
    );
}

fn run(folder: &Folder, python: &OsString, arguments: &[&str]) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_typeloom"))
        .args(["run", "m.onnx", "--compare", "ort"])
        .args(arguments)
        .current_dir(&folder.0)
        .env("TYPELOOM_PYTHON", python)
        .output()
        .expect("the command starts");
    Run {
        code: output.status.code().expect("the command exits"),
        out: String::from_utf8(output.stdout).expect("the output is text"),
        err: String::from_utf8(output.stderr).expect("the output is text"),
    }
}

/// The rows of the table of differences.
fn differences(run: &Run) -> Vec<String> {
    let rows = run.out.lines().skip_while(|line| !line.starts_with("differences from ONNX Runtime")).skip(1);
    let words = |row: &str| row.split_whitespace().collect::<Vec<_>>().join(" ");
    rows.map(words).collect()
}

#[test]
fn outputs_of_every_kind_are_compared_with_onnx_runtime() {
    let Some(python) = python() else { return };
    let folder = Folder::new("kinds");
    for (what, graph, arguments) in [
        (
            "numbers",
            "g (float[2] x, int64[N] n, uint8 u, double d) => (a, b, c, e) { a = Neg(x) b = Abs(n) c = Identity(u) e = Neg(d) }",
            &[][..],
        ),
        (
            "text and bools",
            "g (string[2] s, bool[3] b) => (t, c) { t = Identity(s) c = Not(b) }",
            &["-i", "s=[\"a\", \"ü\"]"],
        ),
        ("half precision", "g (float16[2] h) => (a) { a = Neg(h) }", &[]),
        (
            "types without NumPy",
            "g (bfloat16[2] b, float x) => (a, c) { a = Identity(b) c = Neg(x) }",
            &["-i", "b=[1, 2.5]"],
        ),
        ("types without NumPy, inside", "g (float[3] x) => (b) { b = Cast<to = 16>(x) }", &[]),
        ("four bits", "g (float[3] x) => (b) { b = Cast<to = 22>(x) }", &["-i", "x=[1, -2, 7]"]),
        ("sequences", "g (float[2] x) => (q, n) { q = SequenceConstruct(x, x) n = SequenceLength(q) }", &[]),
        (
            "sequences as inputs",
            "g (seq(float[2]) q) => (p, n) { p = SequenceInsert(q, x) n = SequenceLength(p) x = ReduceMax<keepdims = 0>(c, d) c = ConcatFromSequence<axis = 0, new_axis = 1>(q) d = Constant<value_ints = [0]>() }",
            &["--permissive"],
        ),
        (
            "maps",
            "g (map(string, float) w, map(int64, float) n, float[N, 2] x) => (row, cast, texts, maps, same) {\
               row = \"ai.onnx.ml\".DictVectorizer <string_vocabulary = [\"c\", \"b\", \"a\"]> (w)\
               cast = \"ai.onnx.ml\".CastMap <map_form = \"SPARSE\", max_map = 4> (n)\
               texts = \"ai.onnx.ml\".CastMap <cast_to = \"TO_STRING\"> (n)\
               maps = \"ai.onnx.ml\".ZipMap <classlabels_strings = [\"no\", \"ja\"]> (x)\
               same = \"ai.onnx.ml\".ZipMap <classlabels_int64s = [7, 7]> (x) }",
            &["-i", "w={\"a\": 1.5, \"c\": 2}", "-i", "n={\"3\": 0.1, \"0\": -2.25, \"9\": 1e10}"],
        ),
        ("no elements", "g (float[0, 2] x) => (y) { y = Neg(x) }", &[]),
        ("no inputs", "g () => (y) { y = Constant<value_float = 2.0>() }", &[]),
    ] {
        model(&folder, "m.onnx", graph);
        let run = run(&folder, &python, arguments);
        let rows = differences(&run);
        assert!(run.code == 0 && !rows.is_empty(), "{what}: {}{}", run.out, run.err);
        assert!(rows.iter().all(|row| row.ends_with(" equal")), "{what}: {rows:?}");
    }
}

#[test]
fn a_difference_beyond_the_tolerance_is_a_problem() {
    let Some(python) = python() else { return };
    let folder = Folder::new("beyond");
    // The operator has no seed, so each implementation chooses numbers of its own.
    model(&folder, "m.onnx", "g (float[2] x) => (y, z) { y = Neg(x) z = RandomUniform<shape = [64]>() }");
    let different = run(&folder, &python, &[]);
    let rows = differences(&different);
    assert_eq!((different.code, rows.len(), rows[0].as_str()), (1, 2, "y equal"), "{}", different.out);
    assert!(rows[1].contains("of 64 elements exceed the tolerance of 1.0e-4"), "{rows:?}");
    let tolerant = run(&folder, &python, &["--tolerance", "1.5"]);
    assert!(tolerant.code == 0 && tolerant.out.contains("within the tolerance of 1.5e0"), "{}", tolerant.out);
}

#[test]
fn external_data_is_found_next_to_the_model() {
    use typeloom_project::parts::onnx::messages::{ModelProto, StringStringEntryProto};
    use typeloom_project::parts::onnx::prost::Message as _;

    let Some(python) = python() else { return };
    let folder = Folder::new("external");
    let text = r#"<ir_version: 10, opset_import: ["": 21]>
        g (float[2] x) => (float[2] y) <float[2] w = {0, 0}> { t = Abs(x) y = Add(t, w) }"#;
    let bytes = typeloom_project::parts::onnx::text::model_bytes(text).expect("the text is a model");
    let mut model = ModelProto::decode(&bytes[..]).expect("the model is one");
    let weight = &mut model.graph.as_mut().expect("the model has a graph").initializer[0];
    weight.float_data.clear();
    weight.raw_data = None;
    weight.data_location = Some(1);
    let location =
        StringStringEntryProto { key: "location".into(), value: "w.bin".into(), ..Default::default() };
    weight.external_data = vec![location];
    folder.write("m.onnx", model.encode_to_vec());
    folder.write("w.bin", [3.0_f32, 4.0].map(f32::to_le_bytes).concat());
    let compared = run(&folder, &python, &["-i", "x=[1, 1]"]);
    assert_eq!(
        (compared.code, &differences(&compared)[..]),
        (0, &["y equal".to_owned()][..]),
        "{}",
        compared.out
    );
    assert!(compared.out.contains("4, 5"), "{}", compared.out);
    // ONNX Runtime rejects nodes in a wrong order. Permissive mode sorts them, so the model that runs is not
    // the file.
    model.graph.as_mut().expect("the model has a graph").node.swap(0, 1);
    folder.write("m.onnx", model.encode_to_vec());
    let sorted = run(&folder, &python, &["-i", "x=[1, 1]", "--permissive"]);
    assert_eq!(
        (sorted.code, &differences(&sorted)[..]),
        (0, &["y equal".to_owned()][..]),
        "{}{}",
        sorted.out,
        sorted.err
    );
}

#[test]
fn a_model_that_onnx_runtime_rejects_is_a_problem_with_its_message() {
    let Some(python) = python() else { return };
    let folder = Folder::new("rejected");
    model(&folder, "m.onnx", "g (double[2] x) => (y) { y = Tan(x) }");
    let rejected = run(&folder, &python, &[]);
    let last = rejected.out.lines().last().unwrap_or_default();
    assert!(
        rejected.code == 1 && last.starts_with("ONNX Runtime does not load the model: "),
        "{}",
        rejected.out
    );
    assert!(last.contains("NOT_IMPLEMENTED") && rejected.out.contains("outputs\n"), "{}", rejected.out);
}

#[test]
fn two_models_are_compared_with_the_tolerance_of_their_narrowest_type() {
    let folder = Folder::new("models");
    model(&folder, "wide.onnx", "g (float[N, 3] x, float[3, 2] w) => (y) { y = MatMul(x, w) }");
    model(
        &folder,
        "half.onnx",
        "g (float[N, 3] x, float[3, 2] w) => (y) {\
           a = Cast<to = 10>(x) b = Cast<to = 10>(w) c = MatMul(a, b) y = Cast<to = 1>(c) }",
    );
    let run = |arguments: &[&str]| folder.run(&[&["run"], arguments].concat());
    let last = |run: &Run| run.out.lines().last().unwrap_or_default().to_owned();
    for pair in [["wide.onnx", "half.onnx"], ["half.onnx", "wide.onnx"]] {
        let compared = run(&[pair[0], "--compare", pair[1]]);
        assert_eq!(compared.code, 0, "{}{}", compared.out, compared.err);
        assert!(compared.out.contains(&format!("\ndifferences from {}\n", pair[1])), "{}", compared.out);
        assert!(last(&compared).ends_with("within the tolerance of 7.8e-3 for float16"), "{}", compared.out);
    }
    let strict = run(&["wide.onnx", "--compare", "half.onnx", "--tolerance", "0"]);
    assert!(strict.code == 1 && last(&strict).contains("exceed the tolerance of 0.0e0"), "{}", strict.out);
    let same = run(&["wide.onnx", "--compare", "wide.onnx"]);
    assert_eq!((same.code, last(&same)), (0, "  y  equal".to_owned()));
}

#[test]
fn a_stored_tensor_of_a_narrow_type_widens_the_tolerance() {
    let folder = Folder::new("stored");
    model(&folder, "wide.onnx", "g (float[2] x) => (y) <float[1] w = {0.1}> { y = Mul(x, w) }");
    let half = "g (float[2] x) => (y) <float16[1] h = {11878}> { w = Cast<to = 1>(h) y = Mul(x, w) }";
    model(&folder, "half.onnx", half);
    let compared = folder.run(&["run", "wide.onnx", "--compare", "half.onnx", "-i", "x=[1, 100]"]);
    assert!(compared.code == 0 && compared.out.contains("7.8e-3 for float16"), "{}", compared.out);
}

#[test]
fn models_with_different_interfaces_are_not_compared() {
    let folder = Folder::new("interfaces");
    model(&folder, "a.onnx", "g (float[N, 3] x) => (y) { y = Neg(x) }");
    model(&folder, "type.onnx", "g (float16[N, 3] x) => (y) { z = Neg(x) y = Cast<to = 1>(z) }");
    model(&folder, "rank.onnx", "g (float[N] x) => (y) { y = Neg(x) }");
    model(&folder, "names.onnx", "g (float[N, 3] x, bool m) => (z) { z = Neg(x) m2 = Not(m) }");
    model(&folder, "fixed.onnx", "g (float[1, 3] x) => (y) { y = Neg(x) }");
    for (other, expected) in [
        (
            "type.onnx",
            "`a.onnx` and `type.onnx` have different interfaces: input `x`: float[N, 3] in `a.onnx`, \
             float16[N, 3] in `type.onnx`\n",
        ),
        (
            "rank.onnx",
            "`a.onnx` and `rank.onnx` have different interfaces: input `x`: float[N, 3] in `a.onnx`, float[N] in \
             `rank.onnx`; output `y`: float[N, 3] in `a.onnx`, float[N] in `rank.onnx`\n",
        ),
        (
            "names.onnx",
            "`a.onnx` and `names.onnx` have different interfaces: input `m`: bool in `names.onnx`, and no such input in \
             `a.onnx`; output `y`: float[N, 3] in `a.onnx`, and no such output in `names.onnx`; output `z`: float[N, 3] \
             in `names.onnx`, and no such output in `a.onnx`\n",
        ),
        (
            "fixed.onnx",
            "input `x`: float[5, 3] is not float[1, 3] in `fixed.onnx`; --size and --input choose other extents\n",
        ),
    ] {
        let compared = folder.run(&["run", "a.onnx", "--compare", other]);
        assert_eq!((compared.code, &*compared.out), (2, ""), "{other}: {}", compared.err);
        assert_eq!(compared.err, format!("typeloom: {expected}"));
    }
    let sized = folder.run(&["run", "a.onnx", "--compare", "fixed.onnx", "--size", "N=1"]);
    assert!(sized.code == 0 && sized.out.ends_with("  y  equal\n"), "{}{}", sized.out, sized.err);
    let missing = folder.run(&["run", "a.onnx", "--compare", "b.onnx"]);
    assert!(missing.code == 2 && missing.err.contains("cannot read `b.onnx`"), "{}", missing.err);
}

#[test]
fn an_interpreter_that_cannot_be_started_is_an_error_of_the_command() {
    let folder = Folder::new("missing");
    model(&folder, "m.onnx", "g (float[2] x) => (y) { y = Neg(x) }");
    let missing = run(&folder, &"does-not-exist".into(), &[]);
    assert_eq!(missing.code, 2, "{}", missing.err);
    assert!(
        missing.err.starts_with(
            "typeloom: cannot start `does-not-exist`, which runs ONNX Runtime; set TYPELOOM_PYTHON"
        ),
        "{}",
        missing.err
    );
    // The outputs are shown before the error.
    assert!(missing.out.contains("outputs\n"), "{}", missing.out);
    let alone = folder.run(&["run", "m.onnx", "--tolerance", "1"]);
    assert!(alone.code == 2 && alone.err.contains("--compare"), "{}", alone.err);
    for tolerance in ["-1", "nan", "much"] {
        let wrong = folder.run(&["run", "m.onnx", "--compare", "ort", &format!("--tolerance={tolerance}")]);
        assert!(wrong.code == 2 && wrong.err.contains("a tolerance is a number"), "{}", wrong.err);
    }
}

/// An interpreter that answers with a fixed text.
#[cfg(unix)]
fn answering(folder: &Folder, name: &str, answer: &str) -> OsString {
    use std::os::unix::fs::PermissionsExt as _;
    folder.write(name, format!("#!/bin/sh\ncat > \"$2/response.json\" <<'END'\n{answer}\nEND\n"));
    let path = folder.0.join(name);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("the mode is set");
    path.into()
}

#[test]
#[cfg(unix)]
fn an_answer_of_another_form_type_or_length_is_reported() {
    let folder = Folder::new("answers");
    model(&folder, "m.onnx", "g (string[1] s) => (y) { y = Identity(s) }");
    let with =
        |name: &str, answer: &str| run(&folder, &answering(&folder, name, answer), &["-i", "s=[\"a\"]"]);
    let missing = with("import", r#"{"error": "import", "message": "No module named 'onnxruntime'"}"#);
    assert_eq!(missing.code, 2, "{}", missing.out);
    assert!(
        missing.err.contains(
            "cannot import ONNX Runtime: No module named 'onnxruntime'; install it with `pip install"
        ),
        "{}",
        missing.err
    );
    let failed = with("run", r#"{"error": "run", "message": "two\nlines"}"#);
    assert!(
        failed.code == 1 && failed.out.ends_with("does not run the model: two lines\n"),
        "{}",
        failed.out
    );
    let one = |output: &str| format!(r#"{{"version": "9", "outputs": [{output}]}}"#);
    for (name, output, expected) in [
        ("equal", r#"{"type": 8, "shape": [1], "strings": ["a"]}"#, "y equal"),
        (
            "text",
            r#"{"type": 8, "shape": [1], "strings": ["b"]}"#,
            "y 1 of 1 element exceeds the tolerance of 0.0e0",
        ),
        (
            "shape",
            r#"{"type": 8, "shape": [], "strings": ["a"]}"#,
            "y string[1] here, string in the reference",
        ),
        ("nothing", r#"{"optional": null}"#, "y string[1] here, nothing in the reference"),
        ("map", r#"{"unsupported": "a map"}"#, "y not compared, because ONNX Runtime gives a map"),
    ] {
        let found = with(name, &one(output));
        assert_eq!(
            (found.code, &differences(&found)[..]),
            (i32::from(name != "equal"), &[expected.to_owned()][..])
        );
    }
    for (name, answer) in [
        ("none", "no JSON".to_owned()),
        ("count", one("")),
        ("type", one(r#"{"type": 999, "shape": [1]}"#)),
        ("file", one(r#"{"type": 1, "shape": [1], "file": "gone.bin"}"#)),
        ("length", one(r#"{"type": 8, "shape": [3], "strings": ["a"]}"#)),
    ] {
        let found = with(name, &answer);
        assert!(found.code == 2 && found.err.starts_with("typeloom: "), "{name}: {}{}", found.out, found.err);
    }
}

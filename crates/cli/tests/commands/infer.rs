//! `typeloom infer` with values, filters and a width.

use std::process::{Command, Stdio};

use serde_json::Value;

use super::support::{CLEAN, Folder};

const LAYERS: &str = "\
    [first] \"/layers.0/MatMul\" = MatMul(x, w)\n\
    [second] half = Cast<to = 10>(\"/layers.0/MatMul\")\n\
    [third] many = SequenceConstruct(half)\n\
    [size] shape = Shape(half)\n\
    [last] y = Cast<to = 1>(half)";

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 21]>\n\
         main (float[N, 4] x) => (y) <float[4, 4] w = {{{}}}> {{\n{LAYERS}\n}}",
        ["0"; 16].join(", ")
    );
    folder.write(
        "m.onnx",
        typeloom_project::parts::onnx::text::model_bytes(&text).unwrap_or_else(|error| panic!("{error}")),
    );
    folder
}

/// The names of the rows of a table.
fn shown(folder: &Folder, arguments: &[&str]) -> Vec<String> {
    let run = folder.run(&[&["infer", "m.onnx"], arguments].concat());
    assert_eq!(run.code, 0, "{}", run.err);
    let rows = run.out.lines().filter(|line| line.starts_with("  "));
    rows.filter_map(|row| row.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn values_are_shown_by_name_and_an_unknown_one_has_a_suggestion() {
    let folder = folder("values");
    assert_eq!(folder.run(&["infer", "m.onnx", "y", "w"]).out, {
        "m.onnx\ninitializers\n  w  float[4, 4]\noutputs\n  y  float[N, 4]  Cast\n"
    });
    let unknown = folder.run(&["infer", "m.onnx", "halv"]);
    assert_eq!(
        (unknown.code, unknown.out.as_str(), unknown.err.as_str()),
        (2, "", "typeloom: `m.onnx` has no value `halv`; did you mean `half`?\n")
    );
}

#[test]
fn several_models_are_given_as_a_folder() {
    let folder = folder("several");
    folder.model("n.onnx", CLEAN);
    let two = folder.run(&["infer", "m.onnx", "n.onnx"]);
    assert!(two.code == 2 && two.err.contains("several models are given as a folder"), "{}", two.err);
    let all = folder.run(&["infer", ".", "y"]);
    assert!(all.code == 0 && all.out.contains("./m.onnx") && all.out.contains("./n.onnx"), "{}", all.out);
    // Each model has to have the value.
    let one = folder.run(&["infer", ".", "half"]);
    assert!(one.code == 2 && one.out.contains("float16[N, 4]"), "{}", one.out);
    assert_eq!(one.err, "typeloom: `./n.onnx` has no value `half`\n");
}

#[test]
fn filters_select_by_type_name_and_operator() {
    let folder = folder("filters");
    for (filter, expected) in [
        ("float16", &["half"][..]),
        ("float*[N, *]", &["x", "/layers.0/MatMul", "half", "y"]),
        ("[..., 4]", &["x", "w", "/layers.0/MatMul", "half", "y"]),
        ("[2]", &["shape"]),
        ("seq(float16)", &["many"]),
        ("Cast", &["half", "y"]),
        ("*MatMul", &["/layers.0/MatMul"]),
        ("name:{half,w}", &["w", "half"]),
        ("op:S*", &["many", "shape"]),
        ("type:int*", &["shape"]),
    ] {
        assert_eq!(shown(&folder, &["--filter", filter]), expected, "{filter}");
    }
    assert_eq!(shown(&folder, &["-f", "Cast", "-f", "float[...]"]), ["y"]);
    assert_eq!(shown(&folder, &["half", "y", "-f", "float16"]), ["half"]);
    assert_eq!(folder.run(&["infer", "m.onnx", "-f", "double"]).out, "m.onnx: no value matches\n");
    let wrong = folder.run(&["infer", "m.onnx", "-f", "[2"]);
    assert!(wrong.code == 2 && wrong.err.starts_with("typeloom: `[2`: a type is written"), "{}", wrong.err);
}

#[test]
fn the_json_contains_the_selected_values() {
    let folder = folder("json");
    let json = |arguments: &[&str]| -> Value {
        let run = folder.run(&[&["infer", "m.onnx", "--format", "json"], arguments].concat());
        serde_json::from_str(&run.out).expect("the output is JSON")
    };
    let keys = |object: &Value| object.as_object().map(|it| it.keys().cloned().collect::<Vec<_>>());
    let found = json(&["w", "half"]);
    assert_eq!(keys(&found["initializers"]), Some(vec!["w".to_owned()]));
    assert_eq!(keys(&found["value_info"]), Some(vec!["half".to_owned()]));
    assert_eq!((keys(&found["inputs"]), keys(&found["outputs"])), (Some(vec![]), Some(vec![])));
    // The format without a selection has no initializers.
    assert_eq!(json(&[])["initializers"], Value::Null);
}

#[test]
fn values_of_nested_graphs_are_selected_and_other_graphs_are_left_out() {
    let folder = Folder::new("nested");
    folder.model(
        "m.onnx",
        "c = Constant<value = bool {1}>()\n\
         y = If(c) <then_branch = a () => (p) { inner = Relu(x) p = Neg(inner) }, \
         else_branch = b () => (q) { q = Neg(x) }>",
    );
    let run = folder.run(&["infer", "m.onnx", "inner"]);
    assert_eq!(run.out, "m.onnx\n/1:If.then_branch\nvalues\n  inner  float[N, 4]  Relu\n", "{}", run.err);
    let json: Value =
        serde_json::from_str(&folder.run(&["infer", "m.onnx", "inner", "--format", "json"]).out)
            .expect("JSON");
    assert_eq!(json["sub"].as_array().map(Vec::len), Some(1), "{json}");
}

#[test]
fn a_table_has_the_given_width_and_whole_names() {
    let folder = folder("width");
    let table = folder.run(&["infer", "m.onnx", "-f", "float*[N, *]", "--width", "26"]).out;
    assert!(table.lines().all(|line| line.chars().count() <= 26), "{table}");
    assert!(table.contains("\n  /layers.0/\n    MatMul\n      float[N, 4]  MatMul\n  half\n"), "{table}");
    // A wide table and no limit are the same.
    let full = folder.run(&["infer", "m.onnx", "--width", "0"]).out;
    assert_eq!(folder.run(&["infer", "m.onnx", "--width", "500"]).out, full);
    assert!(full.contains("\n  /layers.0/MatMul  float[N, 4]"), "{full}");
}

#[test]
fn only_a_terminal_has_a_width() {
    let folder = folder("terminal");
    let command = env!("CARGO_BIN_EXE_typeloom");
    let piped = Command::new(command)
        .args(["infer", "m.onnx"])
        .current_dir(&folder.0)
        .env("COLUMNS", "30")
        .output()
        .expect("the command starts");
    assert!(String::from_utf8_lossy(&piped.stdout).contains("\n  /layers.0/MatMul  float[N, 4]"));
    // `script` of util-linux runs a command on a terminal.
    let terminal = Command::new("script")
        .args(["-qec", &format!("'{command}' infer m.onnx -f 'float*[N, *]'"), "/dev/null"])
        .current_dir(&folder.0)
        .env("COLUMNS", "26")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output();
    let Ok(terminal) = terminal.map(|it| String::from_utf8_lossy(&it.stdout).into_owned()) else {
        eprintln!("skipped: `script` is not installed");
        return;
    };
    if !terminal.contains("m.onnx") {
        eprintln!("skipped: `script` does not run commands here: {terminal}");
        return;
    }
    assert!(terminal.lines().any(|line| line.trim_end() == "  /layers.0/"), "{terminal}");
    assert!(terminal.lines().all(|line| line.trim_end().chars().count() <= 26), "{terminal}");
}

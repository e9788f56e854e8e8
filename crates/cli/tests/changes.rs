//! Pages with the changes between two models: `view OLD NEW`, and `--view` of `fix`, `annotate` and
//! `compile`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn typeloom(arguments: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_typeloom"));
    command.current_dir(root).args(arguments).output().expect("the command starts")
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The rows of the table of changes in a page.
fn rows(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).expect("the page is written");
    let (_, rest) = text.split_once("<main id=\"fallback\">").expect("the page has a table");
    let Some((_, rest)) = rest.split_once("item and differences") else { return Vec::new() };
    let (table, _) = rest.split_once("</table>").expect("the table ends");
    let rows = table.lines().filter_map(|line| line.strip_prefix("<tr><td>"));
    rows.map(|row| row.replace("</td><td>", " ").replace("</td></tr>", "")).collect()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("the folder is made")
}

fn name(path: &Path) -> &str {
    path.to_str().expect("the name is text")
}

fn model(folder: &Path, file: &str, text: &str) -> PathBuf {
    let path = folder.join(file);
    std::fs::write(
        &path,
        typeloom_project::parts::onnx::text::model_bytes(text).expect("the text is a model"),
    )
    .expect("the model is written");
    path
}

#[test]
fn a_repair_is_shown_with_its_casts() {
    let folder = folder();
    let (fixed, page) = (folder.path().join("fixed.onnx"), folder.path().join("page.html"));
    let broken = "spec/models/mixed.onnx";
    let output = typeloom(&["fix", broken, "-o", name(&fixed), "--view", name(&page)]);
    assert!(output.status.success() && text(&output).contains("page.html: 3 changes"), "{}", text(&output));
    let expected = [
        "added Cast Cast_mask_as_float",
        "changed Add of masked: input 1: mask -&gt; mask_as_float",
        "changed masked: error -&gt; float[batch, seq, seq]",
    ];
    assert_eq!(rows(&page), expected);
    // The same page as for the two files, except for their names.
    let other = folder.path().join("other.html");
    let output = typeloom(&["view", broken, name(&fixed), "-o", name(&other)]);
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(rows(&other), expected);
}

#[test]
fn annotations_and_their_removal_are_no_changes() {
    let folder = folder();
    let (annotated, page) = (folder.path().join("annotated.onnx"), folder.path().join("page.html"));
    let output =
        typeloom(&["annotate", "models/control_flow.onnx", "-o", name(&annotated), "--view", name(&page)]);
    assert!(text(&output).contains("page.html: 0 changes"), "{}", text(&output));
    assert!(std::fs::read_to_string(&page).expect("the page").contains("The models have no differences."));
    let stripped = folder.path().join("stripped.onnx");
    let output =
        typeloom(&["annotate", name(&annotated), "--strip", "-o", name(&stripped), "--view", name(&page)]);
    assert!(text(&output).contains("page.html: 0 changes"), "{}", text(&output));
}

#[test]
fn standard_output_is_the_changed_model_only() {
    let folder = folder();
    let page = folder.path().join("page.html");
    let plain = typeloom(&["fix", "spec/models/mixed.onnx", "-o", "-"]);
    let shown = typeloom(&["fix", "spec/models/mixed.onnx", "-o", "-", "--view", name(&page)]);
    assert!(!plain.stdout.is_empty() && plain.stdout == shown.stdout);
    assert_eq!(rows(&page).len(), 3);
}

#[test]
fn a_pass_of_the_compiler_is_shown_with_its_changes() {
    let folder = folder();
    let page = folder.path().join("page.html");
    let call = model(
        folder.path(),
        "call.onnx",
        "<ir_version: 10, opset_import: [\"\" : 21, \"l\" : 1]>
         g (float[N] x) => (y) { h = l.f(x)  y = Relu(h) }
         <domain: \"l\", opset_import: [\"\" : 21]> f (a) => (b) { t = Neg(a)  b = Abs(t) }",
    );
    let output = typeloom(&["compile", name(&call), "--after", "expand", "--view", name(&page)]);
    assert!(output.status.success(), "{}", text(&output));
    let rows = rows(&page);
    assert!(rows.iter().any(|row| row.starts_with("added Neg")), "{rows:#?}");
    assert!(rows.iter().any(|row| row.starts_with("added Abs") || row.contains("-&gt; Abs")), "{rows:#?}");
    // The number of passes does not include the one that keeps the model.
    let compiled = folder.path().join("compiled.onnx");
    let counts = [&[][..], &["--after", "expand", "--view", name(&page)]].map(|more| {
        let output = typeloom(&[&["compile", name(&call), "-o", name(&compiled)], more].concat());
        text(&output).lines().find(|line| line.ends_with("passes")).expect("the passes").to_owned()
    });
    assert_eq!(counts[0], counts[1]);
}

#[test]
fn compiled_and_repaired_models_have_the_changes_of_their_operators_only() {
    let folder = folder();
    let compiled = folder.path().join("compiled.onnx");
    let page = folder.path().join("page.html");
    for file in ["models/classifier.onnx", "models/control_flow.onnx", "models/decoder.onnx"] {
        let output = typeloom(&["compile", file, "-o", name(&compiled)]);
        assert!(output.status.success(), "{}", text(&output));
        let output = typeloom(&["view", file, name(&compiled), "-o", name(&page)]);
        assert!(text(&output).contains("page.html: 0 changes"), "{file}: {}", text(&output));
    }
}

#[test]
fn pages_replace_no_model() {
    let folder = folder();
    let copy = folder.path().join("copy.onnx");
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/models/mixed.onnx"), &copy)
        .expect("a copy");
    let before = std::fs::read(&copy).expect("the copy");
    let fixed = folder.path().join("fixed.onnx");
    for arguments in [
        &["fix", name(&copy), "--dry-run", "--view", name(&copy)][..],
        &["fix", name(&copy), "-o", name(&fixed), "--view", name(&fixed)],
        &["fix", name(&copy), "--dry-run", "--view", "-"],
        &["view", name(&copy), "spec/models/scorer.onnx", "-o", name(&copy)],
        &["view", "spec/models/scorer.onnx", name(&copy), "-o", name(&copy)],
        &["compile", name(&copy), "--view", name(&fixed)],
    ] {
        let output = typeloom(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output));
    }
    assert_eq!(std::fs::read(&copy).expect("the copy"), before);
    assert!(!fixed.exists());
}

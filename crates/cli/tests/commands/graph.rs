//! Pictures of `typeloom view`: formats, outputs, and the pictures of the documents.

use std::path::Path;
use std::process::Command;

use super::support::Folder;

/// The pictures of the documents, with the arguments that draw them.
const PICTURES: [(&str, &[&str]); 3] = [
    ("decoder", &["view", "--svg", "models/decoder.onnx", "--depth", "0"]),
    ("attention", &["view", "--svg", "spec/models/mixed.onnx"]),
    ("changes", &["view", "--svg", "spec/models/scorer.onnx", "spec/models/scorer3.onnx"]),
];

/// A model with a value of an unknown operator, and one of a symbol.
fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    let text = "<ir_version: 10, opset_import: [\"\": 21, \"my\" : 1]>\n\
        main (float[N] x) => (z) { y = Neg(x) z = my.Op(y) }";
    folder.write(
        "m.onnx",
        typeloom_project::parts::onnx::text::model_bytes(text).unwrap_or_else(|error| panic!("{error}")),
    );
    folder
}

#[test]
fn the_pictures_of_the_documents_are_the_current_ones() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let bless = std::env::var_os("TYPELOOM_BLESS").is_some();
    for (name, arguments) in PICTURES {
        let mut command = Command::new(env!("CARGO_BIN_EXE_typeloom"));
        let output = command.current_dir(&root).args(arguments).output();
        let drawn = output.expect("the command starts").stdout;
        let file = root.join(format!("docs/pictures/{name}.svg"));
        if bless {
            std::fs::write(&file, &drawn).expect("the picture is written");
        }
        let is_current = std::fs::read(&file).is_ok_and(|recorded| recorded == drawn);
        assert!(is_current, "{} is not the picture; TYPELOOM_BLESS=1 records it", file.display());
    }
}

#[test]
fn the_name_of_the_output_decides_the_format() {
    let folder = folder("graph-format");
    for (file, start) in
        [("a.svg", "<svg "), ("a.dot", "digraph "), ("a.gv", "digraph "), ("a.mmd", "flowchart ")]
    {
        let run = folder.run(&["view", "m.onnx", "--permissive", "-o", file]);
        assert_eq!((run.code, run.out), (0, format!("m.onnx -> {file}: 2 nodes\n")), "{}", run.err);
        assert!(folder.read(file).starts_with(start), "{file}");
    }
    let run = folder.run(&["view", "m.onnx", "--permissive", "--dot", "-o", "b.svg"]);
    assert!(run.code == 0 && folder.read("b.svg").starts_with("digraph "));
    assert_eq!(folder.run(&["view", "m.onnx", "--dot", "--svg"]).code, 2);
}

#[test]
fn the_earlier_name_draws_mermaid_by_default() {
    let folder = folder("graph-renamed");
    for (output, start) in [("a.md", "flowchart "), ("a.svg", "<svg ")] {
        let run = folder.run(&["graph", "m.onnx", "--permissive", "-o", output]);
        assert!(run.code == 0 && run.err.contains("is now `typeloom view`"), "{}", run.err);
        assert!(folder.read(output).starts_with(start), "{output}");
    }
}

#[test]
fn seeds_and_symbols_change_the_types() {
    let folder = folder("graph-seeds");
    let run =
        folder.run(&["view", "--dot", "m.onnx", "--permissive", "--assume", "N=7", "--seed", "z=float[3]"]);
    assert!(run.out.contains("float[7]") && run.out.contains("float[3]"), "{}{}", run.out, run.err);
}

#[test]
fn a_model_with_problems_is_drawn_and_the_exit_code_is_that_of_problems() {
    let folder = folder("graph-problems");
    let run = folder.run(&["view", "--mermaid", "m.onnx"]);
    assert!(run.code == 1 && run.out.contains("unknown-operator\"]:::error"), "{}{}", run.out, run.err);
}

#[test]
fn the_model_is_never_replaced() {
    let folder = folder("graph-replace");
    let before = std::fs::read(folder.0.join("m.onnx")).expect("the model can be read");
    for output in ["m.onnx", "./m.onnx"] {
        let run = folder.run(&["view", "m.onnx", "-o", output]);
        assert_eq!(run.code, 2);
        assert!(run.err.contains("is the model itself"), "{}", run.err);
    }
    assert_eq!(std::fs::read(folder.0.join("m.onnx")).ok(), Some(before));
}

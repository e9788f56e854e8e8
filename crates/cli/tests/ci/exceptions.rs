use super::support::{Folder, MIXED};

#[test]
fn exceptions_of_a_model_are_listed_and_can_be_disabled() {
    let folder = Folder::new("inline");
    folder.model_with("m.onnx", ", metadata_props: [\"typeloom.allow\": \"wrong-rank, element-*\"]", MIXED);
    let run = folder.run(&["check", "m.onnx"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("1 allowed by the model (element-type-mismatch)"), "{run:?}");
    assert_eq!(folder.run(&["check", "m.onnx", "--no-inline"]).code, 1);
    folder.write("typeloom.toml", "inline = false\n");
    assert_eq!(folder.run(&["check", "m.onnx"]).code, 1);
}

#[test]
fn exceptions_of_a_node_concern_that_node() {
    let folder = Folder::new("inline-node");
    let node = |name: &str, output: &str, note: &str| format!("[{name}] {output} = Add(x, n){note}");
    let note = " @{metadata_props: [\"typeloom.allow\": \"types\"]}";
    folder.model("m.onnx", &format!("{}\n{}\ny = Identity(x)", node("a", "p", note), node("b", "q", "")));
    let found = folder.problems(&["m.onnx"]);
    // Both nodes have one cause; an exception for one of them does not hide the other.
    assert_eq!(found.len(), 1, "{found:?}");
    folder.model("m.onnx", &format!("{}\n{}\ny = Identity(x)", node("a", "p", note), node("b", "q", note)));
    assert_eq!(folder.problems(&["m.onnx"]), [""; 0]);
}

#[test]
fn an_exception_without_a_code_is_shown() {
    let folder = Folder::new("inline-unknown");
    folder.model_with("m.onnx", ", metadata_props: [\"typeloom.allow\": \"element-type-mismach\"]", MIXED);
    let run = folder.run(&["check", "m.onnx"]);
    assert_eq!(run.code, 1);
    assert!(
        run.out.contains("`typeloom.allow` of the model names no code: `element-type-mismach`"),
        "{run:?}"
    );
}

#[test]
fn exceptions_of_nodes_in_nested_graphs_and_of_graphs_count() {
    let folder = Folder::new("inline-nested");
    let branches = |note: &str| {
        format!(
            "k = Constant <value = bool {{1}}> ()\n y = If(k) <then_branch = t () => (p) {{ q = Abs(x) p = Add(q, n){note} }}, \
             else_branch = e () => (r) {{ r = Relu(x) }}>"
        )
    };
    folder.model("m.onnx", &branches(""));
    let found = folder.problems(&["m.onnx"]);
    assert!(
        found.iter().any(|line| line.contains("#1 Add in /1:If.then_branch: element-type-mismatch")),
        "{found:?}"
    );
    folder.model("m.onnx", &branches(" @{metadata_props: [\"typeloom.allow\": \"all\"]}"));
    let found = folder.problems(&["m.onnx"]);
    assert!(!found.iter().any(|line| line.contains("element-type-mismatch")), "{found:?}");
}

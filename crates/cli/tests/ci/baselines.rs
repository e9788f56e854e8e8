use super::support::{CLEAN, Folder, MIXED};

const UNKNOWN: &str = "[first] h = Reluu(x)\n[second] y = Neg(h)";

#[test]
fn a_baseline_has_to_exist_unless_it_is_updated() {
    let folder = Folder::new("baseline-missing");
    folder.model("m.onnx", MIXED);
    let run = folder.run(&["check", "m.onnx", "--baseline", "none.json"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(
        run.err.contains("cannot read the baseline `none.json`; --update-baseline writes a new one"),
        "{run:?}"
    );
    let run = folder.run(&["check", "m.onnx", "--update-baseline"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.err.contains("--update-baseline needs a baseline"), "{run:?}");
    folder.write("other.json", "[]");
    assert_eq!(folder.run(&["check", "m.onnx", "--baseline", "other.json"]).code, 2);
}

#[test]
fn an_update_of_some_files_keeps_the_entries_of_the_others() {
    let folder = Folder::new("baseline-part");
    for name in ["a.onnx", "b.onnx", "c.onnx"] {
        folder.model(name, MIXED);
    }
    assert_eq!(folder.run(&["check", ".", "--baseline", "k.json", "--update-baseline"]).code, 0);
    folder.model("a.onnx", CLEAN);
    std::fs::remove_file(folder.0.join("c.onnx")).expect("the file is removed");
    let check = folder.run(&["check", "a.onnx", "--baseline", "k.json", "--quiet"]);
    assert_eq!((check.code, check.out.as_str()), (0, "1 file: no problems, 2 fixed\n"), "{check:?}");
    let update = folder.run(&["check", "a.onnx", "--baseline", "k.json", "--update-baseline"]);
    assert!(update.err.contains("k.json: 1 problem, 0 new, 2 fixed"), "{update:?}");
    assert!(folder.read("k.json").contains("b.onnx"));
}

#[test]
fn models_with_nodes_of_the_same_names_have_entries_of_their_own() {
    let folder = Folder::new("baseline-names");
    folder.model("a.onnx", CLEAN);
    folder.model("b.onnx", MIXED);
    assert_eq!(folder.run(&["check", ".", "--baseline", "k.json", "--update-baseline"]).code, 0);
    folder.model("a.onnx", MIXED);
    let found = folder.problems(&[".", "--baseline", "k.json"]);
    assert!(matches!(&found[..], [line] if line.starts_with("./a.onnx: second: ")), "{found:?}");
}

#[test]
fn another_problem_at_the_same_node_is_new() {
    let folder = Folder::new("baseline-values");
    let wrong = |input: &str| format!("[first] h = Relu(x)\n m = Abs(n)\n[second] y = Add(h, {input})");
    folder.model("a.onnx", &wrong("n"));
    assert_eq!(folder.run(&["check", ".", "--baseline", "k.json", "--update-baseline"]).code, 0);
    assert_eq!(folder.problems(&[".", "--baseline", "k.json"]), [""; 0]);
    folder.model("a.onnx", &wrong("m"));
    assert_eq!(folder.problems(&[".", "--baseline", "k.json"]).len(), 1, "the value differs");
    folder.model("a.onnx", UNKNOWN);
    assert_eq!(folder.problems(&[".", "--baseline", "k.json"]).len(), 1, "the code differs");
}

#[test]
fn a_model_with_known_problems_is_not_reported_as_ok_alone() {
    let folder = Folder::new("known");
    folder.model("m.onnx", MIXED);
    folder.run(&["check", "m.onnx", "--baseline", "known.json", "--update-baseline"]);
    let formats = ["concise=c.txt", "json=j.json", "junit=j.xml", "markdown=m.md"];
    let arguments = ["check", "m.onnx", "--baseline", "known.json", "--format", "human"];
    let mut arguments = arguments.to_vec();
    arguments.extend(formats.iter().flat_map(|format| ["--format", format]));
    let run = folder.run(&arguments);
    let line = "m.onnx: ok, 1 known, ";
    assert!(run.code == 0 && run.out.starts_with(line), "{run:?}");
    assert!(folder.read("c.txt").starts_with(line), "{}", folder.read("c.txt"));
    assert!(folder.read("j.json").contains("\"known\":1"));
    assert!(folder.read("j.xml").contains("<system-out>1 known</system-out>"), "{}", folder.read("j.xml"));
    assert!(folder.read("m.md").ends_with("**1 file: no problems, 1 known**\n"), "{}", folder.read("m.md"));
}

#[test]
fn nodes_without_names_are_known_by_their_outputs() {
    let folder = Folder::new("baseline-unnamed");
    folder.model("a.onnx", "h = Relu(x)\n y = Add(h, n)");
    assert_eq!(folder.run(&["check", ".", "--baseline", "k.json", "--update-baseline"]).code, 0);
    folder.model("a.onnx", "a = Abs(x)\n b = Abs(x)\n h = Relu(x)\n y = Add(h, n)");
    assert_eq!(folder.problems(&[".", "--baseline", "k.json"]), [""; 0]);
    folder.model("a.onnx", "h = Relu(x)\n z = Add(h, n)\n y = Add(h, n)");
    assert_eq!(folder.problems(&[".", "--baseline", "k.json"]).len(), 1);
}

#[test]
fn the_baseline_of_a_settings_file_is_next_to_it() {
    let folder = Folder::new("baseline-settings");
    folder.write("sub/typeloom.toml", "baseline = \"known.json\"\n");
    folder.model("sub/a.onnx", MIXED);
    assert_eq!(folder.run(&["check", "sub", "--update-baseline"]).code, 0);
    assert!(folder.read("sub/known.json").contains("\"file\":\"a.onnx\""));
    assert_eq!(folder.run(&["check", "sub"]).code, 0);
    assert_eq!(folder.run(&["check", "sub", "--no-config"]).code, 1);
}

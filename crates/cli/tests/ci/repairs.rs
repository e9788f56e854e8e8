//! `check --fix`.

use super::support::{CLEAN, Folder, MIXED, text_of};

/// An error that no repair removes.
const HOPELESS: &str = "h = Concat (x, x)\ny = Neg(h)";

/// Two errors, of which one can be repaired.
const HALF: &str = "h = Relu(x)\ny = Add(h, n)\nz = Reluu(x)";

fn bytes(folder: &Folder, name: &str) -> Vec<u8> {
    std::fs::read(folder.0.join(name)).expect("the model is read")
}

#[test]
fn models_with_errors_are_repaired_in_place_and_the_changes_are_shown() {
    let folder = Folder::new("check-fix");
    folder.model("clean.onnx", CLEAN);
    folder.model("mixed.onnx", MIXED);
    folder.model("hopeless.onnx", HOPELESS);
    let before = ["clean.onnx", "hopeless.onnx"].map(|name| bytes(&folder, name));
    let run = folder.run(&["check", "--fix"]);
    assert_eq!(run.code, 1, "the other error remains: {run:?}");
    for part in ["--- mixed.onnx\n+++ mixed.onnx\n", "mixed.onnx: fixed, 1 cast inserted", "mixed.onnx: ok, "]
    {
        assert!(run.out.contains(part), "{part}: {run:?}");
    }
    assert_eq!(["clean.onnx", "hopeless.onnx"].map(|name| bytes(&folder, name)), before);
    assert_eq!(folder.run(&["check", "mixed.onnx"]).code, 0);
    let repeated = folder.run(&["check", "mixed.onnx", "--fix"]);
    assert!(repeated.code == 0 && !repeated.out.contains("fixed"), "{repeated:?}");
}

#[test]
fn a_report_for_programs_has_no_changes_in_it() {
    let folder = Folder::new("check-fix-json");
    folder.model("m.onnx", MIXED);
    let run = folder.run(&["check", "--fix", "--format", "json"]);
    assert_eq!((run.code, run.out.lines().count()), (0, 1), "{run:?}");
    assert!(run.out.contains("\"status\":\"clean\"") && run.err.contains("+++ m.onnx"), "{run:?}");
}

#[test]
fn some_errors_can_remain_in_a_written_model() {
    let folder = Folder::new("check-fix-half");
    folder.model("m.onnx", HALF);
    assert!(folder.run(&["check", "m.onnx"]).out.ends_with("m.onnx: 2 errors\n"));
    let run = folder.run(&["check", "m.onnx", "--fix"]);
    assert!(run.code == 1 && run.out.ends_with("m.onnx: 1 error\n"), "{run:?}");
    assert!(folder.run(&["check", "m.onnx"]).out.ends_with("m.onnx: 1 error\n"));
}

#[test]
fn unsafe_repairs_are_marked_and_need_their_option() {
    let folder = Folder::new("check-fix-unsafe");
    let text = include_str!("../../../../spec/models/compared.onnxtxt");
    let model = typeloom_project::parts::onnx::text::model_bytes(text).expect("the text is a model");
    folder.write("m.onnx", &model);
    let run = folder.run(&["check", "m.onnx", "--fix"]);
    let withheld = "unsafe, not applied: limit: float -> int64: ";
    assert!(run.code == 1 && run.out.contains(withheld), "{run:?}");
    assert_eq!(bytes(&folder, "m.onnx"), model);
    let run = folder.run(&["check", "m.onnx", "--fix", "--unsafe-fixes"]);
    assert!(run.code == 0 && run.out.contains("unsafe, applied: import opset 11"), "{run:?}");
    assert_ne!(bytes(&folder, "m.onnx"), model);
    let alone = folder.run(&["check", "m.onnx", "--unsafe-fixes"]);
    assert!(alone.code == 2 && alone.err.contains("--fix"), "{alone:?}");
}

#[test]
fn only_models_in_files_are_replaced() {
    let folder = Folder::new("check-fix-files");
    folder.write("m.onnxtxt", text_of("", MIXED));
    let text = folder.read("m.onnxtxt");
    let run = folder.run(&["check", "m.onnxtxt", "--fix"]);
    assert!(run.code == 1 && run.out.contains("a text is not replaced"), "{run:?}");
    assert_eq!(folder.read("m.onnxtxt"), text);
    let run = folder.run_with_input(&["check", "-", "--fix"], &text);
    assert!(run.code == 2 && run.err.contains("standard input"), "{run:?}");
    folder.write("no.onnx", "not a model");
    assert_eq!(folder.run(&["check", "no.onnx", "--fix"]).code, 1);
    assert_eq!(folder.read("no.onnx"), "not a model");
}

#[test]
fn changes_for_a_target_are_written_if_fewer_issues_remain() {
    let folder = Folder::new("check-fix-target");
    let table = |without: &str| {
        format!(
            "typeloom-measured 1\nsource test 1\ndevice Board\nthrough onnxruntime Board\nop ai.onnx::Softmax 2\n  \
             version 1 11 13\n  given.axis false true\n  tree {{1:0{without}1+}}\n"
        )
    };
    // Once the node is rejected, once it runs on the CPU.
    for (outcome, code) in [("-", 1), ("~", 0)] {
        folder.write("board.txt", table(outcome));
        folder.model("m.onnx", "y = Softmax(x)");
        let before = bytes(&folder, "m.onnx");
        let check = ["check", "m.onnx", "--targets", "board.txt"];
        assert_eq!(folder.run(&check).code, code, "{outcome}");
        let run = folder.run(&[&check[..], &["--fix"]].concat());
        assert!(
            run.code == 0 && run.out.contains("(for board)") && run.out.contains("runs on board"),
            "{run:?}"
        );
        assert_ne!(bytes(&folder, "m.onnx"), before, "{outcome}");
        let repeated = folder.run(&[&check[..], &["--fix"]].concat());
        assert!(repeated.code == 0 && !repeated.out.contains("fixed"), "{repeated:?}");
    }
}

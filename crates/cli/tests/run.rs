//! The models of the repository run from end to end, every value held against its solved type.

use std::path::Path;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_typeloom"));
    command.arg("run").args(arguments).current_dir(root);
    command.output().expect("the command starts")
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn every_model_runs_and_no_value_contradicts_its_type() {
    for model in ["classifier", "control_flow", "decoder", "decoder24", "baked_length_fixed"] {
        for seed in ["0", "1", "2"] {
            let file = format!("models/{model}.onnx");
            let output = run(&[&file, "--verify", "--random-seed", seed]);
            assert!(output.status.success(), "{model}: {}", text(&output));
            assert!(text(&output).contains("verified: "), "{model}: {}", text(&output));
        }
    }
}

#[test]
fn outputs_are_saved_and_read_back_as_inputs() {
    let folder = std::env::temp_dir().join(format!("typeloom-run-{}", std::process::id()));
    let target = folder.display().to_string();
    let output = run(&["models/classifier.onnx", "--output", &target]);
    assert!(output.status.success(), "{}", text(&output));
    let saved: Vec<_> = std::fs::read_dir(&folder).expect("the folder was made").flatten().collect();
    assert!(
        !saved.is_empty() && saved.iter().all(|entry| entry.path().extension().is_some_and(|it| it == "npy"))
    );
    // An output is not of the input's type.
    let wrong = format!("nobody={}", saved[0].path().display());
    let output = run(&["models/classifier.onnx", "--input", &wrong]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("the model has no input `nobody`"), "{}", text(&output));
    std::fs::remove_dir_all(&folder).expect("the folder is removed");
}

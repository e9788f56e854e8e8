//! The models of the repository run from end to end, and every value is compared with its solved type.

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

/// A model whose one weight is in another file.
fn with_side_file(location: &str) -> Vec<u8> {
    use typeloom_project::parts::onnx::messages::StringStringEntryProto;
    use typeloom_project::parts::onnx::prost::Message as _;
    let text = r#"<ir_version: 10, opset_import: ["" : 21]>
        g (float[2] x) => (float[2] y) <float[2] w = {0, 0}> { zero = Sub(x, x)  y = Add(zero, w) }"#;
    let bytes = typeloom_project::parts::onnx::text::model_bytes(text).expect("the text is a model");
    let mut model =
        typeloom_project::parts::onnx::messages::ModelProto::decode(&bytes[..]).expect("the model is one");
    let weight = &mut model.graph.as_mut().expect("the model has a graph").initializer[0];
    weight.float_data.clear();
    weight.raw_data = None;
    weight.data_location = Some(1);
    weight.external_data = vec![StringStringEntryProto {
        key: "location".into(),
        value: location.into(),
        ..StringStringEntryProto::default()
    }];
    model.encode_to_vec()
}

#[test]
#[cfg(unix)]
fn side_files_are_read_from_the_models_folder_and_nowhere_else() {
    let root = std::env::temp_dir().join(format!("typeloom-side-{}", std::process::id()));
    let folder = root.join("model");
    std::fs::create_dir_all(&folder).expect("the folder is made");
    let weights: Vec<u8> = [3.0_f32, 4.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    for (path, bytes) in [("w.bin", &weights[..]), ("short.bin", &weights[..4]), ("linked.bin", &weights)] {
        std::fs::write(folder.join(path), bytes).expect("the file is written");
    }
    std::fs::write(root.join("outside.bin"), &weights).expect("the file is written");
    std::os::unix::fs::symlink(root.join("outside.bin"), folder.join("link.bin")).expect("the link is made");
    std::fs::hard_link(folder.join("linked.bin"), root.join("other.bin")).expect("the link is made");
    let refused = [
        ("link.bin", "a link"),
        ("linked.bin", "has several hard links"),
        ("../outside.bin", "not a path inside the model's folder"),
        ("/etc/hostname", "not a path inside the model's folder"),
        ("short.bin", "`short.bin` has 4 bytes"),
    ];
    let model = folder.join("model.onnx");
    let run_with = |location: &str| {
        std::fs::write(&model, with_side_file(location)).expect("the model is written");
        run(&[&model.display().to_string(), "--permissive"])
    };
    let output = run_with("w.bin");
    assert!(output.status.success() && text(&output).contains("3, 4"), "{}", text(&output));
    for (location, why) in refused {
        let output = run_with(location);
        assert!(!output.status.success() && text(&output).contains(why), "{location}: {}", text(&output));
    }
    std::fs::remove_dir_all(&root).expect("the folder is removed");
}

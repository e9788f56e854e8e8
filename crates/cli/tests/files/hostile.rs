//! Files and devices that are not what a command expects.

use std::fs::{File, OpenOptions};
use std::process::Command;

use super::support::{CLEAN, Folder};

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_an_error_of_every_command() {
    let folder = Folder::new("full");
    folder.model("m.onnx", CLEAN);
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["check", "--help"],
        &["check", "m.onnx"],
        &["infer", "m.onnx"],
        &["targets"],
        &["completions", "bash"],
        &["man"],
        &["ops"],
    ] {
        let full = OpenOptions::new().write(true).open("/dev/full").expect("the device is there");
        let output = folder.command(arguments).stdout(full).output().expect("the command starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(!errors.contains("panicked"), "{arguments:?}: {errors}");
    }
}

#[cfg(unix)]
#[test]
fn a_registry_in_a_folder_has_no_links_and_no_pipes() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new("registry-links");
    folder.model("m.onnx", CLEAN);
    assert_eq!(folder.run(&["registry", "push", "m.onnx", "a/m"]).code, 0);
    let root = folder.0.join(".typeloom-registry");
    let subject = root.join("subjects/a/m");
    let commands = [
        &["registry", "pull", "a/m", "-o", "b"][..],
        &["registry", "verify"],
        &["registry", "gc", "--older-than", "0s"],
        &["check", "m.onnx", "--against", "a/m"],
    ];
    let assert_refused = |what: &str| {
        for arguments in commands {
            let run = folder.run(arguments);
            assert!(matches!(run.code, 1 | 2), "{what}, {arguments:?}: {run:?}");
        }
    };
    // A folder of the registry is elsewhere.
    let elsewhere = folder.0.join("elsewhere");
    std::fs::rename(subject.join("_bundles"), &elsewhere).expect("the folder is moved");
    let kept = elsewhere.join("keep#1");
    std::fs::write(&kept, "not of the registry").expect("the file is written");
    symlink(&elsewhere, subject.join("_bundles")).expect("the link is made");
    assert_refused("a linked folder");
    assert!(kept.exists());
    std::fs::remove_file(subject.join("_bundles")).expect("the link is removed");
    std::fs::rename(&elsewhere, subject.join("_bundles")).expect("the folder is moved");
    assert_eq!(folder.run(&["registry", "verify"]).code, 0);
    // Opening a pipe would wait for a writer.
    let entry = subject.join("_log/0000000001.json");
    std::fs::remove_file(&entry).expect("the entry is removed");
    let made = Command::new("mkfifo").arg(&entry).status().expect("mkfifo starts");
    assert!(made.success());
    assert_refused("a pipe");
}

#[test]
fn a_collection_leaves_files_of_others() {
    let folder = Folder::new("registry-others");
    folder.model("m.onnx", CLEAN);
    let push = ["registry", "--registry", ".", "push", "m.onnx", "a/m"];
    assert_eq!(folder.run(&push).code, 0);
    folder.write("notes#1", "of a user");
    folder.write("registry.json#1", "half");
    folder.write("subjects/a/m/_log/0000000002.json#3", "half");
    let gc = folder.run(&["registry", "--registry", ".", "gc", "--older-than", "0s"]);
    assert_eq!(gc.code, 0, "{gc:?}");
    let left =
        ["notes#1", "registry.json#1", "subjects/a/m/_log/0000000002.json#3"].map(|name| folder.exists(name));
    assert_eq!(left, [true, false, false], "{gc:?}");
}

#[test]
fn the_memory_of_a_run_depends_on_the_parts_of_side_files_that_are_used() {
    let folder = Folder::new("side-budget");
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\n\
        main () => (y) <float[1] w = [\"location\": \"w.bin\"], int64[1] n = {268435456}> {\n\
        z = ConstantOfShape(n) y = Add(z, w) }";
    folder.write(
        "m.onnx",
        typeloom_project::parts::onnx::text::model_bytes(text).expect("the text is a model"),
    );
    // The file takes no space on the disk.
    let file = File::create(folder.0.join("w.bin")).expect("the file is made");
    file.set_len(1 << 33).expect("the file has a hole");
    let run = folder.run(&["run", "m.onnx"]);
    assert!(run.code == 1 && run.out.contains("memory"), "{run:?}");
}

#[test]
fn an_array_with_many_axes_is_refused() {
    let folder = Folder::new("npy-rank");
    folder.model("m.onnx", CLEAN);
    let header =
        format!("{{'descr': '<f4', 'fortran_order': True, 'shape': ({}16,), }}\n", "1,".repeat(1_000_000));
    let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
    bytes.extend(u32::try_from(header.len()).expect("it is short").to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend([0; 64]);
    folder.write("x.npy", bytes);
    let run = folder.run(&["run", "m.onnx", "-i", "x=x.npy"]);
    assert!(run.code == 2 && run.err.contains("1000001 axes"), "{run:?}");
}

#[test]
fn globs_in_files_are_bounded() {
    let folder = Folder::new("globs");
    let nodes = |count: usize, allow: &dyn Fn(usize) -> String| {
        let node = |at: usize| {
            use typeloom_project::parts::onnx::messages::{NodeProto, StringStringEntryProto};
            NodeProto {
                op_type: "Nothing".into(),
                output: vec![format!("v{at}")],
                metadata_props: vec![StringStringEntryProto {
                    key: "typeloom.allow".into(),
                    value: allow(at).as_str().into(),
                    ..StringStringEntryProto::default()
                }],
                ..NodeProto::default()
            }
        };
        (0..count).map(node).collect::<Vec<_>>()
    };
    let write = |name: &str, nodes| {
        use typeloom_project::parts::onnx::messages::{GraphProto, ModelProto, OperatorSetIdProto};
        use typeloom_project::parts::onnx::prost::Message as _;
        let import = OperatorSetIdProto { version: Some(21), ..OperatorSetIdProto::default() };
        let graph = GraphProto { name: "g".into(), node: nodes, ..GraphProto::default() };
        let model = ModelProto {
            ir_version: Some(10),
            graph: Some(graph),
            opset_import: vec![import],
            ..ModelProto::default()
        };
        folder.write(name, model.encode_to_vec());
    };
    write("same.onnx", nodes(500, &|_| "unknown-*".to_owned()));
    write("different.onnx", nodes(2000, &|at| format!("u*{{a,b{at}}}*")));
    write("long.onnx", nodes(1, &|_| "[!a]".repeat(1 << 20)));
    write("nested.onnx", nodes(1, &|_| format!("{}a{}", "{a,".repeat(1000), "}".repeat(1000))));
    write("wide.onnx", nodes(1, &|_| "*?".repeat(2048)));
    for name in ["same.onnx", "different.onnx", "long.onnx", "nested.onnx", "wide.onnx"] {
        let run = folder.run(&["check", name]);
        assert!(matches!(run.code, 0 | 1), "{name}: {}", run.err);
    }
    assert!(folder.run(&["check", "same.onnx"]).out.contains("500 allowed by the model"), "the globs apply");
    for (settings, expected) in [
        (format!("exclude = [\"{}\"]", "?".repeat(1 << 20)), "it has"),
        (format!("exclude = [{}]", "\"a*\",".repeat(1025)), "1024"),
        ("[[overrides]]\nfiles = [\"a*b\"]\n".repeat(1025), "1024"),
        (format!("[severities]\n\"{}\" = \"warn\"\n", "*a".repeat(1 << 20)), "it has"),
    ] {
        folder.write("typeloom.toml", settings);
        let run = folder.run(&["check", "same.onnx"]);
        assert!(run.code == 2 && run.err.contains(expected), "{expected}: {run:?}");
    }
    folder.write("typeloom.toml", "[[overrides]]\nfiles = [\"a*b*[!c]?d\"]\n".repeat(1024));
    assert!(matches!(folder.run(&["check", "same.onnx"]).code, 0 | 1));
}

#[cfg(target_os = "linux")]
#[test]
fn a_model_that_needs_more_memory_than_the_limit_does_not_end_a_run_of_many() {
    let folder = Folder::new("max-memory");
    folder.model("a.onnx", CLEAN);
    folder.model("c.onnx", CLEAN);
    // A text is converted in memory.
    let nodes: String = (0..200_000).map(|at| format!("v{at} = Relu(x)\n")).collect();
    folder.write(
        "b.onnxtxt",
        format!("<ir_version: 10, opset_import: [\"\": 21]>\nmain (float[2] x) => (v0) {{\n{nodes}}}"),
    );
    for jobs in ["1", "3"] {
        let run = folder.run(&["check", ".", "--max-memory", "60M", "--jobs", jobs, "--format", "concise"]);
        assert_eq!(run.code, 2, "{run:?}");
        let expected =
            "cannot check `./b.onnxtxt`: it needs more than 62914560 bytes of memory (--max-memory)";
        assert!(run.err.contains(expected), "{run:?}");
        assert!(run.out.contains("a.onnx: ok") && run.out.contains("c.onnx: ok"), "{run:?}");
    }
    assert_eq!(folder.run(&["check", "a.onnx", "--max-memory", "2G"]).code, 0);
    let input = folder.run_with_input(&["check", "-", "--max-memory", "2G"], "");
    assert!(input.code == 2 && input.err.contains("standard input"), "{input:?}");
}

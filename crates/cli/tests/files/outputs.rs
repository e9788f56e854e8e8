//! No command replaces a file that it reads.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use super::support::{CLEAN, Folder, Run};

/// A model with a tensor in `w.bin`.
const STORED: &str = "<ir_version: 10, opset_import: [\"\": 21]>\n\
    main (float[N, 4] x) => (y) <float[4] w = [\"location\": \"w.bin\"]> { y = Add(x, w) }";

/// The contents of all files below a folder.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(path) = open.pop() {
        for entry in std::fs::read_dir(&path).expect("the folder is there") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.insert(path.display().to_string(), std::fs::read(&path).expect("a file"));
            }
        }
    }
    found
}

/// A folder with one file of each kind that commands read.
fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.model("m.onnx", CLEAN);
    folder.model("n.onnx", "[first] h = Relu(x)\n[second] y = Abs(h)");
    folder.write(
        "s.onnx",
        typeloom_project::parts::onnx::text::model_bytes(STORED).expect("the text is a model"),
    );
    folder.write("w.bin", [0; 16]);
    folder.write("all.txt", "m.onnx\n");
    folder.write("my.ops", "typeloom-operators 1\ndomain d 1\nop A 1\n  in x T\n  out y T\n  type T float\n");
    folder.write("typeloom.toml", "permissive = false\n");
    folder.write("types.json", "[]");
    folder.write("base.json", "");
    let baseline = folder.run(&["check", "m.onnx", "--baseline", "base.json", "--update-baseline"]);
    assert_eq!(baseline.code, 2, "an empty file is no baseline: {baseline:?}");
    std::fs::remove_file(folder.0.join("base.json")).expect("the file is removed");
    let baseline = folder.run(&["check", "m.onnx", "--baseline", "base.json", "--update-baseline"]);
    assert_eq!(baseline.code, 0, "{baseline:?}");
    let array = folder.run(&["run", "m.onnx", "-o", "arrays", "--size", "N=2"]);
    assert_eq!(array.code, 0, "{array:?}");
    folder.rename("arrays/y.npy", "x.npy");
    folder
}

fn assert_refused(folder: &Folder, before: &BTreeMap<String, Vec<u8>>, arguments: &[&str]) -> Run {
    let run = folder.run(arguments);
    assert_eq!(run.code, 2, "{arguments:?}: {run:?}");
    assert!(*before == contents(&folder.0), "{arguments:?} changed a file: {run:?}");
    run
}

#[test]
fn no_command_replaces_a_file_that_it_reads() {
    let folder = folder("outputs");
    let before = contents(&folder.0);
    let lines = [
        "check m.onnx --format json=m.onnx",
        "check m.onnx --format json --output m.onnx",
        "check . --format json=n.onnx",
        "check @all.txt --format json=all.txt",
        "check @all.txt --format json=m.onnx",
        "check *.onnx --format sarif=s.onnx",
        "check s.onnx --format json=w.bin",
        "check m.onnx --format json=typeloom.toml",
        "check m.onnx --ops my.ops --format json=my.ops",
        "check m.onnx --types types.json --format json=types.json",
        "check m.onnx --config typeloom.toml --format json=typeloom.toml",
        "check m.onnx --baseline base.json --format json=base.json",
        "diff m.onnx n.onnx --format json=m.onnx",
        "diff m.onnx n.onnx --format json=n.onnx",
        "diff m.onnx n.onnx --ops my.ops --format json=my.ops",
        "compile m.onnx -o m.onnx",
        "compile s.onnx -o w.bin",
        "describe m.onnx -o m.onnx",
        "describe s.onnx -o w.bin",
        "describe m.onnx --as triton -o m.onnx",
        "header m.onnx -o m.onnx",
        "fix m.onnx -o m.onnx",
        "fix m.onnx --ops my.ops -o my.ops",
        "fix m.onnx --in-place --view m.onnx",
        "fix m.onnx -o new.onnx --view new.onnx",
        "fix m.onnx -o new.onnx --view ./new.onnx",
        "annotate m.onnx -o m.onnx",
        "annotate s.onnx -o w.bin",
        "annotate s.onnx --strip -o w.bin",
        "graph m.onnx -o m.onnx",
        "graph s.onnx -o w.bin",
        "view m.onnx -o m.onnx",
        "view m.onnx n.onnx -o m.onnx",
        "view m.onnx n.onnx -o n.onnx",
        "link m.onnx n.onnx --map y=x -o m.onnx",
        "link m.onnx n.onnx --map y=x -o n.onnx",
        "link s.onnx n.onnx --map y=x -o w.bin",
    ];
    for line in lines {
        let arguments: Vec<&str> = line.split(' ').collect();
        // An output that is written before the other one is refused may be left.
        let run = folder.run(&arguments);
        drop(std::fs::remove_file(folder.0.join("new.onnx")));
        assert_eq!(run.code, 2, "{line}: {run:?}");
        assert!(before == contents(&folder.0), "{line} changed a file: {run:?}");
    }
}

#[test]
fn a_run_does_not_replace_its_inputs() {
    let folder = folder("outputs-run");
    folder.rename("x.npy", "y.npy");
    let before = contents(&folder.0);
    assert_refused(&folder, &before, &["run", "m.onnx", "-i", "x=y.npy", "-o", "."]);
}

#[cfg(unix)]
#[test]
fn other_paths_of_a_file_are_the_same_file() {
    let folder = folder("outputs-paths");
    std::fs::create_dir(folder.0.join("sub")).expect("the folder is made");
    std::os::unix::fs::symlink("m.onnx", folder.0.join("soft.onnx")).expect("the link is made");
    std::os::unix::fs::symlink(&folder.0, folder.0.join("sub/up")).expect("the link is made");
    std::fs::hard_link(folder.0.join("m.onnx"), folder.0.join("hard.onnx")).expect("the link is made");
    let names = ["soft.onnx", "hard.onnx", "sub/up/m.onnx", "sub/../m.onnx", "./m.onnx"];
    for name in names {
        for arguments in [
            &["annotate", "m.onnx", "-o", name][..],
            &["compile", "m.onnx", "-o", name],
            &["describe", "m.onnx", "-o", name],
            &["check", "m.onnx", "--format", &format!("json={name}")],
        ] {
            let run = folder.run(arguments);
            assert!(run.code == 2 && run.err.contains("is the model itself"), "{arguments:?}: {run:?}");
        }
    }
    let mut command = folder.command(&["annotate", "-", "-o", "m.onnx"]);
    command.stdin(File::open(folder.0.join("m.onnx")).expect("the file is there"));
    let output = command.output().expect("the command starts");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn a_requested_replacement_and_other_files_are_written() {
    let folder = folder("outputs-allowed");
    for line in [
        "annotate m.onnx --in-place",
        "check m.onnx --format json=report.json",
        "check m.onnx --format json=report.json",
        "check m.onnx --baseline base.json --update-baseline",
        "compile m.onnx -o program.onnx",
        "compile m.onnx -o program.onnx",
        "fix m.onnx -o fixed.onnx --view fixed.html",
    ] {
        let run = folder.run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(run.code, 0, "{line}: {run:?}");
    }
    assert!(folder.read("fixed.html").starts_with("<!doctype html"));
}

#[test]
fn two_outputs_of_one_command_are_two_files() {
    let folder = folder("outputs-two");
    let run = folder.run(&["check", "m.onnx", "--format", "json=r.txt", "--format", "sarif=./r.txt"]);
    assert!(run.code == 2 && run.err.contains("is another output of this command"), "{run:?}");
}

#[test]
fn a_registry_is_changed_by_its_own_commands_only() {
    let folder = folder("outputs-registry");
    assert_eq!(folder.run(&["registry", "push", "m.onnx", "team/m"]).code, 0);
    assert_eq!(folder.run(&["registry", "verify", "-o", "point"]).code, 0);
    let before = contents(&folder.0);
    let bundles = folder.0.join(".typeloom-registry/subjects/team/m/_bundles");
    let bundle = std::fs::read_dir(&bundles).expect("a folder").next().expect("a bundle").expect("a bundle");
    let bundle = bundle.path().display().to_string();
    for output in [&bundle[..], ".typeloom-registry/registry.json", ".typeloom-registry/subjects/new"] {
        assert_refused(&folder, &before, &["registry", "pull", "team/m", "-o", output]);
        assert_refused(&folder, &before, &["registry", "verify", "-o", output]);
    }
    assert_refused(&folder, &before, &["registry", "verify", "--checkpoint", "point", "-o", "point"]);
    assert_eq!(folder.run(&["registry", "push", "n.onnx", "team/n"]).code, 0);
    let verified = folder.run(&["registry", "verify", "--checkpoint", "point", "--in-place"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    assert!(folder.read("point").contains("team/n"));
}

#[test]
fn copies_of_tensors_replace_those_of_an_earlier_result_only() {
    let folder = folder("outputs-copies");
    let link = ["link", "s.onnx", "n.onnx", "--map", "y=x", "--external", "copy", "-o", "l.onnx"];
    folder.write("l.onnx.w.bin", "unrelated");
    let run = folder.run(&link);
    assert!(run.code == 2 && run.err.contains("no earlier result refers to it"), "{run:?}");
    assert_eq!(folder.read("l.onnx.w.bin"), "unrelated");
    std::fs::remove_file(folder.0.join("l.onnx.w.bin")).expect("the file is removed");
    for _ in 0..2 {
        let run = folder.run(&link);
        assert_eq!(run.code, 0, "{run:?}");
    }
    assert_eq!(std::fs::read(folder.0.join("l.onnx.w.bin")).expect("a copy"), [0; 16]);
}

#[test]
fn a_long_name_of_a_file_is_written() {
    let folder = folder("outputs-long");
    let name = "n".repeat(250);
    let run = folder.run(&["annotate", "m.onnx", "-o", &name]);
    assert!(run.code == 0 && folder.exists(&name), "{run:?}");
}

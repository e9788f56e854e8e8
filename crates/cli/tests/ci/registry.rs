//! Registries in folders, and checks against them.

use serde_json::Value;

use super::schemas;
use super::support::{CLEAN, Folder, MIXED, text_of};

/// A folder with a model, a changed one, and a registry with the first one.
fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.model("m.onnx", CLEAN);
    folder.model("changed.onnx", "[first] h = Cast <to = 11> (x)\n[second] y = Neg(h)");
    folder.model("mixed.onnx", MIXED);
    folder.write("renamed.onnxtxt", text_of("", CLEAN).replace("[N,", "[rows,"));
    let run = folder.run(&["registry", "push", "m.onnx", "team/m", "--alias", "production"]);
    assert_eq!((run.code, run.out.as_str()), (0, "m.onnx -> team/m@1 (production)\n"), "{run:?}");
    assert!(folder.exists(".typeloom-registry/registry.json"));
    folder
}

#[test]
fn a_check_against_a_version_fails_only_for_breaking_differences() {
    let folder = folder("registry-against");
    let check = |file: &str, reference: &str| folder.run(&["check", file, "--against", reference]);
    let same = check("m.onnx", "team/m@production");
    assert_eq!(same.code, 0, "{same:?}");
    assert_eq!(same.out, "m.onnx: ok, 4 values fully typed, backward compatible with team/m@production\n");
    let changed = check("changed.onnx", "team/m");
    assert_eq!(changed.code, 1, "{changed:?}");
    assert!(
        changed
            .out
            .contains("outputs.y: float[N, 4] -> double[N, 4] (breaks both ways), compared with team/m@1")
    );
    assert!(
        changed.out.ends_with("changed.onnx: 1 error, not backward compatible with team/m\n"),
        "{changed:?}"
    );
    // A model with errors has no interface.
    let mixed = check("mixed.onnx", "team/m");
    assert_eq!(mixed.code, 1, "{mixed:?}");
    assert!(!mixed.out.contains("compatible with"), "{mixed:?}");
    for reference in ["team/m@2", "team/m@none", "team/none"] {
        assert_eq!(check("m.onnx", reference).code, 2, "{reference}");
    }
}

#[test]
fn differences_from_a_version_are_in_every_format() {
    let folder = folder("registry-formats");
    let run = |format: &str| {
        folder.run(&["check", "m.onnx", "changed.onnx", "--against", "team/m", "--format", format])
    };
    let log = schemas::sarif(&run("sarif").out);
    let results = log["runs"][0]["results"].as_array().expect("results");
    assert_eq!(results.len(), 1);
    assert_eq!(
        (&results[0]["ruleId"], &results[0]["level"]),
        (&"element-type-changed".into(), &"error".into())
    );
    let (level, _, message) = schemas::workflow_command(run("github").out.trim_end());
    assert_eq!(level, "error");
    assert!(message.starts_with("outputs.y: float[N, 4]"), "{message}");
    let records = schemas::records(&run("json").out);
    let verdicts: Vec<_> = records.iter().map(|record| &record["against"]["compatible"]).collect();
    assert_eq!(verdicts, [&Value::Bool(true), &Value::Bool(false)]);
    assert_eq!((&records[1]["status"], &records[1]["errors"]), (&"errors".into(), &1.into()));
    run("junit=r.xml");
    assert_eq!(folder.read("r.xml").matches("<failure ").count(), 1);
    schemas::junit(&folder.0.join("r.xml"));
    assert!(run("markdown").out.contains("element-type-changed"));
    let concise = run("concise").out;
    assert!(concise.contains("changed.onnx: outputs.y: element-type-changed: float"), "{concise}");
}

#[test]
fn a_rejected_push_is_exit_code_1_and_writes_no_version() {
    let folder = folder("registry-rejected");
    let run = folder.run(&["registry", "push", "changed.onnx", "team/m", "--format", "json"]);
    assert_eq!(run.code, 1, "{run:?}");
    let verdict: Value = serde_json::from_str(&run.out).expect("the verdict is JSON");
    let difference = &verdict["versions"][0]["differences"][0];
    assert_eq!((&difference["path"], &difference["breaking"]), (&"outputs.y".into(), &true.into()));
    assert_eq!(verdict["nearest"], serde_json::json!({"none_of_latest": 1}));
    let mixed = folder.run(&["registry", "push", "mixed.onnx", "team/m"]);
    assert_eq!(mixed.code, 1, "{mixed:?}");
    assert!(mixed.out.ends_with("mixed.onnx: not pushed\n"), "{mixed:?}");
    let list = folder.run(&["registry", "list", "--format", "json"]);
    let subject: Value = serde_json::from_str(&list.out).expect("a subject is JSON");
    assert_eq!(subject["versions"], 1);
}

#[test]
fn a_pulled_bundle_is_the_interface_of_the_model() {
    let folder = folder("registry-pull");
    assert_eq!(folder.run(&["registry", "pull", "team/m@production", "-o", "m.bundle"]).code, 0);
    let same = folder.run(&["diff", "m.bundle", "m.onnx"]);
    assert_eq!((same.code, same.out.as_str()), (0, "m.bundle -> m.onnx: the same interface\n"));
    // A bundle is pushed as it is.
    let again = folder.run(&["registry", "push", "m.bundle", "team/m"]);
    assert_eq!(again.out, "m.bundle: team/m@1 has this interface (production)\n");
}

#[test]
fn names_of_symbols_come_back_as_they_were_pushed() {
    let folder = folder("registry-names");
    let port = "x  float[N, 4]";
    for command in [&["registry", "show", "team/m@1"][..], &["describe", "m.onnx"]] {
        let run = folder.run(command);
        assert!(run.out.contains(port), "{run:?}");
    }
    folder.run(&["registry", "pull", "team/m@1", "-o", "m.bundle"]);
    assert!(folder.run(&["describe", "m.bundle"]).out.contains(port));
    // Other names are the same content: those of the first push stay.
    let again = folder.run(&["registry", "push", "renamed.onnxtxt", "team/m"]);
    assert_eq!(again.out, "renamed.onnxtxt: team/m@1 has this interface (production)\n");
    assert!(folder.run(&["registry", "show", "team/m@1"]).out.contains(port));
}

#[test]
fn versions_are_compared_like_files() {
    let folder = folder("registry-diff");
    let pushed = folder.run(&["registry", "push", "changed.onnx", "team/m", "--mode", "none"]);
    assert_eq!(pushed.out, "changed.onnx -> team/m@2\n");
    let files = folder.run(&["diff", "m.onnx", "changed.onnx"]);
    let as_files = |run: &super::support::Run| {
        let names = [("team/m@production", "m.onnx"), ("team/m@2", "changed.onnx")];
        names.iter().fold(run.out.clone(), |text, (version, file)| text.replace(version, file))
    };
    for arguments in [
        &["registry", "diff", "team/m@production", "team/m@2"][..],
        &["registry", "diff", "team/m@production", "changed.onnx"],
        &["diff", "team/m@production", "team/m@2"],
        &["diff", "m.onnx", "team/m@2", "--registry", ".typeloom-registry"],
    ] {
        let run = folder.run(arguments);
        assert_eq!((run.code, as_files(&run)), (1, files.out.clone()), "{run:?}");
    }
    // `registry diff` accepts a subject, and has the formats of `diff`.
    let latest = folder.run(&["registry", "diff", "team/m@1", "team/m", "--format", "json"]);
    let object: Value = serde_json::from_str(&latest.out).expect("an object");
    assert_eq!((&object["old"], &object["new"]), (&"team/m@1".into(), &"team/m".into()));
    assert_eq!((latest.code, &object["compatible"]), (1, &false.into()));
    assert_eq!(folder.run(&["registry", "diff", "team/m@1", "team/m", "--mode", "forward"]).code, 1);
    // A file of the name is preferred.
    folder.write("m@1", std::fs::read(folder.0.join("changed.onnx")).expect("the model"));
    let same = folder.run(&["diff", "m@1", "changed.onnx"]);
    assert_eq!((same.code, same.out.as_str()), (0, "m@1 -> changed.onnx: the same interface\n"));
    let missing = folder.run(&["diff", "team/n@1", "m.onnx"]);
    assert_eq!(missing.code, 2);
    assert!(
        missing
            .err
            .contains("there is no file `team/n@1`: there is no subject `team/n`; did you mean `team/m`?"),
        "{missing:?}"
    );
    // Without `@`, it is a file.
    assert!(folder.run(&["diff", "team/m", "m.onnx"]).err.contains("cannot read `team/m`"));
}

#[test]
fn the_models_of_a_folder_are_pushed_each_to_its_subject() {
    let folder = folder("registry-folder");
    let model = |name: &str, body: &str| folder.model(&format!("models/{name}"), body);
    model("vision/net.onnx", CLEAN);
    model("mixed.onnx", MIXED);
    model("bad name/net.onnx", CLEAN);
    folder.write("models/vision/net.onnxtxt", folder.read("renamed.onnxtxt"));
    let push = |more: &[&str]| folder.run(&[&["registry", "push", "models"], more].concat());
    let preview = push(&["--prefix", "team", "--dry-run"]);
    let lines = |head: &str, total: &str| {
        [
            "models/bad name/net.onnx: not pushed: `team/bad name/net` is no name of a subject",
            "models/mixed.onnx: not pushed: it is not well typed, see `typeloom check models/mixed.onnx`: 1 problem",
            head,
            "models/vision/net.onnxtxt: not pushed: `models/vision/net.onnx` has the subject `team/vision/net` too",
            total,
        ]
        .map(str::to_owned)
    };
    let found = |text: &str| -> Vec<String> {
        let long = ": segments of letters";
        text.lines().map(|line| line.split(long).next().unwrap_or(line).to_owned()).collect()
    };
    let expected = lines(
        "would push models/vision/net.onnx -> team/vision/net@1",
        "4 models: 1 would be pushed, 0 unchanged, 3 failed",
    );
    assert_eq!((preview.code, found(&preview.out)), (1, expected.to_vec()), "{preview:?}");
    assert!(!folder.run(&["registry", "list"]).out.contains("vision"));
    let pushed = push(&["--prefix", "team", "--alias", "first"]);
    let expected = lines(
        "models/vision/net.onnx -> team/vision/net@1 (first)",
        "4 models: 1 pushed, 0 unchanged, 3 failed",
    );
    assert_eq!((pushed.code, found(&pushed.out)), (1, expected.to_vec()), "{pushed:?}");
    for name in ["mixed.onnx", "bad name/net.onnx", "vision/net.onnxtxt"] {
        std::fs::remove_file(folder.0.join("models").join(name)).expect("the file is removed");
    }
    let again = push(&["--prefix", "team"]);
    let expected = "models/vision/net.onnx: team/vision/net@1 has this interface (first)\n\
                    1 model: 0 pushed, 1 unchanged, 0 failed\n";
    assert_eq!((again.code, again.out.as_str()), (0, expected), "{again:?}");
    // A violation is one line.
    model("vision/net.onnx", "[first] h = Cast <to = 11> (x)\n[second] y = Neg(h)");
    let changed = push(&["--prefix", "team"]);
    let line = "models/vision/net.onnx: not pushed: not backward compatible with team/vision/net@1: ";
    assert!(changed.code == 1 && changed.out.starts_with(line), "{changed:?}");
    assert_eq!(changed.out.lines().count(), 2);
    model("mixed.onnx", MIXED);
    let objects = push(&["--format", "json", "--prefix", "team"]).out;
    let objects: Vec<Value> =
        objects.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    assert_eq!(
        (&objects[0]["file"], &objects[1]["compatible"]),
        (&"models/mixed.onnx".into(), &false.into())
    );
    assert_eq!((&objects[2]["models"], &objects[2]["failed"]), (&2.into(), &2.into()));
    for (arguments, message) in [
        (
            &["models", "team/m"][..],
            "`models` is a folder, whose models have a subject each: use `--prefix team/m`",
        ),
        (&["m.onnx"], "`m.onnx` is not a folder: the push of a file needs a SUBJECT"),
        (&["m.onnx", "--prefix", "a"], "`m.onnx` is not a folder: the push of a file needs a SUBJECT"),
    ] {
        let run = folder.run(&[&["registry", "push"], arguments].concat());
        assert!(run.code == 2 && run.err.contains(message), "{run:?}");
    }
}

#[test]
fn a_preview_of_a_push_writes_nothing() {
    let folder = Folder::new("registry-preview");
    folder.model("m.onnx", CLEAN);
    let preview = |expected: &str| {
        let run = folder.run(&["registry", "push", "m.onnx", "team/m", "--dry-run"]);
        assert_eq!((run.code, run.out.as_str()), (0, expected), "{run:?}");
    };
    preview("would push m.onnx -> team/m@1\n");
    assert!(!folder.exists(".typeloom-registry"));
    assert_eq!(folder.run(&["registry", "push", "m.onnx", "team/m"]).code, 0);
    preview("m.onnx: team/m@1 has this interface\n");
}

#[test]
fn the_registry_is_that_of_the_option_the_environment_or_the_settings() {
    let folder = folder("registry-location");
    folder.write("typeloom.toml", "registry = \"of-settings\"");
    let push =
        |arguments: &[&str]| folder.run(&[&["registry", "push", "m.onnx", "a"], arguments].concat()).code;
    assert_eq!(push(&[]), 0);
    assert!(folder.exists("of-settings/registry.json"));
    let mut command = folder.command(&["registry", "push", "m.onnx", "a"]);
    assert!(command.env("TYPELOOM_REGISTRY", "of-environment").status().is_ok_and(|status| status.success()));
    assert!(folder.exists("of-environment/registry.json"));
    assert_eq!(push(&["--registry", "of-option"]), 0);
    assert!(folder.exists("of-option/registry.json"));
    let missing = folder.run(&["registry", "list", "--registry", "missing"]);
    assert_eq!(missing.code, 2);
    assert!(missing.err.contains("`missing` contains no registry"), "{missing:?}");
    assert!(!folder.exists("missing"));
}

#[test]
fn damage_is_exit_code_1_of_verify_and_2_of_pull() {
    let folder = folder("registry-damage");
    let verify = |arguments: &[&str]| folder.run(&[&["registry", "verify"], arguments].concat());
    assert_eq!(verify(&["-o", "checkpoint.json"]).code, 0);
    assert_eq!(verify(&["--checkpoint", "checkpoint.json"]).code, 0);
    let entry = ".typeloom-registry/subjects/team/m/_log/0000000001.json";
    let original = folder.read(entry);
    folder.write(entry, original.replace("m.onnx", "n.onnx"));
    let run = verify(&["-o", "other.json"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(
        run.out.contains("error: `.typeloom-registry/subjects/team/m/_head.json` has another hash"),
        "{run:?}"
    );
    assert!(!folder.exists("other.json"), "a damaged registry has no checkpoint");
    assert_eq!(folder.run(&["registry", "pull", "team/m"]).code, 2);
    folder.write(entry, original);
    assert_eq!(verify(&["--checkpoint", "checkpoint.json"]).code, 0);
    folder.write("checkpoint.json", "{}");
    assert_eq!(verify(&["--checkpoint", "checkpoint.json"]).code, 2);
}

#[test]
fn leftovers_are_deleted_after_a_time() {
    let folder = folder("registry-gc");
    let name = format!("{}-{}", "0".repeat(64), "1".repeat(32));
    let stray = format!(".typeloom-registry/subjects/team/m/_bundles/{name}");
    folder.write(&stray, b"stray");
    let gc = |arguments: &[&str]| folder.run(&[&["registry", "gc"], arguments].concat()).out;
    assert_eq!(gc(&[]), "nothing to delete\n");
    assert_eq!(gc(&["--older-than", "0s", "--dry-run"]), "team/m: would delete 1 bundle, 5 bytes\n");
    assert!(folder.exists(&stray));
    assert_eq!(gc(&["--older-than", "0s"]), "team/m: deleted 1 bundle, 5 bytes\n");
    assert!(!folder.exists(&stray));
    assert_eq!(folder.run(&["registry", "verify"]).code, 0);
}

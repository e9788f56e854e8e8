//! Registries in folders, and checks against them.

use serde_json::Value;

use super::schemas;
use super::support::{CLEAN, Folder, MIXED};

/// A folder with a model, a changed one, and a registry with the first one.
fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.model("m.onnx", CLEAN);
    folder.model("changed.onnx", "[first] h = Cast <to = 11> (x)\n[second] y = Neg(h)");
    folder.model("mixed.onnx", MIXED);
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
            .contains("outputs.y: float[A, 4] -> double[A, 4] (breaks both ways), compared with team/m@1")
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
    assert!(message.starts_with("outputs.y: float[A, 4]"), "{message}");
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

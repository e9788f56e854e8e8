//! All faces of a check report the same problems. For recorded models, this test compares `typeloom check`
//! (as JSON and as text) and the pages of `typeloom view` with [`Plan::check`]. The Python package and the C
//! library call that function; `crates/python/tests/test_faces.py` and `crates/ffi/tests/faces.rs` test them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use typeloom_project::check::SideFiles;
use typeloom_project::file::Source;
use typeloom_project::parts::report::human::{self, Color};
use typeloom_project::parts::report::json;
use typeloom_project::parts::solver::diagnostic::Severity;
use typeloom_project::parts::view::scene::Scene;
use typeloom_project::plan::Plan;
use typeloom_testing::recorded;

/// The number of recorded models that are compared.
const MODELS: usize = 200;

/// Limit of the size of a decompressed scene, in bytes.
const MAX_SCENE: usize = 1 << 28;

fn typeloom(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_typeloom"))
        .args(arguments)
        .arg("--no-config")
        .env("NO_COLOR", "1")
        .output()
        .expect("the command starts");
    assert!(output.status.code().is_some_and(|code| code < 2), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("reports are UTF-8")
}

/// Code, severity and location of each problem in the list of `check --format json`.
fn of_json(diagnostics: &Value) -> Vec<[String; 3]> {
    let list = diagnostics.as_array().expect("diagnostics are a list");
    list.iter().map(|it| ["code", "severity", "place"].map(|key| it[key].to_string())).collect()
}

/// The scene in a page.
fn scene_of(page: &str) -> Scene {
    let start = page.split_once("id=\"scene\">").expect("a page has a scene").1;
    let text = start.split_once("</script>").expect("the scene ends").0;
    let packed = STANDARD.decode(text).expect("the scene is base64");
    let bytes = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(&packed, MAX_SCENE);
    typeloom_project::parts::view::wire::decode(&bytes.expect("the scene is a zlib stream"))
        .expect("a scene is decoded")
}

#[test]
fn command_pages_and_the_function_of_the_other_faces_report_the_same_problems() {
    let Some(models) = recorded::models(MODELS) else { return };
    let names: Vec<&str> = models.iter().map(|path| path.to_str().expect("paths are UTF-8")).collect();
    let check = |format| typeloom(&[&["check", "--format", format], &names[..]].concat());
    let (objects, text) = (check("json"), check("human"));
    let objects = objects.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line is JSON"));
    let by_file: HashMap<String, Value> =
        objects.map(|object| (object["file"].as_str().unwrap_or_default().to_owned(), object)).collect();
    let page: PathBuf = std::env::temp_dir().join(format!("typeloom-faces-{}.html", std::process::id()));
    let (plan, mut problems) = (Plan::standard(), 0);
    for (path, name) in models.iter().zip(&names) {
        let file = Source::at(path.clone()).read().expect("the model is read");
        let examined = plan.check(&file, SideFiles::InFolder).expect("there are no options");
        let found = examined.findings.to_vec();
        problems += found.len();
        let own = of_json(&json::values(name, &found));
        assert_eq!(of_json(&by_file[*name]["diagnostics"]), own, "{name}: the command");
        for diagnostic in &found {
            let report = human::diagnostic(name, diagnostic, Color::Never);
            assert!(text.contains(&report), "{name}: the command does not print\n{report}");
        }
        if examined.checked.is_none() {
            continue;
        }
        let output = page.to_str().expect("paths are UTF-8");
        typeloom(&["view", name, "--output", output]);
        let scene = scene_of(&std::fs::read_to_string(&page).expect("the page is written"));
        let marks: Vec<&str> = scene.marks.iter().map(|mark| mark.report.as_str()).collect();
        // A report begins with the severity, the code and the message. A page has errors before warnings.
        let (errors, others): (Vec<_>, Vec<_>) = found.iter().partition(|it| it.severity == Severity::Error);
        let reports: Vec<String> =
            errors.iter().chain(&others).map(|it| human::diagnostic(name, it, Color::Never)).collect();
        assert_eq!(marks, reports, "{name}: the page");
    }
    drop(std::fs::remove_file(&page));
    assert!(problems > 50, "{problems} problems");
}

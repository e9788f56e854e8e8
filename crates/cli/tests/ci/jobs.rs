//! The output does not depend on the number of threads.

use std::fmt::Write as _;

use typeloom_testing::number;

use super::support::{CLEAN, Folder, MIXED};

/// The formats of reports.
const FORMATS: [&str; 7] = ["human", "concise", "json", "sarif", "github", "markdown", "junit"];

/// A folder with models of many sizes: clean, with problems, unusable.
fn models(name: &str) -> Folder {
    let folder = Folder::new(name);
    for at in 0..number(15, 60) {
        let file = format!("models/{}/m{at:03}.onnx", at % 3);
        match at % 5 {
            0 => folder.model(&file, MIXED),
            1 => folder.write(&file, [0xff; 9]),
            2 => {
                let mut body = "h0 = Relu(x)\n".to_owned();
                for node in 0..at * 3 {
                    writeln!(body, "h{} = Relu(h{node})", node + 1).expect("a string grows");
                }
                folder.model(&file, &format!("{body}y = Add(h0, n)"));
            }
            _ => folder.model(&file, CLEAN),
        }
    }
    std::fs::create_dir_all(folder.0.join("models/1/folder.onnx")).expect("the folder is made");
    #[cfg(unix)]
    std::os::unix::fs::symlink("missing", folder.0.join("models/1/link.onnx")).expect("the link is made");
    folder
}

#[test]
fn every_format_has_the_same_bytes_with_any_number_of_jobs() {
    let folder = models("jobs");
    for format in FORMATS {
        let run = |jobs: &str| folder.run(&["check", "models", "--format", format, "--jobs", jobs]);
        let one = run("1");
        assert!(one.code > 0 && !one.out.is_empty(), "{format}: {}", one.err);
        for jobs in ["2", "7"] {
            let run = run(jobs);
            assert_eq!(
                (run.code, run.out, run.err),
                (one.code, one.out.clone(), one.err.clone()),
                "{format}, {jobs} jobs"
            );
        }
    }
}

#[test]
fn files_and_baselines_have_the_same_bytes_with_any_number_of_jobs() {
    let folder = models("jobs-files");
    let all = |jobs: &str| {
        let name = |format: &str| format!("report-{jobs}.{format}");
        let formats = FORMATS.map(|format| format!("--format={format}={}", name(format)));
        let mut arguments = vec!["check", "models", "--jobs", jobs];
        arguments.extend(formats.iter().map(String::as_str));
        assert_eq!(folder.run(&arguments).code, folder.run(&["check", "models", "--quiet"]).code);
        let baseline = format!("baseline-{jobs}.json");
        folder.run(&["check", "models", "--jobs", jobs, "--baseline", &baseline, "--update-baseline"]);
        let mut texts: Vec<String> = FORMATS.iter().map(|format| folder.read(&name(format))).collect();
        texts.push(folder.read(&baseline));
        texts
    };
    let one = all("1");
    assert!(one.iter().all(|text| text.contains("m000")), "every report is about the files");
    assert_eq!(all("5"), one);
}

#[test]
fn an_error_in_the_settings_ends_the_run_after_the_models_before_it() {
    let folder = Folder::new("jobs-settings");
    for file in ["a/m.onnx", "b/m.onnx", "c/m.onnx"] {
        folder.model(file, CLEAN);
    }
    folder.write("b/typeloom.toml", "unknown = 1\n");
    for jobs in ["1", "4"] {
        let run = folder.run(&["check", "a/m.onnx", "b/m.onnx", "c/m.onnx", "--jobs", jobs]);
        assert_eq!((run.code, run.out.as_str()), (2, "a/m.onnx: ok, 4 values fully typed\n"), "{run:?}");
        assert!(run.err.contains("b/typeloom.toml:1:1"), "{run:?}");
    }
}

#[test]
fn the_number_of_jobs_is_positive() {
    let folder = Folder::new("jobs-zero");
    folder.model("m.onnx", CLEAN);
    assert_eq!(folder.run(&["check", "m.onnx", "--jobs", "0"]).code, 2);
    assert_eq!(folder.run(&["check", "m.onnx", "-j", "3"]).code, 0);
}

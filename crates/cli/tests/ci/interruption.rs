//! Signals to a command that waits for a model from standard input, after it has reported a file.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;
use std::sync::mpsc::channel;

use super::support::{BOUND, CLEAN, Folder, MIXED, Process};

/// Sends a signal to `typeloom` when standard output contains a text. Returns the exit code and all of
/// standard output and standard error.
fn interrupt(folder: &Folder, arguments: &[&str], signal: &str, text: &'static str) -> (i32, String, String) {
    let mut command = folder.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = Process::start(&mut command);
    let child = &mut process.0;
    // Standard input stays open.
    let _stdin = child.stdin.take().expect("a pipe");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut err = child.stderr.take().expect("a pipe");
    let (seen, has_seen) = channel();
    let (ended, has_ended) = channel();
    std::thread::spawn(move || {
        let (mut all, mut errors) = (String::new(), String::new());
        while !all.contains(text) && out.read_line(&mut all).expect("the output is text") > 0 {}
        seen.send(all.clone()).expect("the test waits");
        out.read_to_string(&mut all).expect("the output is text");
        err.read_to_string(&mut errors).expect("the output is text");
        ended.send((all, errors)).expect("the test waits");
    });
    let begin = has_seen.recv_timeout(BOUND).expect("the first file is reported");
    assert!(begin.contains(text), "the command ended before the signal: {begin}");
    process.signal(signal);
    let (out, err) = has_ended.recv_timeout(BOUND).expect("the command ends");
    let code = process.end().code();
    (code.expect("the command exits by itself"), out, err)
}

fn models(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.model("a.onnx", MIXED);
    folder.model("b.onnx", CLEAN);
    folder
}

#[test]
fn a_signal_ends_the_command_after_the_reported_files() {
    for (name, signal) in [("interrupt", "INT"), ("terminate", "TERM")] {
        let folder = models(name);
        for jobs in ["1", "4"] {
            let arguments = ["check", "a.onnx", "-", "b.onnx", "--format", "json", "--jobs", jobs];
            let (code, out, err) = interrupt(&folder, &arguments, signal, "\n");
            assert_eq!(code, 130, "{err}");
            let records: Vec<serde_json::Value> =
                out.lines().map(|line| serde_json::from_str(line).expect("a record")).collect();
            assert_eq!(records.len(), 1, "{out}");
            assert_eq!(records[0]["file"], "a.onnx");
            assert!(err.contains("interrupted after 1 of 3 files"), "{err}");
        }
    }
}

#[test]
fn documents_on_standard_output_are_complete_and_state_the_interruption() {
    let folder = models("interrupt-documents");
    let run = |format: &str, text: &'static str| {
        let (code, out, err) =
            interrupt(&folder, &["check", "a.onnx", "-", "b.onnx", "--format", format], "INT", text);
        assert_eq!(code, 130, "{err}");
        out
    };
    let sarif: serde_json::Value = serde_json::from_str(&run("sarif", "ruleId")).expect("a log");
    let invocation = &sarif["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let notification = &invocation["toolExecutionNotifications"][0]["message"]["text"];
    assert_eq!(notification, "interrupted before 2 other files");
    let junit = run("junit", "</testsuite>");
    assert!(junit.ends_with("</testsuites>\n") && junit.contains("type=\"interrupted\""), "{junit}");
    let last = |text: &str| text.lines().last().unwrap_or_default().to_owned();
    let expected = "1 file: 1 error, interrupted before 2 other files";
    assert_eq!(last(&run("human", "a.onnx: ")), expected);
    assert_eq!(last(&run("concise", "a.onnx: 1 error")), expected);
    assert_eq!(last(&run("markdown", "| error |")), format!("**{expected}**"));
    assert_eq!(
        last(&run("github", "::error file=a.onnx")),
        "::error title=interrupted::interrupted before 2 other files"
    );
}

#[test]
fn files_of_earlier_runs_stay_and_no_other_file_is_left() {
    let folder = models("interrupt-files");
    folder.write("old.sarif", "old report");
    let arguments = [
        "check",
        "a.onnx",
        "-",
        "b.onnx",
        "--format",
        "json",
        "--format",
        "sarif=old.sarif",
        "--format",
        "junit=new.xml",
        "--baseline",
        "new.json",
        "--update-baseline",
    ];
    let (code, _, err) = interrupt(&folder, &arguments, "INT", "\n");
    assert_eq!(code, 130, "{err}");
    assert!(err.contains("no report file and no baseline is written"), "{err}");
    let mut left: Vec<String> = std::fs::read_dir(&folder.0)
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    left.sort();
    assert_eq!(left, ["a.onnx", "b.onnx", "old.sarif"]);
    assert_eq!(folder.read("old.sarif"), "old report");
}

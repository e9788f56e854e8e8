//! Signals to commands that have nothing to report.

use std::process::Stdio;

use super::support::{CLEAN, Folder, Process, wait};

fn names(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(&folder.0).expect("the folder is there");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[cfg(unix)]
#[test]
fn a_signal_removes_temporary_files_and_ends_the_command() {
    for signal in ["INT", "TERM"] {
        let folder = Folder::new(&format!("signal-{signal}"));
        folder.model("m.onnx", CLEAN);
        // The command waits for a model from standard input, after it has opened its report.
        let mut command = folder.command(&["diff", "m.onnx", "-", "--format", "json=report.json"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut process = Process::start(&mut command);
        let _stdin = process.0.stdin.take().expect("a pipe");
        let is_temporary = |name: &String| name.ends_with(".tmp");
        wait("the report is opened", || names(&folder).iter().any(is_temporary).then_some(()));
        process.signal(signal);
        assert_eq!(process.end().code(), Some(130));
        assert_eq!(names(&folder), ["m.onnx"]);
    }
}

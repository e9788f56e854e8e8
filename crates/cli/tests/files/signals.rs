//! Signals to commands that have nothing to report.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::support::{CLEAN, Folder};

/// A bound for tests that fail by waiting.
const BOUND: Duration = Duration::from_secs(60);

/// Ends a process whose test has failed.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Waits until a condition holds.
fn wait<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(start.elapsed() < BOUND, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

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
    for signal in ["-INT", "-TERM"] {
        let folder = Folder::new(&format!("signal{signal}"));
        folder.model("m.onnx", CLEAN);
        // The command waits for a model from standard input, after it has opened its report.
        let mut command = folder.command(&["diff", "m.onnx", "-", "--format", "json=report.json"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut guard = Guard(command.spawn().expect("the command starts"));
        let _stdin = guard.0.stdin.take().expect("a pipe");
        let is_temporary = |name: &String| name.ends_with(".tmp");
        wait("the report is opened", || names(&folder).iter().any(is_temporary).then_some(()));
        let id = guard.0.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status().expect("kill starts");
        assert!(sent.success());
        let status = wait("the command ends", || guard.0.try_wait().expect("a child"));
        assert_eq!(status.code(), Some(130));
        assert_eq!(names(&folder), ["m.onnx"]);
    }
}

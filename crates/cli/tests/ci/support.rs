//! Folders with models, and runs of the command in them.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// A folder that is removed when it is dropped.
pub(crate) struct Folder(pub(crate) PathBuf);

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("typeloom-ci-{name}-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&path));
        std::fs::create_dir_all(&path).expect("the folder is made");
        Self(path)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("the folder is made");
        std::fs::write(path, bytes).expect("the file is written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.0.join(name).exists()
    }

    pub(crate) fn rename(&self, old: &str, new: &str) {
        std::fs::rename(self.0.join(old), self.0.join(new)).expect("the file is renamed");
    }

    /// Writes a model with one node for each line of `body`.
    pub(crate) fn model(&self, name: &str, body: &str) {
        self.model_with(name, "", body);
    }

    /// Writes a model with more fields in its head.
    pub(crate) fn model_with(&self, name: &str, head: &str, body: &str) {
        let text = text_of(head, body);
        let bytes = typeloom_project::parts::onnx::text::model_bytes(&text)
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        self.write(name, bytes);
    }

    /// `typeloom` in the folder, with these arguments.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_typeloom"));
        command.args(arguments).current_dir(&self.0).env("NO_COLOR", "1").env_remove("TYPELOOM_REGISTRY");
        command
    }

    /// Runs `typeloom` in the folder.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        Self::result(&self.command(arguments).output().expect("the command starts"))
    }

    /// Runs `typeloom` in the folder, with a text as standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: impl AsRef<[u8]>) -> Run {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command starts");
        // A command that reads no input closes it.
        drop(child.stdin.take().map(|mut stdin| stdin.write_all(input.as_ref())));
        Self::result(&child.wait_with_output().expect("the command ends"))
    }

    fn result(output: &Output) -> Run {
        Run {
            code: output.status.code().expect("the command exits"),
            out: String::from_utf8(output.stdout.clone()).expect("the output is text"),
            err: String::from_utf8(output.stderr.clone()).expect("the output is text"),
        }
    }

    /// The lines of `check --format concise` with these arguments, without summaries.
    pub(crate) fn problems(&self, arguments: &[&str]) -> Vec<String> {
        let run = self.run(&[&["check", "--quiet", "--format", "concise"], arguments].concat());
        let is_problem = |line: &&str| line.split(": ").count() > 3;
        run.out.lines().filter(is_problem).map(str::to_owned).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A bound for tests that fail by waiting.
pub(crate) const BOUND: Duration = Duration::from_secs(60);

/// A running command, which is ended when it is dropped.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(command.spawn().expect("the command starts"))
    }

    /// Sends `INT` or `TERM`.
    #[cfg(unix)]
    pub(crate) fn signal(&self, name: &str) {
        let id = self.0.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status().expect("kill starts");
        assert!(sent.success(), "{name}");
    }

    /// Waits until the command ends.
    pub(crate) fn end(&mut self) -> ExitStatus {
        wait("the command ends", || self.0.try_wait().expect("a child"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Waits until a condition has a result.
pub(crate) fn wait<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(start.elapsed() < BOUND, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A model in the textual syntax with one node for each line of `body`.
pub(crate) fn text_of(head: &str, body: &str) -> String {
    format!(
        "<ir_version: 10, opset_import: [\"\": 21]{head}>\n\
         main (float[N, 4] x, int64[N, 4] n) => (y) {{\n{body}\n}}"
    )
}

/// Nodes without an error.
pub(crate) const CLEAN: &str = "[first] h = Relu(x)\n[second] y = Neg(h)";

/// Nodes of which the second has an element type mismatch.
pub(crate) const MIXED: &str = "[first] h = Relu(x)\n[second] y = Add(h, n)";

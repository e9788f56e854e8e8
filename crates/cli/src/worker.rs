//! `check --max-memory`: a process with a limit on its memory checks each model before this process does.
//!
//! A process whose memory ends is aborted, which no code in it can prevent. So a worker, the same command
//! with [`VARIABLE`] set, reads paths from standard input and answers each one that it has checked. If it
//! ends instead, the model needs more memory than the limit, or ends the process for another reason: it is
//! reported, and the next model gets a new worker. Each model is checked twice.
//!
//! **Limits:** the limit concerns the memory that a process writes (`RLIMIT_DATA`): mapped files do not
//! count.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, bail};

use crate::input::Source;

/// The environment variable of a worker.
const VARIABLE: &str = "TYPELOOM_CHECK_WORKER";

/// How workers are started.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    program: PathBuf,
    arguments: Vec<OsString>,
    /// The limit in bytes.
    limit: u64,
}

impl Plan {
    /// Workers of the command with these arguments, the name of the program first.
    pub(crate) fn new(arguments: &[OsString], limit: u64) -> anyhow::Result<Self> {
        if !cfg!(unix) {
            bail!("--max-memory needs a system with limits for processes");
        }
        // The Python package starts the command inside of an interpreter.
        let own = std::env::current_exe()
            .ok()
            .filter(|path| path.file_stem().is_some_and(|stem| stem == "typeloom"));
        let program =
            own.or_else(|| arguments.first().map(PathBuf::from)).context("the command has no name")?;
        Ok(Self { program, arguments: arguments.iter().skip(1).cloned().collect(), limit })
    }
}

/// A process that checks models.
pub(crate) struct Worker {
    child: Child,
    paths: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Worker {
    fn start(plan: &Plan) -> std::io::Result<Self> {
        let mut command = Command::new(&plan.program);
        command.args(&plan.arguments).env(VARIABLE, "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let (Some(paths), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(std::io::ErrorKind::BrokenPipe.into());
        };
        Ok(Self { child, paths, answers: BufReader::new(answers) })
    }

    /// Whether the process has checked a file.
    fn has_checked(&mut self, path: &Path) -> bool {
        let mut answer = [0];
        let sent = self.paths.write_all(path.as_os_str().as_encoded_bytes());
        let sent = sent.and_then(|()| self.paths.write_all(&[0])).and_then(|()| self.paths.flush());
        sent.and_then(|()| self.answers.read_exact(&mut answer)).is_ok()
    }
}

/// Returns an error if the check of a model needs more memory than the limit. `worker` is kept for the next
/// model.
pub(crate) fn test(plan: &Plan, worker: &mut Option<Worker>, source: &Source) -> anyhow::Result<()> {
    let name = &source.name;
    let Some(path) = source.path() else {
        bail!("--max-memory does not apply to standard input: check a file");
    };
    let own = match worker.take() {
        Some(own) => own,
        None => Worker::start(plan).with_context(|| format!("cannot start `{}`", plan.program.display()))?,
    };
    if worker.insert(own).has_checked(path) {
        return Ok(());
    }
    *worker = None;
    bail!("cannot check `{name}`: it needs more than {} bytes of memory (--max-memory)", plan.limit)
}

/// Whether this process is a worker.
pub(crate) fn is_worker() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// Checks the models whose paths arrive, each ended by a zero byte.
pub(crate) fn work(limit: u64, mut check: impl FnMut(&Source)) -> anyhow::Result<()> {
    restrict(limit)?;
    let mut paths = std::io::stdin().lock();
    let mut path = Vec::new();
    while paths.read_until(0, &mut path)? > 0 {
        if path.pop() == Some(0) {
            check(&Source::at(of_bytes(&path)));
            let mut out = std::io::stdout().lock();
            out.write_all(b"\n").and_then(|()| out.flush())?;
        }
        path.clear();
    }
    Ok(())
}

#[cfg(unix)]
fn of_bytes(path: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    PathBuf::from(std::ffi::OsStr::from_bytes(path))
}

#[cfg(not(unix))]
fn of_bytes(path: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(path).into_owned())
}

/// Limits the memory of this process, which ends with its parent where the system offers that.
#[cfg(unix)]
fn restrict(limit: u64) -> anyhow::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    setrlimit(Resource::Data, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    Ok(())
}

#[cfg(not(unix))]
fn restrict(_: u64) -> anyhow::Result<()> {
    Ok(())
}

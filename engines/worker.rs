//! Jobs with deadlines in a separate process; included in the tests of each engine.
//!
//! An engine that hangs or crashes its process must cost the tests one job only. The test program therefore
//! starts itself as a worker, which reads one job per line from its input and writes one verdict per line to
//! its output. A worker that misses a deadline is killed, and the next job starts a new one.

use std::io::{BufRead as _, BufReader, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// The argument that starts the program as a worker.
pub(crate) const SERVE: &str = "--serve";

/// Prefix of verdict lines; the engine may write to the output as well.
const MARK: &str = "verdict ";

/// Verdict on a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// No expected result exists.
    Unasked(String),
    /// The results match.
    Same,
    /// The engine refused with a typed error.
    Refused(String),
    /// The results differ, or the engine panicked outside of its session.
    Wrong(String),
    /// The job did not terminate, or it ended the process. Only the parent reports this verdict.
    Lost(String),
}

impl Verdict {
    fn to_line(&self) -> String {
        let (kind, why) = match self {
            Self::Unasked(why) => ("unasked", why.as_str()),
            Self::Same => ("same", ""),
            Self::Refused(why) => ("refused", why.as_str()),
            Self::Wrong(why) => ("wrong", why.as_str()),
            Self::Lost(why) => ("lost", why.as_str()),
        };
        serde_json::json!([kind, why]).to_string()
    }

    fn of_line(line: &str) -> Option<Self> {
        let (kind, why): (String, String) = serde_json::from_str(line).ok()?;
        match kind.as_str() {
            "unasked" => Some(Self::Unasked(why)),
            "same" => Some(Self::Same),
            "refused" => Some(Self::Refused(why)),
            "wrong" => Some(Self::Wrong(why)),
            _ => None,
        }
    }
}

/// Runs the program as a worker until its input ends.
pub(crate) fn serve(answer: impl Fn(&str) -> Verdict) {
    // Errors of the engine already contain its panic messages.
    std::panic::set_hook(Box::new(|_| ()));
    let mut out = std::io::stdout();
    for job in std::io::stdin().lines() {
        let Ok(job) = job else { return };
        let verdict = catch_unwind(AssertUnwindSafe(|| answer(&job)))
            .unwrap_or_else(|_| Verdict::Wrong("it panicked outside of its session".to_owned()));
        let written = writeln!(out, "{MARK}{}", verdict.to_line()).and_then(|()| out.flush());
        if written.is_err() {
            return;
        }
    }
}

/// A worker process, started for the first job and restarted after a kill.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    jobs: ChildStdin,
    verdicts: Receiver<Verdict>,
}

impl Worker {
    /// Sends a job, which is one line, and waits for the verdict.
    pub(crate) fn ask(&mut self, job: &str, limit: Duration) -> Verdict {
        let mut running = match self.running.take() {
            Some(running) => running,
            None => start(),
        };
        // A terminated worker closes its output; the read below detects that.
        let _ = writeln!(running.jobs, "{job}").and_then(|()| running.jobs.flush());
        match running.verdicts.recv_timeout(limit) {
            Ok(verdict) => {
                self.running = Some(running);
                verdict
            }
            Err(RecvTimeoutError::Timeout) => {
                kill(running);
                Verdict::Lost(format!("it does not end within {} s", limit.as_secs()))
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = running.child.wait();
                let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
                Verdict::Lost(format!("it took its process down ({status})"))
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            kill(running);
        }
    }
}

fn start() -> Running {
    let this = std::env::current_exe().expect("the tests know their own program");
    let mut child = Command::new(this)
        .arg(SERVE)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program of the tests starts again");
    let jobs = child.stdin.take().expect("the input was asked for");
    let output = child.stdout.take().expect("the output was asked for");
    let (sender, verdicts) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            let Ok(line) = line else { return };
            let verdict = line.strip_prefix(MARK).and_then(Verdict::of_line);
            if verdict.is_some_and(|verdict| sender.send(verdict).is_err()) {
                return;
            }
        }
    });
    Running { child, jobs, verdicts }
}

fn kill(running: Running) {
    let Running { mut child, jobs: _, verdicts: _ } = running;
    // The process may already have ended.
    let _ = child.kill();
    let _ = child.wait();
}

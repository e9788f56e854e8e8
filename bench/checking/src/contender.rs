//! Contender processes, each of which answers one request at a time.
//!
//! **Invariant:** a process that timed out or died receives no further
//! requests; the next request starts a new one.

use std::env;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use typeloom_bench_process::{KEEP_PAGES, Process};

/// The server of the reference.
const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/reference.py");

/// The measured implementations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contender {
    Typeloom,
    /// The ONNX reference, called from Python.
    Reference,
    /// The Rust peer with its loader.
    Peer,
}

impl Contender {
    /// All contenders in the order of the columns.
    pub const ALL: [Self; 3] = [Self::Typeloom, Self::Reference, Self::Peer];

    pub fn name(self) -> &'static str {
        match self {
            Self::Typeloom => "typeloom",
            Self::Reference => "reference",
            Self::Peer => "peer",
        }
    }

    fn command(self, pages: Pages) -> Result<Command> {
        let mut command = match self {
            Self::Reference => {
                let mut command = Command::new(env::var_os("TYPELOOM_PYTHON").context("no Python")?);
                command.arg(REFERENCE);
                command
            }
            Self::Typeloom | Self::Peer => {
                let mut command = Command::new(env::current_exe()?);
                command.args(["serve", self.name()]);
                command
            }
        };
        if pages == Pages::Kept {
            command.envs(KEEP_PAGES);
        }
        Ok(command)
    }
}

/// Behaviour of the system's allocator on pages that a request no longer needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pages {
    /// Keeps them for the next request.
    Kept,
    /// Default: returns them at the allocator's discretion.
    Returned,
}

/// Result of one request.
#[derive(Clone, Debug)]
pub enum Outcome {
    Answer(Answer),
    /// The model was rejected, with the message.
    Refused(String),
    /// The request exceeded its time limit.
    TooSlow,
    /// The process ended.
    Crashed,
}

/// Time and memory of an answered request.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// From the request's file or bytes to the answer, the mean of all calls.
    pub time: Duration,
    /// Peak memory of the process so far, in bytes.
    pub peak: u64,
    /// Memory before the first request, in bytes.
    pub idle: u64,
}

pub struct Server {
    process: Process,
    /// Name and version that the contender reports.
    pub version: String,
}

impl Server {
    /// Starts the process and waits until it is ready.
    pub fn start(contender: Contender, pages: Pages) -> Result<Self> {
        let process = Process::start(&mut contender.command(pages)?)?;
        let line = process.reply(Duration::from_secs(60)).context("the process did not start in time")?;
        match line.strip_prefix("ready\t") {
            Some(version) => Ok(Self { process, version: version.to_owned() }),
            None => bail!("unexpected reply `{line}`"),
        }
    }

    /// Sends one request, which repeats its call for at least the time `least`. After any result except an
    /// answer or a rejection, the server must not be used again.
    pub fn ask(&mut self, method: &str, model: &Path, least: Duration, limit: Duration) -> Outcome {
        let request = format!("{method}\t{}\t{}", model.display(), least.as_nanos());
        if self.process.send(&request).is_err() {
            return Outcome::Crashed;
        }
        match self.process.reply(limit) {
            Ok(line) => reply(&line).unwrap_or(Outcome::Crashed),
            Err(RecvTimeoutError::Timeout) => Outcome::TooSlow,
            Err(RecvTimeoutError::Disconnected) => Outcome::Crashed,
        }
    }
}

fn reply(line: &str) -> Option<Outcome> {
    let fields: Vec<&str> = line.split('\t').collect();
    match fields[..] {
        ["ok", time, peak, idle] => Some(Outcome::Answer(Answer {
            time: Duration::from_nanos(time.parse().ok()?),
            peak: peak.parse().ok()?,
            idle: idle.parse().ok()?,
        })),
        ["no", message] => Some(Outcome::Refused(message.to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_whole_or_not_at_all() {
        let Some(Outcome::Answer(answer)) = reply("ok\t1500\t2048\t1024") else { panic!("not an answer") };
        assert_eq!((answer.time, answer.peak, answer.idle), (Duration::from_nanos(1500), 2048, 1024));
        assert!(
            matches!(reply("no\twrong type"), Some(Outcome::Refused(message)) if message == "wrong type")
        );
        assert!(reply("ok\t1500").is_none());
        assert!(reply("ok\tfast\t1\t1").is_none());
    }
}

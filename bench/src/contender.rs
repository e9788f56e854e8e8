//! The contenders, each a process of its own that answers one request after the other.
//!
//! A process per contender keeps a crash, a hang or a leak of one from the numbers of the others, and memory
//! is read where it was used. **Invariant:** a process that was too slow or died is never asked again; the
//! next request starts a new one.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use std::{env, thread};

use anyhow::{Context, Result, bail};

use crate::python;

/// Who is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contender {
    /// This project.
    Typeloom,
    /// The ONNX reference, from Python.
    Reference,
    /// The Rust peer with its loader.
    Peer,
}

impl Contender {
    /// All, in the order of the columns.
    pub const ALL: [Self; 3] = [Self::Typeloom, Self::Reference, Self::Peer];

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Typeloom => "typeloom",
            Self::Reference => "reference",
            Self::Peer => "peer",
        }
    }

    fn command(self, pages: Pages) -> Result<Command> {
        let mut command = match self {
            Self::Reference => python::command(&["reference.py"]),
            Self::Typeloom | Self::Peer => {
                let mut command = Command::new(env::current_exe()?);
                command.args(["serve", self.name()]);
                command
            }
        };
        match pages {
            Pages::Kept => command.envs(KEEP_PAGES),
            Pages::Returned => &mut command,
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        Ok(command)
    }
}

/// What the system's allocator does with pages that a request no longer needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pages {
    /// It keeps them for the next request.
    Kept,
    /// It gives them back when it sees fit.
    Returned,
}

/// Left alone, the GNU allocator keeps what small requests free and returns what large ones free, and then large
/// models alone pay for new pages in every run.
const KEEP_PAGES: [(&str, &str); 2] =
    [("MALLOC_MMAP_MAX_", "0"), ("MALLOC_TRIM_THRESHOLD_", "18446744073709551615")];

/// What one request came to.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It was answered.
    Answer(Answer),
    /// It was answered by a refusal of the model.
    Refused(String),
    /// It took longer than allowed.
    TooSlow,
    /// The process ended.
    Crashed,
}

/// Time and memory of an answered request.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// From the request's file or bytes to the answer.
    pub time: Duration,
    /// The most memory the process held so far, in bytes.
    pub peak: u64,
    /// What it held before its first request.
    pub idle: u64,
}

/// A running contender.
pub struct Server {
    process: Child,
    requests: ChildStdin,
    replies: Receiver<String>,
    /// What the contender calls itself.
    pub version: String,
}

impl Server {
    /// Starts the process and waits until it is ready.
    pub fn start(contender: Contender, pages: Pages) -> Result<Self> {
        let mut process = contender.command(pages)?.spawn().context("cannot start the process")?;
        let requests = process.stdin.take().context("the process has no input")?;
        let output = process.stdout.take().context("the process has no output")?;
        let (sender, replies) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut server = Self { process, requests, replies, version: String::new() };
        match server.replies.recv_timeout(Duration::from_secs(60)).as_deref().map(str::to_owned) {
            Ok(line) => match line.strip_prefix("ready\t") {
                Some(version) => version.clone_into(&mut server.version),
                None => bail!("it says `{line}`"),
            },
            Err(_) => bail!("it does not get ready"),
        }
        Ok(server)
    }

    /// One request; after anything but an answer or a refusal the server is of no further use.
    pub fn ask(&mut self, method: &str, model: &Path, limit: Duration) -> Outcome {
        let request = format!("{method}\t{}\n", model.display());
        if self.requests.write_all(request.as_bytes()).and_then(|()| self.requests.flush()).is_err() {
            return Outcome::Crashed;
        }
        match self.replies.recv_timeout(limit) {
            Ok(line) => reply(&line).unwrap_or(Outcome::Crashed),
            Err(RecvTimeoutError::Timeout) => Outcome::TooSlow,
            Err(RecvTimeoutError::Disconnected) => Outcome::Crashed,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only where the process is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
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

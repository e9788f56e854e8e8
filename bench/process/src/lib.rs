//! Functions that benchmarks share: processes of contenders on both of their sides, their memory, and the
//! description of the machine.
//!
//! Separate processes isolate the results from crashes, hangs and leaks of other contenders, and allow memory
//! to be measured for each of them.

pub mod machine;
pub mod memory;
pub mod protocol;

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

/// Maximum number of characters of a line.
const MAX_LINE: usize = 200;

/// Environment in which the GNU allocator keeps its pages. By default, it keeps those of small inputs and
/// returns those of large ones, so only large inputs would pay for new pages in every run.
pub const KEEP_PAGES: [(&str, &str); 2] =
    [("MALLOC_MMAP_MAX_", "0"), ("MALLOC_TRIM_THRESHOLD_", "18446744073709551615")];

/// A process that reads requests from its input, a line each, and writes a line for each to its output.
pub struct Process {
    process: Child,
    requests: ChildStdin,
    replies: Receiver<String>,
}

impl Process {
    /// Starts a process.
    ///
    /// # Errors
    ///
    /// The command cannot be started.
    pub fn start(command: &mut Command) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().context("cannot start the process")?;
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
        Ok(Self { process, requests, replies })
    }

    /// Writes a request.
    ///
    /// # Errors
    ///
    /// The process ended.
    pub fn send(&mut self, request: &str) -> io::Result<()> {
        writeln!(self.requests, "{request}")?;
        self.requests.flush()
    }

    /// The next reply.
    ///
    /// # Errors
    ///
    /// The process ended, or did not reply in time.
    pub fn reply(&self, limit: Duration) -> Result<String, RecvTimeoutError> {
        self.replies.recv_timeout(limit)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both calls fail only if the process has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The text on one line, cut to a readable length.
#[must_use]
pub fn one_line(text: &str) -> String {
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.chars().take(MAX_LINE).collect()
}

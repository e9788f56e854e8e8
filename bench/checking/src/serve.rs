//! Serving side of the protocol for contenders in Rust: the bench starts itself as their server.
//!
//! The protocol is that of `reference.py`, in lines: a request is a method, a path and the least time of all
//! calls, an answer is time and memory.

use std::hint;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use typeloom_bench_process::memory::peak;
use typeloom_bench_process::one_line;

use crate::{ours, peer};

/// The measured operation on the model of a request.
type Call = Box<dyn FnMut() -> Result<()>>;

/// Answers requests for one contender until the input ends.
pub fn serve(contender: &str) -> Result<()> {
    let version = match contender {
        "typeloom" => ours::VERSION,
        "peer" => peer::VERSION,
        other => bail!("there is no contender {other}"),
    };
    let mut replies = io::stdout().lock();
    writeln!(replies, "ready\t{version}")?;
    replies.flush()?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let [method, path, least] = line.split('\t').collect::<Vec<_>>()[..] else {
            bail!("not a request: {line}")
        };
        let least = Duration::from_nanos(least.parse().context("not a time")?);
        let idle = peak();
        match call(contender, method, path.into()).and_then(|call| mean_time(call, least)) {
            Ok(time) => writeln!(replies, "ok\t{}\t{}\t{idle}", time.as_nanos(), peak())?,
            Err(problem) => writeln!(replies, "no\t{}", one_line(&problem.to_string()))?,
        }
        replies.flush()?;
    }
    Ok(())
}

/// The call that a request names. A file is read now for a method that starts from memory.
fn call(contender: &str, method: &str, path: PathBuf) -> Result<Call> {
    Ok(match (contender, method) {
        ("typeloom", "file") => Box::new(move || ours::check_file(&path)),
        ("typeloom", "memory") => {
            let model = std::fs::read(path)?;
            Box::new(move || ours::check_bytes(&model))
        }
        ("peer", "file") => Box::new(move || peer::load_file(&path)),
        _ => bail!("{contender} has no method {method} for {}", path.display()),
    })
}

/// The mean of as many calls as take `least`, and of at least one.
fn mean_time(mut call: Call, least: Duration) -> Result<Duration> {
    let (mut total, mut calls) = (Duration::ZERO, 0);
    while calls == 0 || total < least {
        let start = Instant::now();
        hint::black_box(call())?;
        total += start.elapsed();
        calls += 1;
    }
    Ok(total / calls)
}

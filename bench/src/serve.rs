//! Serving side of the protocol for contenders in Rust: the bench starts itself as their server.
//!
//! The protocol is that of `reference.py`, in lines: a request is a method and a path, an answer is time and
//! memory.

use std::hint;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use typeloom_bench_process::{one_line, peak};

#[cfg(feature = "facade")]
use crate::ours;
#[cfg(feature = "peer")]
use crate::peer;

/// Answers requests for one contender until the input ends.
pub fn serve(contender: &str) -> Result<()> {
    let (version, run): (_, fn(&Path) -> Result<()>) = match contender {
        #[cfg(feature = "facade")]
        "typeloom" => (ours::VERSION, ours::check_file),
        #[cfg(feature = "peer")]
        "peer" => (peer::VERSION, peer::load_file),
        other => {
            println!("built without {other}");
            return Ok(());
        }
    };
    let mut replies = io::stdout().lock();
    writeln!(replies, "ready\t{version}")?;
    replies.flush()?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let Some((_, path)) = line.split_once('\t') else { anyhow::bail!("not a request: {line}") };
        let idle = peak();
        let start = Instant::now();
        let result = hint::black_box(run(Path::new(path)));
        let nanoseconds = start.elapsed().as_nanos();
        match result {
            Ok(()) => writeln!(replies, "ok\t{nanoseconds}\t{}\t{idle}", peak())?,
            Err(problem) => writeln!(replies, "no\t{}", one_line(&problem.to_string()))?,
        }
        replies.flush()?;
    }
    Ok(())
}

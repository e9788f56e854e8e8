//! Measures how the run time of a command grows with its input.
//!
//! Each case generates inputs that grow in one dimension. The command runs on an input and on one of twice
//! the size. The program prints the ratio of the two times; `SLOW` marks a ratio above 2.3. Where the system
//! reports processor time, it is used instead of wall time to exclude other processes. Times below 100 ms are
//! too short for a ratio and are not marked.
//!
//! ```text
//! cargo build --release -p typeloom-cli
//! cargo run --release -p typeloom-fuzz-targets --example scaling -- target/release/typeloom [WORD] [FACTOR]
//! ```
//!
//! `WORD` selects the cases that contain it, `FACTOR` multiplies the sizes.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it prints a table")]

#[path = "scaling/cases.rs"]
mod cases;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cases::{CASES, Input};

/// Ratios above this are marked.
const LIMIT: f64 = 2.3;

/// Shorter times are noise.
const SHORTEST: Duration = Duration::from_millis(100);

fn main() {
    let mut arguments = std::env::args().skip(1);
    let program = arguments.next().expect("the first argument is the path of the command");
    let word = arguments.next().unwrap_or_default();
    let factor: usize = arguments.next().map_or(1, |text| text.parse().expect("a factor is a number"));
    let folder = std::env::temp_dir().join(format!("typeloom-scaling-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder for inputs can be created");
    for case in CASES.iter().filter(|case| case.name.contains(&word)) {
        let size = case.size * factor;
        let (small, large) =
            (time(&program, &folder, &(case.make)(size)), time(&program, &folder, &(case.make)(2 * size)));
        let ratio = large.as_secs_f64() / small.as_secs_f64().max(1e-4);
        let mark = if ratio > LIMIT && large > SHORTEST { "SLOW" } else { "" };
        println!(
            "{ratio:5.2}  {:8.3} s  {:8.3} s  {:>7}  {} {mark}",
            small.as_secs_f64(),
            large.as_secs_f64(),
            size,
            case.name
        );
    }
    drop(std::fs::remove_dir_all(&folder));
}

/// Processor time of all awaited child processes, which Linux reports in ticks of 10 ms.
fn of_children() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The program name in parentheses can contain any character; field 3 follows it.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| -> Option<u64> { fields.get(at - 3)?.parse().ok() };
    Some(Duration::from_millis(10 * (ticks(16)? + ticks(17)?)))
}

/// The shorter of two runs of the command.
fn time(program: &str, folder: &Path, input: &Input) -> Duration {
    for (name, bytes) in &input.files {
        std::fs::write(folder.join(name), bytes).expect("an input can be written");
    }
    let arguments: Vec<String> = input
        .arguments
        .iter()
        .map(|argument| match argument.strip_prefix('@') {
            Some(name) => folder.join(name).display().to_string(),
            None => argument.clone(),
        })
        .collect();
    let run = || {
        let (start, before) = (Instant::now(), of_children());
        let mut command = Command::new(program);
        command.args(&arguments).stdout(Stdio::null()).stderr(Stdio::null());
        let status = command.status().expect("the command can be started");
        if status.code().is_none_or(|code| code >= 3) {
            eprintln!("{status}: {arguments:.80?}");
        }
        match (before, of_children()) {
            (Some(before), Some(after)) => after.saturating_sub(before),
            (_, _) => start.elapsed(),
        }
    };
    let first = run();
    if first > Duration::from_secs(2) { first } else { first.min(run()) }
}

//! Processes under callgrind, and their counts.
//!
//! The environment, whose size moves the stack, and the number of threads are the same in all runs. Callgrind
//! shows the program a processor of its own, so the vector instructions that the program and the C library
//! choose do not depend on the machine, as long as it has AVX2.

use std::env;
use std::num::NonZero;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, anyhow, bail};

use crate::FACTOR;
use crate::catalogue::Family;

/// The pattern of the name of [`measured`](crate::measured), with and without mangling. No other function
/// matches.
const MEASURED: &str = "*typeloom_bench_guards*measured*";

/// The counts of each family at its size and at [`FACTOR`] times that, each the median of several runs,
/// because the seeds of hash maps differ between processes. Counts on all processors.
pub(crate) fn count(families: &[&'static Family], runs: usize) -> Result<Vec<[u64; 2]>> {
    let own = env::current_exe().context("this program has a file")?;
    // The large sizes first, so that the processors end at about the same time.
    let inputs: Vec<_> = [FACTOR, 1]
        .into_iter()
        .flat_map(|factor| families.iter().map(move |family| (family.name, family.size * factor)))
        .collect();
    let next = AtomicUsize::new(0);
    let samples = Mutex::new(vec![Vec::with_capacity(runs); inputs.len()]);
    let failure = Mutex::new(None);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= inputs.len() * runs {
                break;
            }
            let at = number % inputs.len();
            let (family, size) = inputs[at];
            match run(&own, family, size) {
                Ok(count) => samples.lock().unwrap_or_else(PoisonError::into_inner)[at].push(count),
                Err(error) => {
                    next.store(inputs.len() * runs, Ordering::Relaxed);
                    *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(work);
        }
    });
    if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let samples = samples.into_inner().unwrap_or_else(PoisonError::into_inner);
    let medians: Option<Vec<u64>> = samples.into_iter().map(median).collect();
    let medians = medians.context("there are no runs")?;
    let (large, small) = medians.split_at(families.len());
    Ok(small.iter().zip(large).map(|(small, large)| [*small, *large]).collect())
}

fn median(mut samples: Vec<u64>) -> Option<u64> {
    samples.sort_unstable();
    samples.get(samples.len() / 2).copied()
}

/// The number of instructions of one run.
fn run(own: &Path, family: &str, size: usize) -> Result<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--command-line-only=yes", "--cache-sim=no", "--branch-sim=no"])
        .args([
            "--collect-atstart=no",
            &format!("--toggle-collect={MEASURED}"),
            "--callgrind-out-file=/dev/null",
        ])
        .arg(own)
        .args(["run", family, &size.to_string()])
        .env_clear()
        .env("PATH", env::var_os("PATH").unwrap_or_default())
        .env("RAYON_NUM_THREADS", "1")
        .output()
        .map_err(|error| anyhow!("valgrind cannot be started: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{family} {size}: {}\n{text}", output.status);
    }
    collected(&text).with_context(|| format!("{family} {size}: valgrind printed no count:\n{text}"))
}

/// The number in the line `==PID== Collected : NUMBER`.
fn collected(text: &str) -> Option<u64> {
    let number = text.lines().find_map(|line| line.split_once("Collected :"))?.1.trim();
    // A count of zero means that the function was not found.
    number.parse().ok().filter(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_count() {
        assert_eq!(median(vec![9, 1, 5]), Some(5));
        assert_eq!(median(Vec::new()), None);
    }

    #[test]
    fn the_count_is_read_from_the_output() {
        let text = "==7== Callgrind, a call-graph generating cache profiler\n==7== Events    : Ir\n==7== Collected : 60234\n";
        assert_eq!(collected(text), Some(60_234));
        assert_eq!(collected("==7== Collected : 0\n"), None);
        assert_eq!(collected("==7== Events    : Ir\n"), None);
    }
}

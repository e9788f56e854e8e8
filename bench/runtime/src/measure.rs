//! Interleaved measurement of every contender on one model, so that disturbances of the machine affect all
//! equally.
//!
//! In a round, every contender runs a batch that takes some milliseconds; the first batch is a warm-up. A
//! contender stops when its time budget is spent. Outputs are compared, and deviating ones are marked. With
//! several threads, a pause precedes each batch: the threads of ONNX Runtime spin for a while after a run,
//! and would take a processor away from the next contender.
//!
//! The memory layout of a process changes its speed by up to a tenth for its whole lifetime. Therefore the
//! measurement is repeated with several consecutive processes of each contender, and the report shows their
//! median.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, process, thread};

use anyhow::{Context, Result};

use crate::cases::{Case, Kind, inputs};
use crate::contender::{Contender, Server, Threads};

/// Target time of a batch of runs.
const BATCH: Duration = Duration::from_millis(20);

/// Time before a batch with several threads, in which those of the contender before fall asleep.
const PAUSE: Duration = Duration::from_millis(100);

/// Maximum difference of an output element, relative to the largest element.
const TOLERANCE: f32 = 1e-3;

/// Parameters of a measurement.
pub struct Plan {
    /// Number of processes of each contender on each model.
    pub processes: usize,
    /// Maximum number of batches of each process.
    pub runs: usize,
    /// Time after which a process gets no further batches.
    pub budget: Duration,
    /// Time limit of a request.
    pub limit: Duration,
    pub contenders: Vec<Contender>,
}

/// Measurements of a contender on a model.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Nanoseconds to load the model.
    pub load: u64,
    /// Nanoseconds of a run: the median over the batches, and of those the median over the processes.
    pub time: u64,
    /// Peak memory minus the memory before loading, in bytes.
    pub peak: u64,
    /// Whether the output differs from that of ONNX Runtime.
    pub differs: bool,
}

pub struct Row {
    pub name: &'static str,
    /// Purpose of the model.
    pub kind: Kind,
    /// Size of the model file in bytes.
    pub file: u64,
    /// Number of threads of every contender.
    pub threads: Threads,
    /// Measurements of each contender, or an error message.
    pub cells: Cells,
}

/// A running contender with the batches measured so far.
struct Work {
    server: Server,
    load: u64,
    batch: usize,
    times: Vec<u64>,
    spent: Duration,
}

impl Work {
    fn start(
        contender: Contender,
        threads: Threads,
        model: &Path,
        inputs: &[(String, Vec<usize>)],
        plan: &Plan,
    ) -> Result<Self, String> {
        let started = Server::start(contender, threads, model, inputs, plan.limit);
        let (mut server, loaded) = started.map_err(|error| format!("{error:#}"))?;
        let load = first(&loaded?)?;
        // The first run may include lazy setup; the second determines the size of a batch.
        first(&server.run(1, plan.limit)?)?;
        let one = Duration::from_nanos(first(&server.run(1, plan.limit)?)?);
        let batch = (BATCH.as_secs_f64() / one.as_secs_f64().max(1e-9)).ceil().clamp(1.0, 10_000.0);
        Ok(Self { server, load, batch: batch as usize, times: Vec::new(), spent: Duration::ZERO })
    }

    fn batch(&mut self, plan: &Plan) -> Result<(), String> {
        let nanoseconds = first(&self.server.run(self.batch, plan.limit)?)?;
        self.times.push(nanoseconds / self.batch as u64);
        self.spent += Duration::from_nanos(nanoseconds);
        Ok(())
    }

    /// Returns the measurements and the output.
    fn end(mut self, plan: &Plan) -> Result<(Measured, Vec<f32>), String> {
        let memory = self.server.memory()?;
        let [peak, idle] = memory[..] else { return Err("the reply contains no memory values".to_owned()) };
        let output = self.server.output(plan.limit)?;
        self.times.sort_unstable();
        let time = *self.times.get(self.times.len() / 2).ok_or("no run was measured")?;
        let peak = peak.saturating_sub(idle);
        Ok((Measured { load: self.load, time, peak, differs: false }, output))
    }
}

fn first(numbers: &[u64]) -> Result<u64, String> {
    numbers.first().copied().ok_or_else(|| "the reply is empty".to_owned())
}

/// Measures every contender on a model, for each of the model's thread counts.
pub fn measure(case: &Case, plan: &Plan) -> Result<Vec<Row>> {
    let bytes = (case.make)()?;
    let file = bytes.len() as u64;
    let inputs = inputs(&bytes)?;
    let folder = Folder(env::temp_dir().join(format!("typeloom-bench-runtime-{}", process::id())));
    fs::create_dir_all(&folder.0).context("cannot make a folder for the model")?;
    let model = folder.0.join("model.onnx");
    fs::write(&model, bytes).context("cannot write the model")?;
    let threads = case.kind.threads().iter();
    let rows = threads.map(|&threads| {
        let rounds = (0..plan.processes).map(|_| cells(plan, threads, &model, &inputs)).collect();
        let cells = together(rounds);
        Row { name: case.name, kind: case.kind, file, threads, cells }
    });
    Ok(rows.collect())
}

type Cells = Vec<(Contender, Result<Measured, String>)>;

/// Combines the measurements of all processes of each contender, or returns the last error of one of them.
fn together(rounds: Vec<Cells>) -> Cells {
    let mut all: Vec<(Contender, Result<Vec<Measured>, String>)> = Vec::new();
    for (contender, cell) in rounds.into_iter().flatten() {
        match (all.iter_mut().find(|(other, _)| *other == contender), cell) {
            (None, cell) => all.push((contender, cell.map(|one| vec![one]))),
            (Some((_, Ok(several))), Ok(one)) => several.push(one),
            (Some((_, several)), Err(problem)) => *several = Err(problem),
            (Some((_, Err(_))), Ok(_)) => {}
        }
    }
    let median = |several: &[Measured], of: fn(&Measured) -> u64| {
        let mut numbers: Vec<u64> = several.iter().map(of).collect();
        numbers.sort_unstable();
        numbers.get(numbers.len() / 2).copied().unwrap_or_default()
    };
    let of_all = |several: Vec<Measured>| Measured {
        load: median(&several, |it| it.load),
        time: median(&several, |it| it.time),
        peak: median(&several, |it| it.peak),
        differs: several.iter().any(|it| it.differs),
    };
    all.into_iter().map(|(contender, several)| (contender, several.map(of_all))).collect()
}

fn cells(plan: &Plan, threads: Threads, model: &Path, inputs: &[(String, Vec<usize>)]) -> Cells {
    let started = plan.contenders.iter().map(|it| (*it, Work::start(*it, threads, model, inputs, plan)));
    let mut works: Vec<(Contender, Result<Work, String>)> = started.collect();
    for _ in 0..plan.runs {
        for (_, work) in &mut works {
            let failed = match work {
                Ok(running) if running.spent < plan.budget => {
                    if threads != Threads::One {
                        thread::sleep(PAUSE);
                    }
                    running.batch(plan).err()
                }
                Ok(_) | Err(_) => None,
            };
            if let Some(problem) = failed {
                *work = Err(problem);
            }
        }
    }
    let mut cells = Vec::new();
    let mut outputs = Vec::new();
    for (contender, work) in works {
        let (cell, output) = match work.and_then(|work| work.end(plan)) {
            Ok((measured, output)) => (Ok(measured), Some(output)),
            Err(problem) => (Err(problem), None),
        };
        outputs.push(output);
        cells.push((contender, cell));
    }
    // The reference is ONNX Runtime or else the first available contender; outputs that differ from it are
    // marked.
    let of_ort = cells.iter().position(|(contender, _)| *contender == Contender::Ort);
    let of_ort = of_ort.and_then(|at| outputs[at].as_ref());
    let truth = of_ort.or_else(|| outputs.iter().flatten().next());
    for ((_, cell), output) in cells.iter_mut().zip(&outputs) {
        if let (Ok(measured), Some(output), Some(truth)) = (cell, output, truth) {
            measured.differs = !close(output, truth);
        }
    }
    cells
}

fn close(output: &[f32], truth: &[f32]) -> bool {
    let largest = truth.iter().fold(0.0_f32, |largest, it| largest.max(it.abs()));
    let pairs = output.iter().zip(truth);
    // NaN is not close to any value, including itself.
    output.len() == truth.len() && pairs.into_iter().all(|(a, b)| (a - b).abs() <= TOLERANCE * largest)
}

/// A temporary folder, removed on drop.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // Fails only if the folder is already removed.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Row {
    /// Measurements of one contender.
    pub fn of(&self, contender: Contender) -> Option<&Measured> {
        let (_, cell) = self.cells.iter().find(|(other, _)| *other == contender)?;
        cell.as_ref().ok()
    }

    /// The time of one contender divided by that of another.
    pub fn ratio(&self, of: Contender, over: Contender) -> Option<f64> {
        Some(self.of(of)?.time as f64 / self.of(over)?.time as f64)
    }

    /// The peak memory of one contender divided by that of another.
    pub fn memory_ratio(&self, of: Contender, over: Contender) -> Option<f64> {
        Some(self.of(of)?.peak as f64 / self.of(over)?.peak.max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::close;

    #[test]
    fn outputs_are_compared_element_by_element() {
        assert!(close(&[1.0, 200.0], &[1.1, 200.1]));
        assert!(!close(&[2.0, 200.0], &[1.0, 200.0]));
        assert!(!close(&[1.0], &[1.0, 200.0]));
        assert!(!close(&[f32::NAN], &[f32::NAN]));
    }
}

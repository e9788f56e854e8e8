//! Interleaved measurement of every method on every case, so that disturbances of the machine affect all
//! methods equally.
//!
//! The first round is a warm-up and counts only if it is the only one. A method stops on a case when its time
//! budget is spent. After a timeout or crash it is left out of the larger cases of the family.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, process};

use anyhow::{Context, Result};
use typeloom_bench_families::count_nodes;

use crate::contender::{Contender, Outcome, Pages, Server};
use crate::families::{Case, Family, Model, Scale};

/// One timed column of the report.
pub struct Method {
    /// The contender that answers.
    pub contender: Contender,
    /// The request's first word.
    pub word: &'static str,
    /// The column's head.
    pub title: &'static str,
    pub start: Start,
}

/// The start of the measured time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    File,
    /// Bytes that were read beforehand.
    Memory,
}

/// The timed columns. A contender is measured in new processes by its first one.
pub static METHODS: [Method; 6] = {
    const fn of(contender: Contender, word: &'static str, title: &'static str, start: Start) -> Method {
        Method { contender, word, title, start }
    }
    [
        of(Contender::Typeloom, "file", "typeloom, file", Start::File),
        of(Contender::Typeloom, "memory", "typeloom, memory", Start::Memory),
        of(Contender::Reference, "memory", "reference, memory", Start::Memory),
        of(Contender::Reference, "memory-values", "reference, memory, values", Start::Memory),
        of(Contender::Reference, "file", "reference, file", Start::File),
        of(Contender::Peer, "file", "peer, file", Start::File),
    ]
};

/// The position of the column of typeloom that has the same start as another one.
pub fn ours(start: Start) -> usize {
    let is_ours = |method: &Method| method.contender == Contender::Typeloom && method.start == start;
    METHODS.iter().position(is_ours).expect("typeloom has a column for each start")
}

/// Result of a method on a case.
#[derive(Clone, Debug)]
pub enum Timing {
    /// The median and the number of runs.
    Median(Duration, usize),
    /// The model was rejected, with the first message.
    Refused(String),
    /// One run exceeded the limit.
    TooSlow,
    Crashed,
    /// A smaller case timed out or crashed.
    LeftOut,
    /// The contender is not available.
    Absent,
}

/// Cost of a case in a new process.
#[derive(Clone, Copy, Debug)]
pub struct Fresh {
    /// Peak memory minus the memory before the request, in bytes.
    pub held: u64,
    /// Time, including the cost of new pages.
    pub time: Duration,
}

/// One row of the report.
pub struct Row {
    pub name: String,
    /// The varied size of the family.
    pub size: Option<u64>,
    /// Size of the model file in bytes.
    pub file: u64,
    /// Number of nodes that the generator wrote, or else of the main graph.
    pub nodes: u64,
    /// One entry for each of `METHODS`.
    pub times: Vec<Timing>,
    /// One entry for each of `Contender::ALL`.
    pub fresh: Vec<Option<Fresh>>,
}

/// Parameters of a measurement.
pub struct Plan {
    pub scale: Scale,
    /// Maximum number of runs of each method on each case.
    pub runs: usize,
    /// Time limit of a run.
    pub limit: Duration,
    /// Time after which a method gets no further runs on a case.
    pub budget: Duration,
}

pub struct Bench {
    plan: Plan,
    servers: Vec<Option<Server>>,
    /// Name and version that each contender reports, or the reason why it is not available.
    pub versions: Vec<(Contender, Result<String, String>)>,
}

impl Bench {
    /// Starts every contender once; the columns of one that does not start remain empty.
    pub fn new(plan: Plan) -> Self {
        let mut versions = Vec::new();
        let mut servers = Vec::new();
        for contender in Contender::ALL {
            let server = Server::start(contender, Pages::Kept).map_err(|problem| format!("{problem:#}"));
            versions.push((contender, server.as_ref().map(|it| it.version.clone()).map_err(Clone::clone)));
            servers.push(server.ok());
        }
        Self { plan, servers, versions }
    }

    /// Measures a family, row by row.
    pub fn family(&mut self, family: &Family) -> Result<Vec<Row>> {
        let mut dropped = [false; METHODS.len()];
        let cases = (family.cases)(self.plan.scale)?;
        cases.into_iter().map(|case| self.case(family, case, &mut dropped)).collect()
    }

    fn case(&mut self, family: &Family, case: Case, dropped: &mut [bool]) -> Result<Row> {
        eprintln!("{} {}", family.name, case.name);
        let placed = Placed::new(&case)?;
        let model = placed.model();
        let file = fs::metadata(&model)?.len();
        let times = self.times(&model, dropped);
        for (drop, timing) in dropped.iter_mut().zip(&times) {
            *drop |= case.size.is_some() && matches!(timing, Timing::TooSlow | Timing::Crashed);
        }
        let fresh = Contender::ALL.iter().map(|contender| self.fresh(*contender, &placed, &times)).collect();
        Ok(Row { name: case.name, size: case.size, file, nodes: placed.nodes, times, fresh })
    }

    fn times(&mut self, model: &Path, dropped: &[bool]) -> Vec<Timing> {
        let mut runs = vec![Runs::default(); METHODS.len()];
        for (run, dropped) in runs.iter_mut().zip(dropped) {
            run.end = dropped.then_some(Timing::LeftOut);
        }
        for round in 0..=self.plan.runs * SHORT_RUNS {
            if round > self.plan.runs && runs.iter().any(|run| run.spent > SHORT) {
                break;
            }
            for (method, runs) in METHODS.iter().zip(&mut runs) {
                if runs.end.is_none() && runs.spent < self.plan.budget {
                    runs.record(self.ask(method, model));
                }
            }
        }
        runs.into_iter().map(Runs::timing).collect()
    }

    fn ask(&mut self, method: &Method, model: &Path) -> Option<Outcome> {
        let index = position(method.contender);
        if self.versions[index].1.is_err() {
            return None;
        }
        if self.servers[index].is_none() {
            self.servers[index] = Server::start(method.contender, Pages::Kept).ok();
        }
        let server = self.servers[index].as_mut()?;
        let outcome = server.ask(method.word, model, LEAST, self.plan.limit);
        if matches!(outcome, Outcome::TooSlow | Outcome::Crashed) {
            self.servers[index] = None;
        }
        Some(outcome)
    }

    /// Measures this model in new processes that have answered a small model, with the contender's first
    /// method, if that succeeded: the median of three for typeloom, one for the others.
    fn fresh(&self, contender: Contender, placed: &Placed, times: &[Timing]) -> Option<Fresh> {
        let (method, timing) = METHODS.iter().zip(times).find(|(method, _)| method.contender == contender)?;
        let Timing::Median(..) = timing else { return None };
        let runs = if contender == Contender::Typeloom { 3 } else { 1 };
        let mut taken: Vec<Fresh> = (0..runs).map_while(|_| self.first_answer(method, placed)).collect();
        let time = median(&mut taken.iter().map(|fresh| fresh.time).collect::<Vec<_>>())?;
        taken.sort_by_key(|fresh| fresh.held);
        Some(Fresh { held: taken.last()?.held, time })
    }

    fn first_answer(&self, method: &Method, placed: &Placed) -> Option<Fresh> {
        let mut server = Server::start(method.contender, Pages::Returned).ok()?;
        if placed.small().exists() {
            server.ask(method.word, &placed.small(), Duration::ZERO, self.plan.limit);
        }
        match server.ask(method.word, &placed.model(), Duration::ZERO, self.plan.limit) {
            Outcome::Answer(answer) if answer.peak > 0 => {
                Some(Fresh { held: answer.peak.saturating_sub(answer.idle), time: answer.time })
            }
            Outcome::Answer(_) | Outcome::Refused(_) | Outcome::TooSlow | Outcome::Crashed => None,
        }
    }
}

/// The position of a contender in [`Contender::ALL`].
pub fn position(contender: Contender) -> usize {
    Contender::ALL.iter().position(|it| *it == contender).expect("ALL holds every contender")
}

/// Size of the model that a process answers before its memory is measured.
const SMALL: u64 = 4;

/// A case as a file in a temporary folder, removed on drop. A contender may write files next to the model.
struct Placed {
    folder: PathBuf,
    nodes: u64,
}

impl Placed {
    fn new(case: &Case) -> Result<Self> {
        let folder = env::temp_dir().join(format!("typeloom-bench-{}", process::id()));
        fs::create_dir_all(&folder).context("cannot make a folder for the model")?;
        let mut placed = Self { folder, nodes: 0 };
        match &case.model {
            Model::Stored(path) => {
                let model = fs::read(path)?;
                placed.nodes = count_nodes(&model);
                fs::write(placed.model(), model)?;
            }
            Model::Made(write) => {
                let written = |path: PathBuf, size| -> Result<u64> {
                    let file = File::create(path).context("cannot write the model")?;
                    let mut file = BufWriter::with_capacity(1 << 20, file);
                    let nodes = write(size, &mut file)?;
                    file.flush()?;
                    Ok(nodes)
                };
                placed.nodes = written(placed.model(), case.size.unwrap_or_default())?;
                written(placed.small(), SMALL)?;
            }
        }
        Ok(placed)
    }

    fn model(&self) -> PathBuf {
        self.folder.join("model.onnx")
    }

    /// A minimal model of the same family; only generated families have one.
    fn small(&self) -> PathBuf {
        self.folder.join("small.onnx")
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        // Fails only if the folder is already removed.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The least time of a run, which repeats a shorter call: a single call of some microseconds mostly measures
/// the loading of caches that the process before it used.
const LEAST: Duration = Duration::from_millis(2);

/// A case gets additional runs if its runs took less than this with every method: a median of few runs of
/// some microseconds depends on the previous state of the machine.
const SHORT: Duration = Duration::from_millis(50);

/// Maximum factor of additional runs.
const SHORT_RUNS: usize = 8;

/// The runs of one method on one case.
#[derive(Clone, Default)]
struct Runs {
    times: Vec<Duration>,
    spent: Duration,
    end: Option<Timing>,
}

impl Runs {
    fn record(&mut self, outcome: Option<Outcome>) {
        match outcome {
            Some(Outcome::Answer(answer)) => {
                self.times.push(answer.time);
                self.spent += answer.time;
            }
            Some(Outcome::Refused(message)) => self.end = Some(Timing::Refused(message)),
            Some(Outcome::TooSlow) => self.end = Some(Timing::TooSlow),
            Some(Outcome::Crashed) => self.end = Some(Timing::Crashed),
            None => self.end = Some(Timing::Absent),
        }
    }

    fn timing(mut self) -> Timing {
        if let Some(end) = self.end {
            return end;
        }
        if self.times.len() > 1 {
            self.times.remove(0);
        }
        let runs = self.times.len();
        median(&mut self.times).map_or(Timing::Absent, |median| Timing::Median(median, runs))
    }
}

/// The median, or the lower of the two middle values.
fn median(times: &mut [Duration]) -> Option<Duration> {
    times.sort_unstable();
    times.get(times.len().checked_sub(1)? / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::Answer;

    fn answered(milliseconds: u64) -> Option<Outcome> {
        Some(Outcome::Answer(Answer { time: Duration::from_millis(milliseconds), peak: 0, idle: 0 }))
    }

    #[test]
    fn the_median_is_one_of_the_times() {
        let mut times = [5, 1, 9, 3].map(Duration::from_millis);
        assert_eq!(median(&mut times), Some(Duration::from_millis(3)));
        assert_eq!(median(&mut []), None);
    }

    #[test]
    fn the_first_run_counts_only_alone() {
        let mut runs = Runs::default();
        runs.record(answered(900));
        assert!(matches!(runs.clone().timing(), Timing::Median(time, 1) if time.as_millis() == 900));
        runs.record(answered(1));
        runs.record(answered(2));
        assert!(matches!(runs.timing(), Timing::Median(time, 2) if time.as_millis() == 1));
    }

    #[test]
    fn one_failed_run_decides_the_case() {
        let mut runs = Runs::default();
        runs.record(answered(1));
        runs.record(Some(Outcome::TooSlow));
        assert!(matches!(runs.timing(), Timing::TooSlow));
    }
}

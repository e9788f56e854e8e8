//! `typeloom-bench-guards`: counts the instructions of every benchmark family at two sizes, and compares them
//! with recorded counts.
//!
//! The program starts itself for each family and size under callgrind. The new process prepares an input, and
//! callgrind counts the instructions inside of one function, [`measured`]. Two rules decide:
//!
//! - Work grows linearly: at ten times the size, at most [`LINEAR`](catalogue::LINEAR) times the
//!   instructions. A family with another limit states the reason in the [`catalogue`].
//! - No family has more than [`TOLERANCE`](verdict::TOLERANCE) per cent more instructions than `counts.txt`
//!   records. A higher record needs a reason, which the file keeps.
//!
//! | module | contents |
//! |---|---|
//! | [`catalogue`] | the families |
//! | [`callgrind`] | processes and their counts |
//! | [`counts`] | the file of recorded counts |
//! | [`verdict`] | the rules |
//! | [`report`] | the table |

mod arguments;
mod callgrind;
mod catalogue;
mod counts;
mod report;
mod verdict;

use std::path::Path;
use std::process::ExitCode;
use std::{fs, hint};

use anyhow::{Context, Result, ensure};

use crate::arguments::{Arguments, Command};
use crate::catalogue::{FAMILIES, Family};
use crate::counts::{Compiler, Counts};
use crate::verdict::{Finding, Row};

/// The factor between the two sizes of a family.
const FACTOR: usize = 10;

/// The number of runs of which the median is recorded. The counts of one family differ by up to 6 % between
/// processes.
const RUNS: usize = 3;

/// The recorded counts.
const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/counts.txt");

fn main() -> Result<ExitCode> {
    match Arguments::parse(std::env::args().skip(1))?.command {
        Command::Run { family, size } => {
            run(catalogue::find(&family)?, size);
            Ok(ExitCode::SUCCESS)
        }
        Command::Check { only } => check(&chosen(&only)?),
        Command::Bless { only, reason } => bless(&chosen(&only)?, reason.as_deref()),
        Command::Repeat { only, times } => repeat(&chosen(&only)?, times),
    }
}

/// The work whose instructions are counted.
///
/// Callgrind finds this function by its name. It has a call after the work, so that the work is not a tail
/// call, which would end the count at its first return.
#[inline(never)]
fn measured(work: &mut dyn FnMut()) {
    work();
    hint::black_box(());
}

/// Prepares an input, and processes it once.
fn run(family: &Family, size: usize) {
    // Kernels never leave this thread, on machines with any number of processors. An error means that a pool
    // exists already.
    drop(rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global());
    if let Some(warm) = family.start.warm_size(family.size) {
        (family.prepare)(warm)();
    }
    let mut work = (family.prepare)(size);
    measured(&mut *work);
}

fn chosen(only: &[String]) -> Result<Vec<&'static Family>> {
    let is_chosen =
        |family: &&Family| only.is_empty() || only.iter().any(|word| family.name.contains(word.as_str()));
    let families: Vec<_> = FAMILIES.iter().flat_map(|group| group.iter()).filter(is_chosen).collect();
    ensure!(!families.is_empty(), "no family has `{}` in its name", only.join("` or `"));
    Ok(families)
}

fn recorded() -> Result<Counts> {
    let path = Path::new(RECORD);
    if !path.exists() {
        return Ok(Counts::default());
    }
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Counts::parse(&text).with_context(|| format!("in {}", path.display()))
}

fn rows(families: &[&'static Family], runs: usize, recorded: &Counts) -> Result<Vec<Row>> {
    let counts = callgrind::count(families, runs)?;
    let row = |(family, counts): (&&'static Family, [u64; 2])| Row::new(family, counts, recorded);
    Ok(families.iter().zip(counts).map(row).collect())
}

fn check(families: &[&'static Family]) -> Result<ExitCode> {
    let (recorded, compiler) = (recorded()?, Compiler::running()?);
    let is_same = recorded.compiler.as_ref() == Some(&compiler);
    let mut rows = rows(families, 1, &recorded)?;
    // One run decides about most families; medians of several runs exclude that the seeds of hash maps cause
    // an error.
    let is_doubtful =
        |row: &&mut Row| row.recorded.is_some() && row.findings(is_same).iter().any(Finding::is_error);
    for row in rows.iter_mut().filter(is_doubtful) {
        let family = catalogue::find(row.name)?;
        for counts in callgrind::count(&[family], RUNS)? {
            *row = Row::new(family, counts, &recorded);
        }
    }
    let findings: Vec<_> = rows.iter().flat_map(|row| row.findings(is_same)).collect();
    print!("{}", report::table(&rows));
    print!("{}", report::verdict(&findings, &recorded, &compiler));
    Ok(if findings.iter().any(Finding::is_error) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn bless(families: &[&'static Family], reason: Option<&str>) -> Result<ExitCode> {
    let (mut recorded, compiler) = (recorded()?, Compiler::running()?);
    let rows = rows(families, RUNS, &recorded)?;
    print!("{}", report::table(&rows));
    recorded.update(&rows, compiler, reason)?;
    recorded.retain(|name| catalogue::find(name).is_ok());
    fs::write(RECORD, recorded.to_string()).with_context(|| format!("cannot write {RECORD}"))?;
    println!("recorded in counts.txt");
    Ok(ExitCode::SUCCESS)
}

/// Prints how counts differ between processes.
fn repeat(families: &[&'static Family], times: usize) -> Result<ExitCode> {
    let runs = (0..times).map(|_| callgrind::count(families, 1)).collect::<Result<Vec<_>>>()?;
    print!("{}", report::spread(families, &runs));
    Ok(ExitCode::SUCCESS)
}

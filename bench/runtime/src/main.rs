//! `typeloom-bench-runtime`: compares run times of typeloom's backends with those of the engines themselves.
//!
//! The models are in `cases`. Each pair of contender and model has a process (`contender`, `serve`), so that
//! its peak memory is that of one model and a crash is isolated. `measure` interleaves the runs, `report`
//! writes the tables and `promises` the verdicts. Numbers from different runs or machines are not comparable;
//! ratios within one run are.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

use crate::contender::Contender;
use crate::measure::{Plan, measure};

mod cases;
mod contender;
mod library;
mod measure;
mod promises;
mod report;
mod serve;

/// Compare the speed of typeloom's backends with that of the engines themselves.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Fewer models and runs; prints the report and writes no file unless `--output` is given
    #[arg(long)]
    quick: bool,
    /// Only models whose name contains this; may be given several times
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Leave a contender out; may be given several times
    #[arg(long, value_name = "CONTENDER")]
    without: Vec<Contender>,
    /// Path of the report [default: bench/results/running.md]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Maximum number of batches of each process
    #[arg(long)]
    runs: Option<usize>,
    /// Seconds after which a process gets no further batches
    #[arg(long)]
    budget: Option<f64>,
}

#[derive(Subcommand)]
enum Verb {
    /// Answer requests as one contender (used by the bench itself)
    #[command(hide = true)]
    Serve { contender: Contender, threads: usize, model: PathBuf, inputs: Vec<String> },
    /// Write one generated model to a file
    Write { name: String, file: PathBuf },
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    match &arguments.verb {
        Some(Verb::Serve { contender, threads, model, inputs }) => {
            serve::serve(*contender, *threads, model, inputs)
        }
        Some(Verb::Write { name, file }) => {
            let case = cases::all(false).into_iter().find(|case| case.name == *name);
            let model = (case.with_context(|| format!("no model is called `{name}`"))?.make)()?;
            fs::write(file, model).with_context(|| format!("cannot write {}", file.display()))
        }
        None => run(&arguments),
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    if let Err(problem) = library::find() {
        eprintln!("no ONNX Runtime: {problem:#}");
    }
    if !arguments.without.contains(&Contender::Candle) {
        contender::build_candle().unwrap_or_else(|problem| eprintln!("no candle: {problem:#}"));
    }
    let quick = arguments.quick;
    let plan = Plan {
        processes: if quick { 1 } else { 5 },
        runs: arguments.runs.unwrap_or(if quick { 5 } else { 15 }),
        budget: Duration::from_secs_f64(arguments.budget.unwrap_or(if quick { 1.0 } else { 4.0 })),
        limit: Duration::from_secs(60),
        contenders: Contender::ALL.into_iter().filter(|it| !arguments.without.contains(it)).collect(),
    };
    let wanted = |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|it| name.contains(it));
    let mut rows = Vec::new();
    for case in cases::all(quick).into_iter().filter(|case| wanted(case.name)) {
        eprintln!("{}", case.name);
        match measure(&case, &plan) {
            Ok(measured) => rows.extend(measured),
            Err(problem) => eprintln!("{}: left out, {problem:#}", case.name),
        }
    }
    let text = report::document(&command(arguments), &plan, &rows);
    println!("{text}");
    // A partial run must not overwrite the full report.
    let whole = !quick && arguments.only.is_empty() && arguments.without.is_empty();
    let standard = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../results/running.md"));
    if let Some(output) = arguments.output.clone().or(whole.then_some(standard)) {
        fs::write(&output, text).with_context(|| format!("cannot write {}", output.display()))?;
        eprintln!("written to {}", output.display());
    }
    Ok(())
}

/// The command to repeat the run, without paths.
fn command(arguments: &Arguments) -> String {
    let mut words = vec!["cargo run --release -- runtime".to_owned()];
    if arguments.quick {
        words.push("--quick".to_owned());
    }
    words.extend(arguments.only.iter().map(|name| format!("--only {name}")));
    words.extend(arguments.without.iter().map(|contender| format!("--without {}", contender.name())));
    words.extend(arguments.runs.map(|runs| format!("--runs {runs}")));
    words.extend(arguments.budget.map(|budget| format!("--budget {budget}")));
    words.join(" ")
}

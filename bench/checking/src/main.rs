//! `typeloom-bench-checking`: times typeloom, the ONNX reference and a Rust peer on the same models in one
//! run.
//!
//! The families of models are in `families` and in the package of that name, each contender is a process
//! (`contender`, `serve`, `reference.py`), `measure` interleaves the runs, `report` writes the tables and
//! `targets` the verdicts. Numbers from different runs or machines are not comparable; ratios within one run
//! are.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};

use crate::families::{FAMILIES, Family, Model, Scale};
use crate::measure::{Bench, Plan};

mod contender;
mod families;
mod measure;
mod ours;
mod peer;
mod report;
mod serve;
mod targets;

/// Compare the speed of typeloom with the ONNX reference and a Rust peer.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Small sizes and few runs; prints the report and writes no file unless `--output` is given
    #[arg(long)]
    quick: bool,
    /// One family only; may be given several times
    #[arg(long, value_name = "FAMILY")]
    only: Vec<String>,
    /// Path of the report [default: bench/results/checking.md]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Maximum number of runs of each column on each model
    #[arg(long)]
    runs: Option<usize>,
    /// Time limit of one run in seconds
    #[arg(long, default_value_t = LIMIT)]
    limit: u64,
}

/// Default of `--limit` in seconds.
const LIMIT: u64 = 60;

#[derive(Subcommand)]
enum Verb {
    /// Answer requests as one contender (used by the bench itself)
    #[command(hide = true)]
    Serve { contender: String },
    /// Write one generated model to a file
    Write { family: String, size: u64, file: PathBuf },
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    match &arguments.verb {
        Some(Verb::Serve { contender }) => serve::serve(contender),
        Some(Verb::Write { family, size, file }) => write(family, *size, file),
        None => run(&arguments),
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let families = chosen(&arguments.only)?;
    let plan = Plan {
        scale: if arguments.quick { Scale::Quick } else { Scale::Full },
        runs: arguments.runs.unwrap_or(if arguments.quick { 3 } else { 9 }),
        limit: Duration::from_secs(arguments.limit),
        budget: Duration::from_secs(if arguments.quick { 2 } else { 10 }),
    };
    let mut bench = Bench::new(plan);
    let mut measured = Vec::new();
    for family in families {
        let rows = bench.family(family).with_context(|| format!("family {}", family.name))?;
        if !rows.is_empty() {
            measured.push((family, rows));
        }
    }
    let text = report::document(&command(arguments), &bench.versions, &measured);
    println!("{text}");
    // A partial run must not overwrite the full report.
    let whole = !arguments.quick && arguments.only.is_empty();
    let standard = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../results/checking.md"));
    if let Some(output) = arguments.output.clone().or(whole.then_some(standard)) {
        fs::write(&output, text).with_context(|| format!("cannot write {}", output.display()))?;
        eprintln!("written to {}", output.display());
    }
    Ok(())
}

fn write(family: &str, size: u64, file: &PathBuf) -> Result<()> {
    let [family] = chosen(&[family.to_owned()])?[..] else { bail!("give exactly one family") };
    let made = (family.cases)(Scale::Quick)?.into_iter().find_map(|case| match case.model {
        Model::Made(write) => Some(write),
        Model::Stored(_) => None,
    });
    let Some(make) = made else { bail!("the family `{}` is not generated", family.name) };
    let nodes = make(size, &mut std::io::BufWriter::new(fs::File::create(file)?))?;
    println!("{nodes} nodes");
    Ok(())
}

fn chosen(names: &[String]) -> Result<Vec<&'static Family>> {
    for name in names {
        if !FAMILIES.iter().any(|family| family.name == name) {
            let known: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
            bail!("no family is called `{name}`; there are {}", known.join(", "));
        }
    }
    let wanted = |family: &&Family| names.is_empty() || names.iter().any(|name| name == family.name);
    Ok(FAMILIES.iter().filter(wanted).collect())
}

/// The command to repeat the run, without paths.
fn command(arguments: &Arguments) -> String {
    let mut words = vec!["cargo run --release -- checking".to_owned()];
    if arguments.quick {
        words.push("--quick".to_owned());
    }
    words.extend(arguments.only.iter().map(|family| format!("--only {family}")));
    words.extend(arguments.runs.map(|runs| format!("--runs {runs}")));
    // The limit determines which runs are too slow.
    words.extend((arguments.limit != LIMIT).then(|| format!("--limit {}", arguments.limit)));
    words.join(" ")
}

//! Runs many random programs and prints those that break a law, reduced to few nodes.
//!
//! ```text
//! cargo run -p typeloom-differential -- [--count N] [--seed N] [--law LAW] [--signature TEXT] [--each N] [--declarations none|any] [--write FOLDER]
//! ```
//!
//! `--corpus FOLDER` instead writes byte streams for the fuzzer, from which the generator builds programs
//! with every operator. `--each` is the number of programs printed per cause; `--law` and `--signature`
//! select causes. `--write FOLDER` writes the programs without errors as models, for
//! `tools/annotation_law.py`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use typeloom_differential::choices::Choices;
use typeloom_differential::generate::{Declarations, generate};
use typeloom_differential::laws::{Law, Runs, examine};
use typeloom_differential::shrink::shrink;

struct Arguments {
    count: u64,
    seed: u64,
    law: Option<String>,
    signature: Option<String>,
    each: usize,
    declarations: Declarations,
    corpus: Option<PathBuf>,
    write: Option<PathBuf>,
}

fn arguments() -> Result<Arguments, String> {
    let declarations = Declarations::TrueAndFalse;
    let mut arguments = Arguments {
        count: 500,
        seed: 1,
        law: None,
        signature: None,
        each: 1,
        declarations,
        corpus: None,
        write: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|error| format!("{word} {value}: {error}"));
        match word.as_str() {
            "--count" => arguments.count = number()?,
            "--seed" => arguments.seed = number()?,
            "--each" => arguments.each = usize::try_from(number()?).unwrap_or(usize::MAX),
            "--declarations" if value == "none" => arguments.declarations = Declarations::None,
            "--declarations" if value == "any" => arguments.declarations = Declarations::TrueAndFalse,
            "--corpus" => arguments.corpus = Some(value.into()),
            "--write" => arguments.write = Some(value.into()),
            "--law" => arguments.law = Some(value),
            "--signature" => arguments.signature = Some(value),
            _ => return Err(format!("unknown option {word}")),
        }
    }
    Ok(arguments)
}

#[derive(Default)]
struct Tally {
    runs: BTreeMap<&'static str, (u64, u64, u64)>,
    findings: BTreeMap<(Law, String), Vec<u64>>,
    compared: usize,
    full: usize,
}

fn main() -> std::io::Result<()> {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(message) => {
            writeln!(std::io::stderr(), "{message}")?;
            std::process::exit(2);
        }
    };
    if let Some(folder) = &arguments.corpus {
        return corpus(folder, &arguments);
    }
    let mut out = std::io::stdout().lock();
    let mut tally = Tally::default();
    for seed in arguments.seed..arguments.seed + arguments.count {
        let examined = std::panic::catch_unwind(|| {
            let case = generate(arguments.declarations, &mut Choices::seeded(seed));
            let report = examine(&case);
            (case, report)
        });
        let Ok((case, report)) = examined else {
            writeln!(out, "== seed {seed}: a panic")?;
            continue;
        };
        if let Some(folder) = arguments.write.as_ref().filter(|_| !report.rejected) {
            let bytes =
                typeloom_onnx::text::model_bytes(&case.program.text()).map_err(std::io::Error::other)?;
            std::fs::write(folder.join(format!("{seed}.onnx")), bytes)?;
        }
        let runs = match (report.runs, report.anonymous) {
            (Runs::Everywhere, _) => "everywhere",
            (Runs::Once, false) => "at one binding",
            (Runs::Once, true) => "at one binding, anonymous extents",
            (Runs::Sometimes, _) => "at some bindings",
            (Runs::Unknown, _) => "not executed",
        };
        let entry = tally.runs.entry(runs).or_default();
        entry.0 += 1;
        entry.1 += u64::from(report.rejected);
        entry.2 += u64::from(report.reported);
        tally.compared += report.compared;
        tally.full += report.full;
        for finding in &report.findings {
            let key = (finding.law, finding.signature.clone());
            let seeds = tally.findings.entry(key).or_default();
            seeds.push(seed);
            let wanted = arguments.law.as_ref().is_none_or(|law| format!("{:?}", finding.law) == *law)
                && arguments.signature.as_ref().is_none_or(|text| finding.signature.contains(text.as_str()));
            if seeds.len() > arguments.each || !wanted {
                continue;
            }
            let small = shrink(&case, finding);
            writeln!(out, "== seed {seed}: {:?}: {}", finding.law, finding.signature)?;
            for left in examine(&small).findings {
                writeln!(out, "   {}", left.detail)?;
            }
            writeln!(out, "{}", small.program.text())?;
            out.flush()?;
        }
    }
    writeln!(out, "== programs that run")?;
    for (runs, (count, rejected, reported)) in &tally.runs {
        writeln!(out, "{runs}: {count}, {rejected} rejected, {reported} rejected or warned of")?;
    }
    writeln!(out, "values compared: {}, with full types: {}", tally.compared, tally.full)?;
    writeln!(out, "== broken laws")?;
    for ((law, signature), seeds) in &tally.findings {
        let shown: Vec<String> = seeds.iter().take(5).map(ToString::to_string).collect();
        writeln!(out, "{:5} {law:?}: {signature} (seeds {})", seeds.len(), shown.join(", "))?;
    }
    Ok(())
}

/// Length of a byte stream.
const STREAM: usize = 500;

/// Writes a stream for each program with an operator that no previous program has.
fn corpus(folder: &Path, arguments: &Arguments) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut known = BTreeSet::new();
    for seed in arguments.seed..arguments.seed + arguments.count {
        let mut choices = Choices::seeded(seed);
        let bytes: Vec<u8> = (0..STREAM).map(|_| u8::try_from(choices.below(256)).unwrap_or(0)).collect();
        let case = generate(Declarations::None, &mut Choices::of_bytes(&bytes));
        if examine(&case).runs != Runs::Everywhere {
            continue;
        }
        let mut operators = BTreeSet::new();
        case.program.graph.walk(&mut |graph| {
            operators
                .extend(graph.nodes.iter().filter(|node| node.domain.is_empty()).map(|node| node.op.clone()));
        });
        let before = known.len();
        known.extend(operators);
        if known.len() > before {
            std::fs::write(folder.join(format!("{seed}.bin")), bytes)?;
        }
    }
    writeln!(std::io::stdout(), "{} operators", known.len())
}

//! Repairs many random models, checks the law of repairs, and writes the models for ONNX Runtime.
//!
//! ```text
//! cargo run -p typeloom-differential --example repairs -- [--count N] [--seed N] [--nodes N] [--policy NAME] [--write FOLDER]
//! ```
//!
//! `tools/repair_law.py FOLDER` then runs the written models.

use std::io::{Error, Write as _};
use std::path::PathBuf;

use typeloom_differential::broken::Broken;
use typeloom_differential::choices::Choices;
use typeloom_differential::repairs::{Judged, has_fewer, judge};
use typeloom_rewrite::coerce::Policy;
use typeloom_tensor::datum::Datum;

/// The greatest number of conversions that is compared with a search.
const MAX_SEARCHED: usize = 3;

fn main() -> std::io::Result<()> {
    let (mut count, mut seed, mut nodes, mut policy, mut folder) = (1000, 1, 12, Policy::default(), None);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().unwrap_or_default();
        let number =
            || value.parse::<u64>().map_err(|error| Error::other(format!("{word} {value}: {error}")));
        match word.as_str() {
            "--count" => count = number()?,
            "--seed" => seed = number()?,
            "--nodes" => nodes = usize::try_from(number()?).unwrap_or(1),
            "--policy" if value == "widest" => policy = Policy::Widest,
            "--policy" if value == "fewest" => policy = Policy::Fewest,
            "--policy" if value == "lossless" => policy = Policy::Lossless,
            "--write" => folder = Some(PathBuf::from(value)),
            _ => return Err(Error::other(format!("unknown option {word} {value}"))),
        }
    }
    let mut out = std::io::stdout().lock();
    let (mut broken_models, mut repaired, mut compared, mut searched, mut violations) = (0, 0, 0, 0, 0);
    for seed in seed..seed + count {
        let broken = Broken::random(nodes, &mut Choices::seeded(seed));
        let mut violation = |message: &str| -> std::io::Result<()> {
            violations += 1;
            writeln!(out, "== seed {seed}: {message}\n{}", broken.text())
        };
        let judged = match judge(&broken, policy) {
            Ok(Some(judged)) => judged,
            Ok(None) => continue,
            Err(message) => {
                violation(&message)?;
                continue;
            }
        };
        broken_models += 1;
        let Some(repair) = &judged.repair else { continue };
        repaired += 1;
        match judged.compare(&broken) {
            Ok(values) => compared += values.unwrap_or(0),
            Err(message) => violation(&message)?,
        }
        let casts = repair.casts.len();
        if broken.is_flat() && repair.is_minimal && (1..=MAX_SEARCHED).contains(&casts) {
            searched += 1;
            if has_fewer(&broken, &judged.right, casts) {
                violation(&format!("{casts} casts, but fewer suffice"))?;
            }
        }
        if let Some(folder) = &folder {
            write(folder, seed, &broken, &judged)?;
        }
    }
    writeln!(
        out,
        "{broken_models} broken models, {repaired} repaired, {compared} right values compared, {searched} numbers of casts compared with a search, {violations} violations"
    )?;
    if violations > 0 { std::process::exit(1) } else { Ok(()) }
}

fn write(folder: &PathBuf, seed: u64, broken: &Broken, judged: &Judged) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let file = |suffix: &str| folder.join(format!("{seed}.{suffix}"));
    std::fs::write(file("before.onnx"), &judged.before)?;
    std::fs::write(file("after.onnx"), judged.after.as_deref().unwrap_or_default())?;
    let inputs = broken.inputs.iter().filter_map(|(port, value)| {
        let Datum::Tensor(tensor) = value else { return None };
        let elements = match tensor.strings() {
            Ok(strings) => strings.map(|text| format!("\"{text}\"")).collect::<Vec<_>>(),
            Err(_) => tensor.bytes().iter().map(ToString::to_string).collect(),
        };
        let (name, elem) = (&port.name, port.elem.onnx_name()?);
        Some(format!("\"{name}\": {{\"type\": \"{elem}\", \"elements\": [{}]}}", elements.join(", ")))
    });
    let values = judged.values.iter().map(|(before, after)| format!("[\"{before}\", \"{after}\"]"));
    let text = format!(
        "{{\"inputs\": {{{}}}, \"values\": [{}]}}\n",
        inputs.collect::<Vec<_>>().join(", "),
        values.collect::<Vec<_>>().join(", ")
    );
    std::fs::write(file("json"), text)
}

//! `typeloom diff OLD NEW`: whether one program can replace another.

mod exports;

use anyhow::bail;
use serde_json::{Value, json};
use typeloom_interface::bundle::Exported;
use typeloom_interface::{InterfaceComparison, PortIdentity, compare};
use typeloom_onnx::text::escape;
use typeloom_pool::compat::Direction;
use typeloom_report as report;

use crate::args::{DiffArgs, DiffMode, TextFormat};
use crate::input::{self, Solve};
use crate::interfaces::{self, Found};
use crate::output::{Outcome, write};

/// The content of one of the files.
enum Side {
    Interfaces(Vec<Exported>),
    /// A bundle of other types.
    Types(Vec<u8>),
}

/// The result of one pair of files.
struct Answer {
    /// By label, where there are several.
    comparisons: Vec<(String, InterfaceComparison)>,
    removed: Vec<String>,
    added: Vec<String>,
    equal: bool,
    compatible: bool,
}

pub(crate) fn run(args: &DiffArgs) -> anyhow::Result<Outcome> {
    let solve = input::solve(&args.solve)?;
    let direction = match args.mode {
        DiffMode::Backward => Direction::Backward,
        DiffMode::Forward => Direction::Forward,
        DiffMode::Full => Direction::Full,
    };
    let (old, new) = match (read(&args.old, &solve)?, read(&args.new, &solve)?) {
        (Side::Interfaces(old), Side::Interfaces(new)) => (old, new),
        (Side::Types(old), Side::Types(new)) => return exports::run(args, direction, &old, &new),
        (Side::Types(_), Side::Interfaces(_)) => {
            bail!("`{}` holds types and `{}` interfaces of models", args.old, args.new)
        }
        (Side::Interfaces(_), Side::Types(_)) => {
            bail!("`{}` holds interfaces of models and `{}` types", args.old, args.new)
        }
    };
    let identity = if args.by_name { PortIdentity::Name } else { PortIdentity::NameAndPosition };
    let answer = answer(&old, &new, direction, identity);
    write(&match args.format {
        TextFormat::Human => human(args, &answer, direction),
        TextFormat::Json => report::json::text(&to_json(args, &answer, direction, identity)) + "\n",
    })?;
    Ok(if answer.compatible { Outcome::Typed } else { Outcome::Problems })
}

/// The interfaces in a file; anything wrong with it makes the question meaningless.
fn read(file: &str, solve: &Solve) -> anyhow::Result<Side> {
    match interfaces::read(&input::source(file), solve)? {
        Found::Interfaces(interfaces) => Ok(Side::Interfaces(interfaces)),
        Found::Types(bytes) => Ok(Side::Types(bytes)),
        Found::Problems(diagnostics) => {
            let first = diagnostics.first().map(|diagnostic| report::concise::diagnostic(file, diagnostic));
            bail!(
                "`{file}` is not well typed, see `typeloom check`: {}",
                first.unwrap_or_default().trim_end()
            )
        }
    }
}

fn answer(old: &[Exported], new: &[Exported], direction: Direction, identity: PortIdentity) -> Answer {
    let find = |list: &[Exported], label: &str| list.iter().position(|exported| exported.label == label);
    let missing = |list: &[Exported], other: &[Exported]| -> Vec<String> {
        list.iter().map(|it| it.label.clone()).filter(|label| find(other, label).is_none()).collect()
    };
    let (removed, added) = (missing(old, new), missing(new, old));
    let mut equal = removed.is_empty() && added.is_empty();
    let mut comparisons = Vec::new();
    for before in old {
        let Some(at) = find(new, &before.label) else { continue };
        equal &= before.digest == new[at].digest;
        let comparison = compare(&before.interface, &new[at].interface, direction, identity);
        comparisons.push((before.label.clone(), comparison));
    }
    let kept = match direction {
        Direction::Backward => removed.is_empty(),
        Direction::Forward => added.is_empty(),
        Direction::Full => removed.is_empty() && added.is_empty(),
    };
    let compatible = kept && comparisons.iter().all(|(_, comparison)| comparison.is_compatible());
    Answer { comparisons, removed, added, equal, compatible }
}

/// The label in front of a path, where there is more than one.
fn shown<'l>(answer: &Answer, label: &'l str) -> &'l str {
    let several = answer.comparisons.len() + answer.removed.len() + answer.added.len() > 1;
    if several { label } else { "" }
}

/// A line for each label that only one of the files has.
fn only_in_one(removed: &[String], added: &[String]) -> String {
    let removed = removed.iter().map(|label| format!("{}: removed (breaks backward)\n", escape(label)));
    removed.chain(added.iter().map(|label| format!("{}: added (breaks forward)\n", escape(label)))).collect()
}

fn human(args: &DiffArgs, answer: &Answer, direction: Direction) -> String {
    let mut text = only_in_one(&answer.removed, &answer.added);
    for (label, comparison) in &answer.comparisons {
        for difference in &comparison.differences {
            text.push_str(&report::interface::difference(shown(answer, label), difference));
            text.push('\n');
        }
    }
    text + &verdict(args, "interface", direction.name(), answer.equal, answer.compatible)
}

/// The last line: whether one file can replace the other.
fn verdict(args: &DiffArgs, what: &str, word: &str, equal: bool, compatible: bool) -> String {
    let verdict = match (equal, compatible) {
        (true, _) => format!("the same {what}"),
        (false, true) => format!("{word} compatible"),
        (false, false) => format!("not {word} compatible"),
    };
    format!("{} -> {}: {verdict}\n", escape(&args.old), escape(&args.new))
}

fn to_json(args: &DiffArgs, answer: &Answer, direction: Direction, identity: PortIdentity) -> Value {
    let differences: Vec<Value> = answer
        .comparisons
        .iter()
        .flat_map(|(label, comparison)| report::interface::comparison(label, comparison))
        .collect();
    json!({
        "old": args.old,
        "new": args.new,
        "mode": direction.name(),
        "by_name": identity == PortIdentity::Name,
        "compatible": answer.compatible,
        "equal": answer.equal,
        "removed": answer.removed,
        "added": answer.added,
        "differences": differences,
    })
}

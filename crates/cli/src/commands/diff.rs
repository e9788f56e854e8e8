//! `typeloom diff OLD NEW`: checks whether one program can replace another.

mod exports;

use anyhow::bail;
use serde_json::{Value, json};
use typeloom_interface::bundle::Exported;
use typeloom_interface::{PortIdentity, compare};
use typeloom_onnx::text::escape;
use typeloom_pool::compat::Direction;
use typeloom_report as report;

use crate::args::{DiffArgs, DiffMode, TextFormat};
use crate::input;
use crate::settings::checker;
use crate::interfaces::{self, Content};
use crate::output::{Outcome, write};

/// The result of one pair of files.
struct Answer {
    /// A line for each difference.
    text: String,
    differences: Vec<Value>,
    /// The labels that only one of the files has.
    removed: Vec<String>,
    added: Vec<String>,
    equal: bool,
    compatible: bool,
    /// Of interfaces: whether their ports are identified by name alone.
    by_name: Option<bool>,
    /// Of other types: whether there are more differences than are listed.
    truncated: Option<bool>,
}

pub(crate) fn run(args: &DiffArgs) -> anyhow::Result<Outcome> {
    let direction = match args.mode {
        DiffMode::Backward => Direction::Backward,
        DiffMode::Forward => Direction::Forward,
        DiffMode::Full => Direction::Full,
    };
    let (old, new) = match (read(&args.old, args)?, read(&args.new, args)?) {
        (Content::Interfaces(old), Content::Interfaces(new)) => (old.functions, new.functions),
        (Content::Types(old), Content::Types(new)) => return exports::run(args, direction, &old, &new),
        (Content::Types(_), Content::Interfaces(_)) => {
            bail!("`{}` holds types and `{}` interfaces of models", args.old, args.new)
        }
        (Content::Interfaces(_), Content::Types(_)) => {
            bail!("`{}` holds interfaces of models and `{}` types", args.old, args.new)
        }
    };
    let identity = if args.by_name { PortIdentity::Name } else { PortIdentity::NameAndPosition };
    answer(&old, &new, direction, identity).show(args, direction, "interface")
}

/// The content of a file. A file with errors cannot be compared.
fn read(file: &str, args: &DiffArgs) -> anyhow::Result<Content> {
    let source = input::source(file);
    interfaces::read(&source, &checker(&args.solve, &source)?)?.or_else(|diagnostics| {
        let first = diagnostics.first().map(|diagnostic| report::concise::diagnostic(file, diagnostic));
        bail!("`{file}` is not well typed, see `typeloom check`: {}", first.unwrap_or_default().trim_end())
    })
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
        comparisons.push((before.label.as_str(), comparison));
    }
    // A label precedes the path if there is more than one export.
    let several = comparisons.len() + removed.len() + added.len() > 1;
    let (mut text, mut differences) = (String::new(), Vec::new());
    for (label, comparison) in &comparisons {
        let shown = if several { *label } else { "" };
        for difference in &comparison.differences {
            text += &format!("{}\n", report::interface::difference(shown, difference));
        }
        differences.extend(report::interface::comparison(label, comparison));
    }
    let kept = match direction {
        Direction::Backward => removed.is_empty(),
        Direction::Forward => added.is_empty(),
        Direction::Full => removed.is_empty() && added.is_empty(),
    };
    let compatible = kept && comparisons.iter().all(|(_, comparison)| comparison.is_compatible());
    let by_name = Some(identity == PortIdentity::Name);
    Answer { text, differences, removed, added, equal, compatible, by_name, truncated: None }
}

impl Answer {
    /// Writes the answer; `what` names the kind of content.
    fn show(&self, args: &DiffArgs, direction: Direction, what: &str) -> anyhow::Result<Outcome> {
        write(&match args.format {
            TextFormat::Human => self.human(args, direction, what),
            TextFormat::Json => report::json::text(&self.to_json(args, direction)) + "\n",
        })?;
        Ok(if self.compatible { Outcome::Typed } else { Outcome::Problems })
    }

    /// The differences, and a last line that states whether one file can replace the other.
    fn human(&self, args: &DiffArgs, direction: Direction, what: &str) -> String {
        let mut text = String::new();
        for (labels, effect) in
            [(&self.removed, "removed (breaks backward)"), (&self.added, "added (breaks forward)")]
        {
            text.extend(labels.iter().map(|label| format!("{}: {effect}\n", escape(label))));
        }
        let verdict = match (self.equal, self.compatible) {
            (true, _) => format!("the same {what}"),
            (false, true) => format!("{} compatible", direction.name()),
            (false, false) => format!("not {} compatible", direction.name()),
        };
        format!("{text}{}{} -> {}: {verdict}\n", self.text, escape(&args.old), escape(&args.new))
    }

    fn to_json(&self, args: &DiffArgs, direction: Direction) -> Value {
        let mut object = json!({"old": args.old, "new": args.new, "mode": direction.name()});
        if let Some(by_name) = self.by_name {
            object["by_name"] = json!(by_name);
        }
        object["compatible"] = json!(self.compatible);
        object["equal"] = json!(self.equal);
        object["removed"] = json!(self.removed);
        object["added"] = json!(self.added);
        object["differences"] = json!(self.differences);
        if let Some(truncated) = self.truncated {
            object["truncated"] = json!(truncated);
        }
        object
    }
}

//! `typeloom diff OLD NEW`: checks whether one program can replace another, or the programs of a folder those of another.

mod exports;
mod folders;

use anyhow::bail;
use serde_json::{Map, Value, json};
use typeloom_interface::bundle::Exported;
use typeloom_interface::{PortIdentity, compare};
use typeloom_onnx::text::escape;
use typeloom_pool::compat::Direction;
use typeloom_report as report;
use typeloom_report::finding::Difference;
use typeloom_report::list::{Compared, Content as Reported, FileReport, ListedFiles};
use typeloom_settings::effective::Settings;

use crate::args::{Color, DiffArgs, DiffMode};
use crate::exit::Outcome;
use crate::input::{Source, source};
use crate::interfaces::{self, Content};
use crate::output::complain;
use crate::reports::Reports;
use crate::settings::Resolver;

/// The result of one pair of files.
struct Answer {
    differences: Vec<Difference>,
    /// The differences for programs, without those of `removed` and `added`.
    objects: Vec<Value>,
    /// The labels that only one of the files has.
    removed: Vec<String>,
    added: Vec<String>,
    equal: bool,
    compatible: bool,
    /// The kind of content.
    noun: &'static str,
    /// Of interfaces: whether their ports are identified by name alone.
    by_name: Option<bool>,
    /// Of other types: whether there are more differences than are listed.
    truncated: Option<bool>,
}

pub(crate) fn run(args: &DiffArgs) -> anyhow::Result<Outcome> {
    let mut settings = Resolver::new(&args.solve, Settings::default())?.excluding(&args.exclude)?;
    let mut reports = Reports::open(&args.report, Color::Never, ListedFiles::All)?;
    let (old, new) = (source(&args.old), source(&args.new));
    let is_folder = |source: &Source| source.path().is_some_and(std::path::Path::is_dir);
    let outcome = match (is_folder(&old), is_folder(&new)) {
        (true, true) => folders::run(args, &mut settings, &mut reports)?,
        (false, false) => one(args, &old, &new, &mut settings, &mut reports)?,
        (true, false) => bail!("`{}` is a folder and `{}` is not", old.name, new.name),
        (false, true) => bail!("`{}` is a folder and `{}` is not", new.name, old.name),
    };
    reports.finish()?;
    Ok(outcome)
}

/// Compares two files and reports the result, or why they cannot be compared.
fn one(
    args: &DiffArgs,
    old: &Source,
    new: &Source,
    settings: &mut Resolver,
    reports: &mut Reports,
) -> anyhow::Result<Outcome> {
    let answer = match pair(args, old, new, settings) {
        Ok(answer) => answer,
        Err(error) => {
            complain(&error);
            let error = escape(&format!("{error:#}")).into_owned();
            reports.file(&FileReport { file: &new.name, content: Reported::Unusable { error: &error } })?;
            return Ok(Outcome::Unusable);
        }
    };
    let compared = Compared {
        differences: &answer.differences,
        verdict: answer.verdict(old, new, direction(args)),
        object: answer.object(old, new, direction(args)),
    };
    reports.file(&FileReport { file: &new.name, content: Reported::Compared(compared) })?;
    Ok(if answer.compatible { Outcome::Typed } else { Outcome::Problems })
}

fn direction(args: &DiffArgs) -> Direction {
    match args.mode {
        DiffMode::Backward => Direction::Backward,
        DiffMode::Forward => Direction::Forward,
        DiffMode::Full => Direction::Full,
    }
}

/// Compares two files.
fn pair(args: &DiffArgs, old: &Source, new: &Source, settings: &mut Resolver) -> anyhow::Result<Answer> {
    let direction = direction(args);
    match (read(old, settings)?, read(new, settings)?) {
        (Content::Interfaces(old), Content::Interfaces(new)) => {
            let identity = if args.by_name { PortIdentity::Name } else { PortIdentity::NameAndPosition };
            Ok(answer(&old.functions, &new.functions, direction, identity))
        }
        (Content::Types(old), Content::Types(new)) => exports::answer(direction, &old, &new),
        (Content::Types(_), Content::Interfaces(_)) => {
            bail!("`{}` holds types and `{}` interfaces of models", old.name, new.name)
        }
        (Content::Interfaces(_), Content::Types(_)) => {
            bail!("`{}` holds interfaces of models and `{}` types", old.name, new.name)
        }
    }
}

/// The content of a file. A file with errors cannot be compared.
fn read(source: &Source, settings: &mut Resolver) -> anyhow::Result<Content> {
    let file = &source.name;
    interfaces::read(source, &settings.plan(source)?.checker)?.or_else(|diagnostics| {
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
    let mut differences = labels(&removed, &added, direction, ["export-removed", "export-added"]);
    let mut objects = Vec::new();
    for (label, comparison) in &comparisons {
        let shown = if several { *label } else { "" };
        differences.extend(report::interface::differences(shown, comparison));
        objects.extend(report::interface::comparison(label, comparison));
    }
    let compatible = differences.iter().all(|difference| !difference.breaking);
    let by_name = Some(identity == PortIdentity::Name);
    Answer {
        differences,
        objects,
        removed,
        added,
        equal,
        compatible,
        noun: "interface",
        by_name,
        truncated: None,
    }
}

/// The differences for labels or files that only one side has.
fn labels(
    removed: &[String],
    added: &[String],
    direction: Direction,
    codes: [&'static str; 2],
) -> Vec<Difference> {
    let is_broken = |backward: bool| match direction {
        Direction::Backward => backward,
        Direction::Forward => !backward,
        Direction::Full => true,
    };
    let one = |label: &String, is_removed: bool| Difference {
        export: label.clone(),
        path: String::new(),
        code: codes[usize::from(!is_removed)],
        message: format!(
            "{} ({})",
            if is_removed { "removed" } else { "added" },
            report::interface::effect(is_removed, !is_removed)
        ),
        breaks_backward: is_removed,
        breaks_forward: !is_removed,
        breaking: is_broken(is_removed),
    };
    let removed = removed.iter().map(|label| one(label, true));
    removed.chain(added.iter().map(|label| one(label, false))).collect()
}

impl Answer {
    /// The line that states whether one file can replace the other.
    fn verdict(&self, old: &Source, new: &Source, direction: Direction) -> String {
        let verdict = match (self.equal, self.compatible) {
            (true, _) => format!("the same {}", self.noun),
            (false, true) => format!("{} compatible", direction.name()),
            (false, false) => format!("not {} compatible", direction.name()),
        };
        format!("{} -> {}: {verdict}", old.name, new.name)
    }

    fn object(&self, old: &Source, new: &Source, direction: Direction) -> Map<String, Value> {
        let mut object = Map::new();
        let mut insert = |key: &str, value: Value| object.insert(key.to_owned(), value);
        insert("old", json!(old.name));
        insert("new", json!(new.name));
        insert("mode", json!(direction.name()));
        if let Some(by_name) = self.by_name {
            insert("by_name", json!(by_name));
        }
        insert("compatible", json!(self.compatible));
        insert("equal", json!(self.equal));
        insert("removed", json!(self.removed));
        insert("added", json!(self.added));
        insert("differences", json!(self.objects));
        if let Some(truncated) = self.truncated {
            insert("truncated", json!(truncated));
        }
        object
    }
}

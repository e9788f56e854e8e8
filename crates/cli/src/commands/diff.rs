//! `typeloom diff OLD NEW`: checks whether one program can replace another, or the programs of a folder those
//! of another.

mod folders;
mod side;

use anyhow::{anyhow, bail};
use serde_json::{Map, Value, json};
use typeloom::interface::Direction;
use typeloom_project::interfaces;
use typeloom_project::parts::interface::PortIdentity;
use typeloom_project::parts::interface::exports::{ExportChanges, ExportsComparison, Incomparable};
use typeloom_project::parts::onnx::text::escape;
use typeloom_project::parts::report;
use typeloom_project::parts::report::list::{Compared, Content as Reported, FileReport, ListedFiles};
use typeloom_project::parts::settings::effective::Settings;
use typeloom_project::settings::Resolver;

use crate::args::{Color, DiffArgs, DiffMode};
use crate::barrier;
use crate::exit::Outcome;
use crate::output::{complain, note};
use crate::reports::Reports;
use crate::settings;
use side::Side;

pub(crate) use side::Versions;

pub(crate) fn run(args: &DiffArgs) -> anyhow::Result<Outcome> {
    compare(args, Versions::Named)
}

/// Compares two sides. `versions` selects the names that are versions in a registry.
pub(crate) fn compare(args: &DiffArgs, versions: Versions) -> anyhow::Result<Outcome> {
    let settings = settings::resolver(&args.solve, Settings::default())?;
    let mut settings = settings::excluding(settings, &args.exclude)?;
    let mut reports = Reports::open(&args.report, Color::Never, ListedFiles::All)?;
    let (old, new) = (Side::of(&args.old, versions), Side::of(&args.new, versions));
    let outcome = match (old.is_folder(), new.is_folder()) {
        (true, true) => folders::run(args, &mut settings, &mut reports)?,
        (false, false) => one(args, &old, &new, &mut settings, &mut reports)?,
        (true, false) => bail!("`{}` is a folder and `{}` is not", old.name(), new.name()),
        (false, true) => bail!("`{}` is a folder and `{}` is not", new.name(), old.name()),
    };
    reports.finish()?;
    Ok(outcome)
}

/// Compares two sides and reports the result, or why they cannot be compared.
fn one(
    args: &DiffArgs,
    old: &Side,
    new: &Side,
    settings: &mut Resolver,
    reports: &mut Reports,
) -> anyhow::Result<Outcome> {
    let pair = match barrier::guard(new.name(), || pair(args, old, new, settings)) {
        Ok(pair) => pair,
        Err(error) => {
            complain(&error);
            let error = escape(&format!("{error:#}")).into_owned();
            reports.file(&FileReport { file: new.name(), content: Reported::Unusable { error: &error } })?;
            return Ok(Outcome::Unusable);
        }
    };
    for text in pair.notes.iter().flatten() {
        note(text);
    }
    let comparison = &pair.comparison;
    let compared = Compared {
        differences: &report::exports::differences(comparison),
        verdict: pair.verdict(old, new),
        object: pair.object(old, new),
    };
    reports.file(&FileReport { file: new.name(), content: Reported::Compared(compared) })?;
    Ok(if comparison.is_compatible() { Outcome::Typed } else { Outcome::Problems })
}

fn direction(args: &DiffArgs) -> Direction {
    match args.mode {
        DiffMode::Backward => Direction::Backward,
        DiffMode::Forward => Direction::Forward,
        DiffMode::Full => Direction::Full,
    }
}

/// The comparison of two sides.
struct Pair {
    comparison: ExportsComparison,
    /// The facts that a contract for serving cannot express, if one of the files is one.
    notes: Option<Vec<String>>,
}

/// Compares two sides.
fn pair(args: &DiffArgs, old: &Side, new: &Side, settings: &mut Resolver) -> anyhow::Result<Pair> {
    let (mut before, mut after) = (old.read(args, settings)?, new.read(args, settings)?);
    let notes = interfaces::project(&mut before, &mut after)?;
    // Serving systems bind by name.
    let by_name = args.by_name || notes.is_some();
    let identity = if by_name { PortIdentity::Name } else { PortIdentity::NameAndPosition };
    let (before, after) = (before.into_exports(), after.into_exports());
    let comparison = before.compare(&after, direction(args), identity).map_err(|error| match error {
        Incomparable::Kinds { old: had, new: has } => {
            anyhow!("`{}` holds {had} and `{}` {has}", old.name(), new.name())
        }
        other => other.into(),
    });
    Ok(Pair { comparison: comparison?, notes })
}

impl Pair {
    /// The line that states whether one side can replace the other.
    fn verdict(&self, old: &Side, new: &Side) -> String {
        let direction = self.comparison.direction.name();
        let verdict = match (self.comparison.equal, self.comparison.is_compatible()) {
            (true, _) => format!("the same {}", self.noun()),
            (false, true) => format!("{direction} compatible"),
            (false, false) => format!("not {direction} compatible"),
        };
        format!("{} -> {}: {verdict}", old.name(), new.name())
    }

    fn noun(&self) -> &'static str {
        match self.comparison.changes {
            ExportChanges::Interfaces { .. } if self.notes.is_some() => "contract",
            ExportChanges::Interfaces { .. } => "interface",
            ExportChanges::Types(_) => "types",
        }
    }

    fn object(&self, old: &Side, new: &Side) -> Map<String, Value> {
        let comparison = &self.comparison;
        let mut object = Map::new();
        let mut insert = |key: &str, value: Value| object.insert(key.to_owned(), value);
        insert("old", json!(old.name()));
        insert("new", json!(new.name()));
        insert("mode", json!(comparison.direction.name()));
        if let ExportChanges::Interfaces { identity, compared: _ } = &comparison.changes {
            insert("by_name", json!(*identity == PortIdentity::Name));
        }
        insert("compatible", json!(comparison.is_compatible()));
        insert("equal", json!(comparison.equal));
        insert("removed", json!(comparison.removed));
        insert("added", json!(comparison.added));
        insert("differences", json!(report::exports::objects(comparison)));
        if let ExportChanges::Types(compat) = &comparison.changes {
            insert("truncated", json!(compat.changed.iter().any(|(_, compat)| compat.truncated)));
        }
        if let Some(notes) = &self.notes {
            insert("notes", json!(notes));
        }
        object
    }
}

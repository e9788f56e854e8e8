//! `typeloom diff OLD_DIR NEW_DIR`: compares the models of two folders by their paths in them.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};
use typeloom_project::parts::report::exports::labels;
use typeloom_project::parts::report::finding::Difference;
use typeloom_project::parts::report::list::{Compared, Content, FileReport};
use typeloom_project::settings::Resolver;

use super::side::Side as Operand;
use super::{direction, one};
use crate::args::DiffArgs;
use crate::exit::Outcome;
use crate::input::Source;
use crate::reports::Reports;
use crate::sources::models_in;

/// Compares the models of both folders in the order of their names.
pub(super) fn run(
    args: &DiffArgs,
    settings: &mut Resolver,
    reports: &mut Reports,
) -> anyhow::Result<Outcome> {
    let mut names: BTreeMap<String, [Option<Source>; 2]> = BTreeMap::new();
    for (side, folder) in [&args.old, &args.new].into_iter().enumerate() {
        for source in models_in(folder, settings)?.iter() {
            let name = source.path().map_or(Path::new(""), |path| path.strip_prefix(folder).unwrap_or(path));
            let name = name.display().to_string();
            names.entry(name).or_default()[side] = Some(source);
        }
    }
    let mut outcome = Outcome::Typed;
    for (name, sides) in names {
        outcome = outcome.max(match sides {
            [Some(old), Some(new)] => one(args, &Operand::File(old), &Operand::File(new), settings, reports)?,
            [Some(old), None] => missing(args, &name, &old, Side::Removed, reports)?,
            [None, Some(new)] => missing(args, &name, &new, Side::Added, reports)?,
            [None, None] => Outcome::Typed,
        });
    }
    Ok(outcome)
}

/// The folder that has a model.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// The old one.
    Removed,
    /// The new one.
    Added,
}

/// Reports a model that only one of the folders has.
fn missing(
    args: &DiffArgs,
    name: &str,
    source: &Source,
    side: Side,
    reports: &mut Reports,
) -> anyhow::Result<Outcome> {
    let direction = direction(args);
    let name = [name.to_owned()];
    let (removed, added) = if side == Side::Removed { (&name[..], &[][..]) } else { (&[][..], &name[..]) };
    let differences: Vec<Difference> = labels(removed, added, direction, ["model-removed", "model-added"]);
    let breaks = differences.iter().any(|difference| difference.breaking);
    let verdict = format!("{}{} compatible", if breaks { "not " } else { "" }, direction.name());
    let mut object = Map::new();
    let mut insert = |key: &str, value: Value| object.insert(key.to_owned(), value);
    let file = |on: Side| if side == on { json!(source.name) } else { Value::Null };
    insert("old", file(Side::Removed));
    insert("new", file(Side::Added));
    insert("mode", json!(direction.name()));
    insert("compatible", json!(!breaks));
    insert("equal", json!(false));
    insert("removed", json!(removed));
    insert("added", json!(added));
    insert("differences", json!([]));
    let verdict = format!("{}: {verdict}", source.name);
    let compared = Compared { differences: &differences, verdict, object };
    reports.file(&FileReport { file: &source.name, content: Content::Compared(compared) })?;
    Ok(if breaks { Outcome::Problems } else { Outcome::Typed })
}

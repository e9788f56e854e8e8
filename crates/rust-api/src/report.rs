//! Descriptions and changes for people and for programs.

use std::fmt::Write as _;

use serde::Serialize;
use typeloom_term::Symbols;

use crate::compare::{Change, ChangeKind};
use crate::lower::{Api, Counts};
use crate::print;

#[derive(Serialize)]
struct Json<'c> {
    changes: Vec<JsonChange<'c>>,
}

#[derive(Serialize)]
struct JsonChange<'c> {
    item: &'c str,
    change: &'static str,
    breaking: bool,
    path: &'c str,
    old: Option<&'c str>,
    new: Option<&'c str>,
}

/// Every item that is not equal, as `{"changes": [..]}`.
///
/// # Errors
/// None in practice: texts and truth values always are JSON.
pub fn changes_json(changes: &[Change]) -> Result<String, serde_json::Error> {
    let changes = changes
        .iter()
        .map(|change| JsonChange {
            item: &change.item,
            change: change.change.word(),
            breaking: change.breaking,
            path: &change.path,
            old: change.old.as_deref(),
            new: change.new.as_deref(),
        })
        .collect();
    serde_json::to_string(&Json { changes })
}

/// Changes for people, breaks first.
#[must_use]
pub fn changes_text(changes: &[Change]) -> String {
    let mut out = String::new();
    for breaking in [true, false] {
        for change in changes.iter().filter(|change| change.breaking == breaking) {
            let weight = if breaking { "breaking" } else { "harmless" };
            let kind = change.kind.word();
            let item = print::tidy(change.item.strip_prefix("impl ").unwrap_or(&change.item));
            let _ = writeln!(out, "{weight}: {kind} {item} {}", verb(change.change));
            if !change.path.is_empty() {
                let _ = writeln!(out, "  at   {}", print::tidy(&change.path));
            }
            for (side, text) in [("old", &change.old), ("new", &change.new)] {
                if let Some(text) = text {
                    let _ = writeln!(out, "  {side}  {text}");
                }
            }
        }
    }
    let breaks = changes.iter().filter(|change| change.breaking).count();
    let noun = if changes.len() == 1 { "change" } else { "changes" };
    let _ = writeln!(out, "{} {noun}, {breaks} breaking", changes.len());
    out
}

fn verb(change: ChangeKind) -> &'static str {
    match change {
        ChangeKind::Widened => "was widened",
        ChangeKind::Narrowed => "was narrowed",
        ChangeKind::Incompatible => "is incompatible",
        ChangeKind::Added => "was added",
        ChangeKind::Removed => "was removed",
    }
}

/// The signatures of a crate, a line each, and what was counted.
#[must_use]
pub fn description(api: &Api, symbols: &mut Symbols) -> String {
    let mut out = String::new();
    for item in &api.items {
        out.push_str(&print::item(item, symbols));
        out.push('\n');
    }
    out.push('\n');
    out.push_str(&counts(&api.counts));
    out
}

/// How many items and types of each kind there are.
#[must_use]
pub fn counts(counts: &Counts) -> String {
    let Counts { items, types, occurrences, distinct, unknown } = counts;
    let mut out = String::new();
    for (title, list) in [("items", items), ("types, by kind", types)] {
        let _ = writeln!(out, "{title}");
        for (kind, count) in list {
            let _ = writeln!(out, "  {kind:<28}{count:>8}");
        }
    }
    let _ = writeln!(out, "{occurrences} occurrences of {distinct} different types");
    let unresolved: usize = unknown.values().sum();
    let _ = writeln!(out, "{unresolved} unknown");
    for (name, count) in unknown {
        let _ = writeln!(out, "  {name:<28}{count:>8}");
    }
    out
}

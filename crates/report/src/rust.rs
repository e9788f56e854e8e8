//! The public API of Rust crates, and the changes between two versions, as text and JSON.

use std::fmt::Write as _;

use serde_json::json;
use typeloom_pool::compat::{ChangeKind, TypePath};
use typeloom_rust_api::{Api, Counts, ItemChange, print};
use typeloom_term::Symbols;

/// Formats changes as JSON: `{"changes": [..]}`.
#[must_use]
pub fn changes_json(changes: &[ItemChange]) -> String {
    let one = |change: &ItemChange| {
        json!({
            "item": change.item,
            "change": change.change.name(),
            "breaking": change.breaking,
            "path": path_text(&change.path),
            "old": change.old,
            "new": change.new,
        })
    };
    json!({"changes": changes.iter().map(one).collect::<Vec<_>>()}).to_string()
}

/// Formats changes as text, breaks first.
#[must_use]
pub fn changes_text(changes: &[ItemChange]) -> String {
    let mut out = String::new();
    for breaking in [true, false] {
        for change in changes.iter().filter(|change| change.breaking == breaking) {
            let weight = if breaking { "breaking" } else { "harmless" };
            let kind = change.kind.word();
            let item = print::elide_lifetimes(change.item.strip_prefix("impl ").unwrap_or(&change.item));
            let _ = writeln!(out, "{weight}: {kind} {item} {}", verb(change.change));
            let path = path_text(&change.path);
            if !path.is_empty() {
                let _ = writeln!(out, "  at   {}", print::elide_lifetimes(&path));
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

/// A path as text; the empty path is the item itself.
fn path_text(path: &TypePath) -> String {
    if path.0.is_empty() { String::new() } else { path.to_string() }
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

/// Formats the signatures of a crate, one per line, and the counts of items and types.
#[must_use]
pub fn description(api: &Api, symbols: &mut Symbols) -> String {
    let mut out = String::new();
    // A type that is too large is described without the traits of its future.
    let futures = typeloom_rust_api::futures(api, symbols).unwrap_or_default();
    let mut futures = futures.into_iter().peekable();
    for item in &api.items {
        out.push_str(&print::item(item, symbols));
        out.push('\n');
        if let Some(future) = futures.next_if(|future| std::ptr::eq(future.item, item)) {
            let traits = if future.traits.is_empty() { "none".to_owned() } else { future.traits.join(" + ") };
            let _ = writeln!(out, "  future {}: {traits}", print::ty(future.witness, symbols));
        }
    }
    out.push('\n');
    out.push_str(&counts(&api.counts));
    out
}

/// Formats the numbers of items and types by kind.
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

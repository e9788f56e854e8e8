//! `typeloom diff` of bundles that hold other types than interfaces of models: what two modules export, by label.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use typeloom_onnx::text::escape;
use typeloom_pool::compat::{Compat, CompatCache, Difference, Direction, ModuleCompat, TypeChange};
use typeloom_pool::{Idx, Pool};
use typeloom_report as report;

use super::{only_in_one, verdict};
use crate::args::{DiffArgs, TextFormat};
use crate::output::{Outcome, write};

pub(crate) fn run(args: &DiffArgs, direction: Direction, old: &[u8], new: &[u8]) -> anyhow::Result<Outcome> {
    let mut pool = Pool::new();
    let mut roots = |bytes: &[u8]| -> anyhow::Result<BTreeMap<String, Idx>> {
        Ok(pool.import(bytes)?.into_iter().map(|root| (root.label, root.ty)).collect())
    };
    let (old, new) = (roots(old)?, roots(new)?);
    let compat = pool.compat_exports(&mut CompatCache::new(), &old, &new, direction)?;
    let word = direction.name();
    let compatible = compat.is_compatible();
    write(&match args.format {
        TextFormat::Human => human(args, &compat, word),
        TextFormat::Json => report::json::text(&to_json(args, &compat, word)) + "\n",
    })?;
    Ok(if compatible { Outcome::Typed } else { Outcome::Problems })
}

fn is_equal(compat: &ModuleCompat) -> bool {
    compat.removed.is_empty() && compat.added.is_empty() && compat.changed.is_empty()
}

/// Whether a difference breaks the new module for users of the old one, and the old one for users of the new. An export
/// is taken from a module: the new type must be usable where the old one is expected, which is forward for types.
fn breaks(difference: &Difference) -> (bool, bool) {
    (difference.breaks.forward, difference.breaks.backward)
}

/// The kind of change, as a keyword.
fn change(difference: &Difference) -> (&'static str, String) {
    match &difference.change {
        TypeChange::Type => ("type", format!("{} -> {}", difference.old, difference.new)),
        TypeChange::Count { old, new } => ("count", format!("{old} -> {new} in number")),
        TypeChange::FieldAdded(name) => ("field-added", format!("field `{name}` added")),
        TypeChange::FieldRemoved(name) => ("field-removed", format!("field `{name}` removed")),
        TypeChange::VariantAdded(name) => ("variant-added", format!("variant `{name}` added")),
        TypeChange::VariantRemoved(name) => ("variant-removed", format!("variant `{name}` removed")),
    }
}

fn in_words(difference: &Difference) -> String {
    let (backward, forward) = breaks(difference);
    let effect = report::interface::effect(backward, forward);
    format!("{}: {} ({effect})", difference.path, change(difference).1)
}

fn differences(compat: &Compat) -> impl Iterator<Item = (&Difference, bool)> {
    let breaking = compat.breaking.iter().map(|difference| (difference, true));
    breaking.chain(compat.harmless.iter().map(|difference| (difference, false)))
}

fn human(args: &DiffArgs, compat: &ModuleCompat, word: &str) -> String {
    let mut text = only_in_one(&compat.removed, &compat.added);
    for (label, compat) in &compat.changed {
        for (difference, _) in differences(compat) {
            text.push_str(&format!("{}: {}\n", escape(label), escape(&in_words(difference))));
        }
        if compat.truncated {
            text.push_str(&format!("{}: and more\n", escape(label)));
        }
    }
    text + &verdict(args, "types", word, is_equal(compat), compat.is_compatible())
}

fn to_json(args: &DiffArgs, compat: &ModuleCompat, word: &str) -> Value {
    let one = |label: &str, difference: &Difference, breaking: bool| {
        let (backward, forward) = breaks(difference);
        json!({
            "export": label,
            "path": difference.path.to_string(),
            "code": change(difference).0,
            "old": difference.old,
            "new": difference.new,
            "breaks": {"backward": backward, "forward": forward},
            "breaking": breaking,
            "message": in_words(difference),
        })
    };
    let all = compat.changed.iter().flat_map(|(label, compat)| {
        differences(compat).map(move |(difference, breaking)| one(label, difference, breaking))
    });
    json!({
        "old": args.old,
        "new": args.new,
        "mode": word,
        "compatible": compat.is_compatible(),
        "equal": is_equal(compat),
        "removed": compat.removed,
        "added": compat.added,
        "differences": all.collect::<Vec<_>>(),
        "truncated": compat.changed.iter().any(|(_, compat)| compat.truncated),
    })
}

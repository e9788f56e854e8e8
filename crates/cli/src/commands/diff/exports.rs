//! `typeloom diff` of bundles without interfaces of models: compares the exports of two modules by label.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use typeloom_pool::compat::{CompatCache, Difference, Direction, TypeChange};
use typeloom_pool::{Idx, Pool};
use typeloom_report as report;
use typeloom_report::finding::Difference as Reported;

use super::{Answer, labels};

/// Compares the types of two bundles.
pub(super) fn answer(direction: Direction, old: &[u8], new: &[u8]) -> anyhow::Result<Answer> {
    let mut pool = Pool::new();
    let mut roots = |bytes: &[u8]| -> anyhow::Result<BTreeMap<String, Idx>> {
        Ok(pool.import(bytes)?.into_iter().map(|root| (root.label, root.ty)).collect())
    };
    let (old, new) = (roots(old)?, roots(new)?);
    let compat = pool.compat_exports(&mut CompatCache::new(), &old, &new, direction)?;
    let codes = ["export-removed", "export-added"];
    let mut differences = labels(&compat.removed, &compat.added, direction, codes);
    let mut objects = Vec::new();
    for (label, compat) in &compat.changed {
        let breaking = compat.breaking.iter().map(|difference| (difference, true));
        let all = breaking.chain(compat.harmless.iter().map(|difference| (difference, false)));
        for (difference, is_breaking) in all {
            differences.push(report_of(label, difference, is_breaking));
            objects.push(to_json(label, difference, is_breaking));
        }
        if compat.truncated {
            differences.push(Reported {
                export: label.clone(),
                path: String::new(),
                code: "more-differences",
                message: "and more".to_owned(),
                breaks_backward: false,
                breaks_forward: false,
                breaking: false,
            });
        }
    }
    Ok(Answer {
        differences,
        objects,
        equal: compat.removed.is_empty() && compat.added.is_empty() && compat.changed.is_empty(),
        compatible: compat.is_compatible(),
        noun: "types",
        by_name: None,
        truncated: Some(compat.changed.iter().any(|(_, compat)| compat.truncated)),
        removed: compat.removed,
        added: compat.added,
    })
}

fn report_of(label: &str, difference: &Difference, breaking: bool) -> Reported {
    let (breaks_backward, breaks_forward) = breaks(difference);
    let (code, text) = change(difference);
    Reported {
        export: label.to_owned(),
        path: difference.path.to_string(),
        code,
        message: format!("{text} ({})", report::interface::effect(breaks_backward, breaks_forward)),
        breaks_backward,
        breaks_forward,
        breaking,
    }
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

fn message(difference: &Difference) -> String {
    let (backward, forward) = breaks(difference);
    let effect = report::interface::effect(backward, forward);
    format!("{}: {} ({effect})", difference.path, change(difference).1)
}

fn to_json(label: &str, difference: &Difference, is_breaking: bool) -> Value {
    let (backward, forward) = breaks(difference);
    json!({
        "export": label,
        "path": difference.path.to_string(),
        "code": change(difference).0,
        "old": difference.old,
        "new": difference.new,
        "breaks": {"backward": backward, "forward": forward},
        "breaking": is_breaking,
        "message": message(difference),
    })
}

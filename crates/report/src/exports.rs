//! Renders the comparison of two bundles as findings and as JSON.

use serde_json::{Value, json};
use typeloom_interface::exports::{ExportChanges, ExportsComparison};
use typeloom_pool::compat::{Breaks, Compat, Difference as TypeDifference, Direction, TypeChange};

use crate::finding::Difference;
use crate::interface;

/// The differences. A label precedes the path if there is more than one interface.
#[must_use]
pub fn differences(comparison: &ExportsComparison) -> Vec<Difference> {
    let ExportsComparison { direction, equal: _, removed, added, changes } = comparison;
    let mut differences = labels(removed, added, *direction, ["export-removed", "export-added"]);
    match changes {
        ExportChanges::Interfaces { identity: _, compared } => {
            let several = compared.len() + removed.len() + added.len() > 1;
            for (label, comparison) in compared {
                let shown = if several { label } else { "" };
                differences.extend(interface::differences(shown, comparison));
            }
        }
        ExportChanges::Types(compat) => {
            for (label, compat) in &compat.changed {
                differences
                    .extend(of_type(compat).map(|(it, is_breaking)| report_of(label, it, is_breaking)));
                if compat.truncated {
                    differences.push(more(label));
                }
            }
        }
    }
    differences
}

/// The differences for programs, without the labels that only one side has.
#[must_use]
pub fn objects(comparison: &ExportsComparison) -> Vec<Value> {
    let mut objects = Vec::new();
    match &comparison.changes {
        ExportChanges::Interfaces { identity: _, compared } => {
            for (label, comparison) in compared {
                objects.extend(interface::comparison(label, comparison));
            }
        }
        ExportChanges::Types(compat) => {
            for (label, compat) in &compat.changed {
                objects.extend(of_type(compat).map(|(it, is_breaking)| to_json(label, it, is_breaking)));
            }
        }
    }
    objects
}

/// The differences for labels or files that only one side has.
#[must_use]
pub fn labels(
    removed: &[String],
    added: &[String],
    direction: Direction,
    codes: [&'static str; 2],
) -> Vec<Difference> {
    let one = |label: &String, is_removed: bool| Difference {
        export: label.clone(),
        path: String::new(),
        code: codes[usize::from(!is_removed)],
        message: format!(
            "{} ({})",
            if is_removed { "removed" } else { "added" },
            interface::effect(is_removed, !is_removed)
        ),
        breaks_backward: is_removed,
        breaks_forward: !is_removed,
        breaking: direction.is_broken_by(Breaks { backward: is_removed, forward: !is_removed }),
    };
    let removed = removed.iter().map(|label| one(label, true));
    removed.chain(added.iter().map(|label| one(label, false))).collect()
}

/// The differences of one type, each with whether it breaks the compared direction.
fn of_type(compat: &Compat) -> impl Iterator<Item = (&TypeDifference, bool)> {
    let breaking = compat.breaking.iter().map(|difference| (difference, true));
    breaking.chain(compat.harmless.iter().map(|difference| (difference, false)))
}

/// Marks that there are more differences.
fn more(label: &str) -> Difference {
    Difference {
        export: label.to_owned(),
        path: String::new(),
        code: "more-differences",
        message: "and more".to_owned(),
        breaks_backward: false,
        breaks_forward: false,
        breaking: false,
    }
}

fn report_of(label: &str, difference: &TypeDifference, breaking: bool) -> Difference {
    let (breaks_backward, breaks_forward) = breaks(difference);
    let (code, text) = change(difference);
    Difference {
        export: label.to_owned(),
        path: difference.path.to_string(),
        code,
        message: format!("{text} ({})", interface::effect(breaks_backward, breaks_forward)),
        breaks_backward,
        breaks_forward,
        breaking,
    }
}

/// Whether a difference breaks the new module for users of the old one, and the old one for users of the new.
/// An export is taken from a module: the new type must be usable where the old one is expected, which is
/// forward for types.
fn breaks(difference: &TypeDifference) -> (bool, bool) {
    (difference.breaks.forward, difference.breaks.backward)
}

/// The kind of change, as a keyword.
fn change(difference: &TypeDifference) -> (&'static str, String) {
    match &difference.change {
        TypeChange::Type => ("type", format!("{} -> {}", difference.old, difference.new)),
        TypeChange::Count { old, new } => ("count", format!("{old} -> {new} in number")),
        TypeChange::FieldAdded(name) => ("field-added", format!("field `{name}` added")),
        TypeChange::FieldRemoved(name) => ("field-removed", format!("field `{name}` removed")),
        TypeChange::VariantAdded(name) => ("variant-added", format!("variant `{name}` added")),
        TypeChange::VariantRemoved(name) => ("variant-removed", format!("variant `{name}` removed")),
    }
}

fn message(difference: &TypeDifference) -> String {
    let (backward, forward) = breaks(difference);
    let effect = interface::effect(backward, forward);
    format!("{}: {} ({effect})", difference.path, change(difference).1)
}

fn to_json(label: &str, difference: &TypeDifference, is_breaking: bool) -> Value {
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

//! Changes as lines of text.
//!
//! **Invariant:** a line is short for any model, and has no line break.

use super::{
    Changes, Direction, MAX_DIFFERENCES, NodeChange, NodeDifference, PortChange, PortDifference, evidence,
};
use crate::scene::{Change, Evidence, Maker, NodeId, Scene, ValueId};
use crate::text::{MAX_NAME, MAX_TYPE, counted, short};

/// The maximum number of lines of each section of a text.
const MAX_LINES: usize = 1000;

/// An old and a new scene.
pub(crate) type Both<'s> = [&'s Scene; 2];

impl Changes {
    /// The changes as text: a section for the interface, one for nodes and one for types.
    #[must_use]
    pub fn to_text(&self, old: &Scene, new: &Scene) -> String {
        let scenes = [old, new];
        let symbols = self.symbols.iter().map(|change| line(Change::Changed, &change.to_text()));
        let ports = self.interface.iter().map(|change| line(change.change(), &change.to_text(scenes)));
        let nodes = self.nodes.iter().map(|change| line(change.change(), &change.to_text(scenes)));
        let values =
            self.values.iter().map(|change| line(Change::Changed, &value(scenes, change.old, change.new)));
        let mut out = String::new();
        section(&mut out, "interface", symbols.chain(ports), self.symbols.len() + self.interface.len());
        section(&mut out, "nodes", nodes, self.nodes.len());
        section(&mut out, "types", values, self.values.len());
        let Self { renamed_nodes, renamed_values, .. } = self;
        let renamed =
            [(*renamed_nodes, "node"), (*renamed_values, "value")].map(|(count, noun)| counted(count, noun));
        if renamed_nodes + renamed_values > 0 {
            out.push_str(&format!("other names only: {} and {}\n", renamed[0], renamed[1]));
        }
        if out.is_empty() {
            out.push_str("no changes\n");
        }
        out
    }
}

fn line(change: Change, text: &str) -> String {
    format!("  {} {text}\n", change.mark())
}

/// A section of the first lines.
fn section(out: &mut String, title: &str, lines: impl Iterator<Item = String>, count: usize) {
    if count == 0 {
        return;
    }
    out.push_str(&format!("{title}\n"));
    lines.take(MAX_LINES).for_each(|line| out.push_str(&line));
    if count > MAX_LINES {
        out.push_str(&format!("  and {}\n", counted(count - MAX_LINES, "other change")));
    }
}

impl super::SymbolChange {
    /// The change as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        format!("symbol {}: renamed to {}", short(&self.old, MAX_NAME), short(&self.new, MAX_NAME))
    }
}

impl PortChange {
    /// The kind of the change.
    #[must_use]
    pub fn change(&self) -> Change {
        match (self.old, self.new) {
            (None, _) => Change::Added,
            (Some(_), None) => Change::Removed,
            (Some(_), Some(_)) => Change::Changed,
        }
    }

    /// The change as text.
    pub(crate) fn to_text(&self, [old, new]: Both<'_>) -> String {
        let noun = match self.direction {
            Direction::Input => "input",
            Direction::Output => "output",
        };
        match (self.old, self.new) {
            (Some(first), Some(second)) => {
                let texts = self.differences.iter().map(|difference| match difference {
                    PortDifference::Name => {
                        format!("renamed from {}", short(&old.value(first).name, MAX_NAME))
                    }
                    PortDifference::Type => types([old, new], first, second),
                    PortDifference::Position([before, after]) => {
                        format!("moved from position {before} to {after}")
                    }
                    PortDifference::Maker => "made by another node".to_owned(),
                });
                let texts: Vec<String> = texts.collect();
                format!("{noun} {}: {}", name(new, second), texts.join("; "))
            }
            (Some(only), None) => format!("{noun} {}: {}", name(old, only), ty(old, only)),
            (None, Some(only)) => format!("{noun} {}: {}", name(new, only), ty(new, only)),
            (None, None) => noun.to_owned(),
        }
    }
}

impl NodeChange {
    /// The kind of the change.
    #[must_use]
    pub fn change(&self) -> Change {
        match self {
            Self::Added(_) => Change::Added,
            Self::Removed(_) => Change::Removed,
            Self::Changed { .. } => Change::Changed,
        }
    }

    /// The change as text.
    pub(crate) fn to_text(&self, [old, new]: Both<'_>) -> String {
        match self {
            Self::Added(node) => title(new, *node),
            Self::Removed(node) => title(old, *node),
            Self::Changed { old: _, new: node, .. } => {
                format!("{}: {}", title(new, *node), self.differences([old, new]).join("; "))
            }
        }
    }

    /// The differences of a changed node as texts.
    pub(crate) fn differences(&self, scenes: Both<'_>) -> Vec<String> {
        let Self::Changed { old, new, differences, others } = self else { return Vec::new() };
        let mut texts: Vec<String> =
            differences.iter().map(|it| difference(scenes, *old, *new, it)).collect();
        if *others > 0 {
            texts.push(format!("and {}", counted(*others, "other difference")));
        }
        debug_assert!(texts.len() <= MAX_DIFFERENCES + 1);
        texts
    }
}

pub(super) fn difference(
    [old, new]: Both<'_>,
    first: NodeId,
    second: NodeId,
    difference: &NodeDifference,
) -> String {
    match difference {
        NodeDifference::Operator => {
            let text = |scene: &Scene, node| {
                let operator = scene.operator(node);
                let domain =
                    if operator.domain.is_empty() { String::new() } else { format!("{}.", operator.domain) };
                short(&format!("{domain}{}", operator.name), MAX_NAME)
            };
            format!("operator {} -> {}", text(old, first), text(new, second))
        }
        NodeDifference::Attribute { name, old, new } => {
            let name = short(name, MAX_NAME);
            match (old, new) {
                (Some(old), Some(new)) => {
                    format!("{name}: {} -> {}", short(old, MAX_TYPE), short(new, MAX_TYPE))
                }
                (Some(old), None) => format!("{name}: {} removed", short(old, MAX_TYPE)),
                (None, Some(new)) => format!("{name}: {} added", short(new, MAX_TYPE)),
                (None, None) => name,
            }
        }
        NodeDifference::Input { port, old: before, new: after } => {
            let text = |scene: &Scene, value: &Option<ValueId>| {
                value.map_or("none".to_owned(), |it| name(scene, it))
            };
            let (mut from, mut to) = (text(old, before), text(new, after));
            if from == to {
                // Another value with the same name.
                (from, to) = (maker(old, *before), maker(new, *after));
            }
            format!("input {port}: {from} -> {to}")
        }
        NodeDifference::Stored { port, old: before, new: after } => {
            let is_other_type = old.type_text(*before) != new.type_text(*after);
            let text =
                |scene: &Scene, value: ValueId| match scene.preview_text(value).filter(|_| !is_other_type) {
                    None | Some("") => ty(scene, value),
                    Some(elements) => short(elements, MAX_TYPE),
                };
            format!("stored input {port}: {} -> {}", text(old, *before), text(new, *after))
        }
        NodeDifference::Output { port, change } => format!("output {port} {}", change.name()),
    }
}

/// The operator and the name of a node.
pub(crate) fn title(scene: &Scene, node: NodeId) -> String {
    let operator = short(&scene.operator(node).name, MAX_NAME);
    let shown = scene.node(node);
    if !shown.name.is_empty() {
        return format!("{operator} {}", short(&shown.name, MAX_NAME));
    }
    match shown.outputs.iter().flatten().next() {
        Some(output) => format!("{operator} of {}", name(scene, *output)),
        None => operator,
    }
}

fn name(scene: &Scene, value: ValueId) -> String {
    short(&scene.value(value).name, MAX_NAME)
}

/// The name of a value and the operator that makes it.
fn maker(scene: &Scene, value: Option<ValueId>) -> String {
    let Some(value) = value else { return "none".to_owned() };
    let made_by = match scene.value(value).maker {
        Maker::Node { node, .. } => short(&scene.operator(node).name, MAX_NAME),
        Maker::Input => "input".to_owned(),
        Maker::Stored => "stored".to_owned(),
        Maker::Undefined => "undefined".to_owned(),
    };
    format!("{} ({made_by})", name(scene, value))
}

fn ty(scene: &Scene, value: ValueId) -> String {
    short(scene.type_text(value), MAX_TYPE)
}

/// The old and the new type of a value, or the evidence if the type is the same.
fn types([old, new]: Both<'_>, first: ValueId, second: ValueId) -> String {
    let (before, after) = (old.value(first), new.value(second));
    if old.type_text(first) == new.type_text(second) {
        return format!("{}: {}", ty(new, second), evidences(before.evidence, after.evidence));
    }
    format!("{} -> {}", ty(old, first), ty(new, second))
}

/// The change of an evidence.
pub(super) fn evidences(old: Evidence, new: Evidence) -> String {
    format!("{} -> {}", evidence(old), evidence(new))
}

/// The change of the type of a value.
pub(crate) fn value(scenes: Both<'_>, old: ValueId, new: ValueId) -> String {
    format!("{}: {}", name(scenes[1], new), types(scenes, old, new))
}

/// An old and a new name.
pub(crate) fn names(old: &str, new: &str) -> String {
    let shown = |name: &str| if name.is_empty() { "none".to_owned() } else { short(name, MAX_NAME) };
    format!("{} -> {}", shown(old), shown(new))
}

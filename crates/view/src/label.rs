//! The texts of items, for all writers.
//!
//! An item of a picture is a node, a group, or a port of the shown graph. [`of_item`] gives its [`Label`], a
//! list of lines with a role each. The writers (SVG, DOT, Mermaid, the interactive page) decide on positions,
//! fonts and colors only, so a node has the same text in each of them:
//!
//! ```text
//! Softmax                      Title
//! attn                         Name
//! axis = -1                    Detail
//! element-type-mismatch        Error
//! ```
//!
//! **Invariant:** the lines of a label are few and short, for any model. Each text is shortened ([`short`]),
//! at most [`MAX_LINES`] lines of one kind are shown with the number of the others, and each code of a
//! diagnostic is shown once, the worst first. The lines determine the size of a box, so layouts depend on
//! this.
//!
//! **Invariant:** labels are not escaped for a format, which is the task of its writer.
//!
//! A stored value has no item of its own. Its preview and its diagnostics are in the labels of the nodes that
//! read it. In a comparison of two models, titles begin with the mark of the change, and types name the old
//! one.
//!
//! **Cost:** linear in the attributes, stored values and diagnostics of the item.

use typeloom_solver::diagnostic::Severity;

use crate::level::Item;
use crate::scene::{Change, ChangeCounts, Child, Evidence, Group, GroupKind, MarkId, NodeId, Scene, ValueId};
use crate::text::{MAX_DETAIL, MAX_NAME, MAX_TYPE, counted, short};

/// Maximum number of lines for attributes, and for stored values, of a node.
const MAX_LINES: usize = 4;

/// Maximum length of an attribute, in characters.
const MAX_ATTRIBUTE: usize = 30;

/// Maximum length of a difference, in characters.
const MAX_DIFFERENCE: usize = 48;

/// The role of a line of an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// The operator of a node, the label of a group, the name of a port.
    Title,
    /// A name, a class or a number of nodes.
    Name,
    /// A type.
    Type,
    /// An attribute or a stored value.
    Detail,
    /// A code of an error.
    Error,
    /// A code of a warning.
    Warning,
    /// A difference between two models.
    Change,
}

/// A line of an item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Line {
    pub(crate) role: Role,
    pub(crate) text: String,
}

fn line(role: Role, text: impl Into<String>) -> Line {
    Line { role, text: text.into() }
}

/// The kind of an item, which decides its shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    Node,
    Group,
    Port,
}

/// The texts of an item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Label {
    pub(crate) shape: Shape,
    pub(crate) lines: Vec<Line>,
    /// The worst severity of its diagnostics.
    pub(crate) severity: Option<Severity>,
    /// The change between two models. The title begins with its mark.
    pub(crate) change: Change,
    /// A longer text, shown on demand.
    pub(crate) detail: String,
}

/// The label of an item.
pub(crate) fn of_item(scene: &Scene, item: Item) -> Label {
    match item {
        Item::Child(Child::Node(node)) => of_node(scene, node),
        Item::Child(Child::Group(group)) => of_group(scene.group(group)),
        Item::Input(value) => of_port(scene, value),
        Item::Output(value) => of_port(scene, value),
        Item::MoreInputs(count) => more(&counted(count, "other input")),
        Item::MoreOutputs(count) => more(&counted(count, "other output")),
    }
}

fn more(text: &str) -> Label {
    let lines = vec![line(Role::Name, text)];
    Label { shape: Shape::Port, lines, severity: None, change: Change::Same, detail: text.to_owned() }
}

fn of_port(scene: &Scene, value: ValueId) -> Label {
    let shown = scene.value(value);
    let title = marked(shown.change, short(&shown.name, MAX_NAME));
    let mut lines = vec![line(Role::Title, title), line(Role::Type, short_type(scene, value))];
    let old_type = old_type(scene, value, MAX_TYPE).map(|text| format!("was {text}"));
    let old_name = shown.old_name.as_ref().map(|name| format!("was named {}", short(name, MAX_NAME)));
    if shown.change == Change::Changed {
        lines.extend(old_type.into_iter().chain(old_name).map(|text| line(Role::Change, text)));
    }
    let severity = marks(scene, &shown.marks, &mut lines);
    let name = marked(shown.change, short(&shown.name, MAX_DETAIL));
    let detail = format!("{name}: {}", short(scene.type_text(value), MAX_DETAIL));
    Label { shape: Shape::Port, lines, severity, change: shown.change, detail }
}

fn of_node(scene: &Scene, node: NodeId) -> Label {
    let shown = scene.node(node);
    let operator = scene.operator(node);
    let mut lines = vec![line(Role::Title, marked(shown.change, short(&operator.name, MAX_NAME)))];
    if !operator.domain.is_empty() {
        lines.push(line(Role::Name, short(&operator.domain, MAX_NAME)));
    }
    if !shown.name.is_empty() {
        lines.push(line(Role::Name, short(&shown.name, MAX_NAME)));
    }
    let attributes =
        shown.attributes.iter().map(|it| short(&format!("{} = {}", it.name, it.text), MAX_ATTRIBUTE));
    push_some(&mut lines, attributes.collect(), "attribute", Role::Detail);
    let stored = scene.weights(node).map(|(_, value)| match scene.preview_text(value) {
        Some(preview) => short(preview, MAX_ATTRIBUTE),
        None => {
            let text = format!("{}: {}", scene.value(value).name, scene.type_text(value));
            short(&text, MAX_ATTRIBUTE)
        }
    });
    push_some(&mut lines, stored.collect(), "stored value", Role::Detail);
    if shown.change == Change::Changed {
        let differences = shown.differences.iter().map(|text| short(text, MAX_DIFFERENCE));
        push_some(&mut lines, differences.collect(), "difference", Role::Change);
    }
    let mut own = shown.marks.clone();
    own.extend(scene.weights(node).flat_map(|(_, value)| scene.value(value).marks.iter().copied()));
    let severity = marks(scene, &own, &mut lines);
    let mut detail = marked(shown.change, short(&operator.name, MAX_DETAIL));
    if !shown.name.is_empty() {
        detail.push_str(&format!(" {}", short(&shown.name, MAX_DETAIL)));
    }
    for mark in &own {
        detail.push_str(&format!("\n{}", short(&scene.mark(*mark).message, MAX_DETAIL)));
    }
    for difference in &shown.differences {
        detail.push_str(&format!("\n{}", short(difference, MAX_DETAIL)));
    }
    if let Some(source) = &shown.source {
        detail.push_str(&format!("\n{source}"));
    }
    Label { shape: Shape::Node, lines, severity, change: shown.change, detail }
}

/// Adds the first texts, and the number of the others.
fn push_some(lines: &mut Vec<Line>, texts: Vec<String>, noun: &str, role: Role) {
    let shown = if texts.len() <= MAX_LINES { texts.len() } else { MAX_LINES - 1 };
    let others = texts.len() - shown;
    lines.extend(texts.into_iter().take(shown).map(|text| line(role, text)));
    if others > 0 {
        lines.push(line(role, format!("and {}", counted(others, noun))));
    }
}

/// The codes of diagnostics, each once, the worst first.
fn codes(scene: &Scene, marks: impl Iterator<Item = MarkId>) -> Vec<(Severity, &'static str)> {
    let mut codes: Vec<_> = marks.map(|mark| (scene.mark(mark).severity, scene.mark(mark).code)).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// The codes of the diagnostics of values, see [`codes`].
pub(crate) fn codes_of_values(scene: &Scene, values: &[ValueId]) -> Vec<(Severity, &'static str)> {
    codes(scene, values.iter().flat_map(|value| scene.value(*value).marks.iter().copied()))
}

/// Adds the codes of diagnostics, each once; returns the worst severity.
fn marks(scene: &Scene, marks: &[MarkId], lines: &mut Vec<Line>) -> Option<Severity> {
    let codes = codes(scene, marks.iter().copied());
    for (severity, code) in &codes {
        let role = match severity {
            Severity::Error => Role::Error,
            Severity::Warning => Role::Warning,
        };
        lines.push(line(role, *code));
    }
    codes.first().map(|(severity, _)| *severity)
}

/// The label of a group that is not expanded.
pub(crate) fn of_group(group: &Group) -> Label {
    let change = group.change();
    let mut lines = vec![line(Role::Title, marked(change, title_of(group)))];
    if let GroupKind::Scope { class } = &group.kind
        && !class.is_empty()
    {
        lines.push(line(Role::Name, short(class, MAX_NAME)));
    }
    lines.push(line(Role::Name, counted(group.total, "node")));
    if change == Change::Changed {
        lines.push(line(Role::Change, counts(&group.changes)));
    }
    let Group { errors, warnings, .. } = group;
    if *errors > 0 {
        lines.push(line(Role::Error, counted(*errors, "error")));
    }
    if *warnings > 0 {
        lines.push(line(Role::Warning, counted(*warnings, "warning")));
    }
    let severity = match (*errors > 0, *warnings > 0) {
        (true, _) => Some(Severity::Error),
        (false, true) => Some(Severity::Warning),
        (false, false) => None,
    };
    Label { shape: Shape::Group, lines, severity, change, detail: short(&group.label, MAX_DETAIL) }
}

/// The numbers of changes below a group.
pub(crate) fn counts(changes: &ChangeCounts) -> String {
    let ChangeCounts { added, removed, changed, types } = changes;
    let kinds = [(added, '+'), (removed, '-'), (changed, '~')];
    let counts = kinds.iter().filter(|(count, _)| **count > 0).map(|(count, mark)| format!("{mark}{count}"));
    let types = (*types > 0).then(|| counted(*types, "type"));
    counts.chain(types).collect::<Vec<_>>().join(" ")
}

/// A title with the mark of a change.
fn marked(change: Change, title: String) -> String {
    match change {
        Change::Same => title,
        Change::Added | Change::Removed | Change::Changed => format!("{} {title}", change.mark()),
    }
}

/// The type of a value in the old model, if it was another.
fn old_type(scene: &Scene, value: ValueId, max: usize) -> Option<String> {
    Some(short(scene.text_of(scene.value(value).old_type?), max))
}

/// The title of a group.
pub(crate) fn title_of(group: &Group) -> String {
    let label = short(&group.label, MAX_NAME);
    match group.kind {
        GroupKind::Main => "graph".to_owned(),
        GroupKind::Function => format!("function {label}"),
        GroupKind::Body { .. } | GroupKind::Scope { .. } | GroupKind::Part => label,
    }
}

/// The type of a value, with its evidence, its change and its old type.
pub(crate) fn type_of(scene: &Scene, value: ValueId) -> String {
    let text = short_type(scene, value);
    match (scene.value(value).change, old_type(scene, value, MAX_TYPE)) {
        (Change::Changed, Some(old)) => format!("~ {text}, was {old}"),
        (change, _) => marked(change, text),
    }
}

fn short_type(scene: &Scene, value: ValueId) -> String {
    type_within(scene, value, MAX_TYPE)
}

/// The type of a value with its evidence, longer than in a picture.
pub(crate) fn long_type_of(scene: &Scene, value: ValueId) -> String {
    type_within(scene, value, MAX_DETAIL)
}

fn type_within(scene: &Scene, value: ValueId, max: usize) -> String {
    let text = short(scene.type_text(value), max);
    match scene.value(value).evidence {
        Evidence::Proven | Evidence::Incomplete => text,
        Evidence::Assumed => format!("{text} (assumed)"),
    }
}

/// The text of a link: the type of its value, and the number of the others.
fn of_values(scene: &Scene, values: &[ValueId]) -> String {
    let text = match values {
        [] => String::new(),
        [only] => type_of(scene, *only),
        [first, others @ ..] => format!("{} +{}", type_of(scene, *first), others.len()),
    };
    text + &codes_text(&codes_of_values(scene, values))
}

/// The first code of a diagnostic in parentheses, and the number of the others.
pub(crate) fn codes_text(codes: &[(Severity, &'static str)]) -> String {
    match codes {
        [] => String::new(),
        [(_, only)] => format!(" ({only})"),
        [(_, first), others @ ..] => format!(" ({first} +{})", others.len()),
    }
}

/// The text of a link between two items; a port of one value shows the type itself.
pub(crate) fn of_link(scene: &Scene, ends: [Item; 2], values: &[ValueId]) -> String {
    let is_port = |item: &Item| match item {
        Item::Input(_) | Item::Output(_) => true,
        Item::Child(_) | Item::MoreInputs(_) | Item::MoreOutputs(_) => false,
    };
    if values.len() == 1 && ends.iter().any(is_port) {
        return String::new();
    }
    of_values(scene, values)
}

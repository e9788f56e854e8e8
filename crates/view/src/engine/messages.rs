//! The messages of diagnostics, in parts that a page lays out.
//!
//! **Invariant:** the answer has all facts of the rendered message. A text has at most [`MAX_TEXT`] characters,
//! which only hostile models exceed.

use typeloom_solver::diagnostic::Code;
use typeloom_solver::diagnostic::text::quote;

use super::Engine;
use super::answers::{Excerpt, ExcerptLine, ExcerptPart, Message, NamedItem};
use super::item::Subject;
use crate::label::long_type_of;
use crate::map::OrderedSet;
use crate::scene::{self, Maker, MarkId, NodeId, Scene, ValueId};
use crate::text::{MAX_DETAIL, short};

/// Maximum length of a text, in characters.
const MAX_TEXT: usize = 4000;

/// Maximum number of named nodes and values, and of values of each node.
const MAX_NAMES: usize = 64;

impl Engine {
    pub(super) fn message(&self, mark: MarkId) -> Message {
        let scene = &self.scene;
        let shown = scene.mark(mark);
        let parts = &shown.parts;
        let note = |text: &String| text.lines().map(text_of).collect::<Vec<_>>().join("\n");
        let nodes = parts.excerpts.iter().filter_map(|excerpt| excerpt.node);
        let nodes: Vec<NodeId> = shown.nodes.iter().copied().chain(nodes).collect();
        Message {
            code: shown.code.to_owned(),
            severity: shown.severity.into(),
            uri: Code::from_name(shown.code).map_or_else(String::new, Code::uri),
            text: text_of(&shown.message),
            excerpts: parts.excerpts.iter().map(|excerpt| of_excerpt(scene, excerpt)).collect(),
            notes: parts.notes.iter().map(note).collect(),
            help: note(&parts.help),
            source: text_of(&parts.source),
            names: names(scene, &nodes, &shown.values),
        }
    }
}

fn text_of(text: &str) -> String {
    short(text, MAX_TEXT)
}

fn of_excerpt(scene: &Scene, excerpt: &scene::Excerpt) -> Excerpt {
    let scene::Excerpt { location, node, value, lines } = excerpt;
    let of_node = |node: &NodeId| {
        let name = short(&scene.node(*node).name, MAX_DETAIL);
        (short(&scene.operator(*node).name, MAX_DETAIL), name, Subject::Node(*node))
    };
    let of_value = |value: &ValueId| {
        (String::new(), short(&scene.value(*value).name, MAX_DETAIL), Subject::Value(*value))
    };
    let named = node.as_ref().map(of_node).or(value.as_ref().map(of_value));
    let (operator, name, item) = match named {
        Some((operator, name, subject)) => (operator, name, Some(subject.to_string())),
        None => (String::new(), String::new(), None),
    };
    let inputs = node.map(|node| scene.node(node).inputs.as_slice()).unwrap_or_default();
    let mut first = inputs.iter().flatten();
    // Long lists are printed with the middle left out, so an input is found by its name, in the order of the node.
    let lines = lines.iter().enumerate().map(|(at, line)| {
        let text = line.text.trim_end_matches([',', ')', ' ']);
        let found = if at == 0 { None } else { first.find(|value| is_named(scene, **value, text)) };
        of_line(scene, line, found.copied())
    });
    Excerpt { location: text_of(location), operator, name, item, lines: lines.collect() }
}

/// Whether a printed input is a value.
fn is_named(scene: &Scene, value: ValueId, text: &str) -> bool {
    let name = &scene.value(value).name;
    text == name || text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) == Some(name)
}

fn of_line(scene: &Scene, line: &scene::ExcerptLine, input: Option<ValueId>) -> ExcerptLine {
    let scene::ExcerptLine { text, labels } = line;
    let mut parts = Vec::new();
    let mut at = 0;
    let part = |text: &str, label: Option<&str>, is_primary| ExcerptPart {
        text: text_of(text),
        label: label.map(text_of),
        is_primary,
    };
    for scene::ExcerptLabel { span, text: label, is_primary } in labels {
        let (from, to) = (span.start as usize, span.end as usize);
        let start = from.max(at);
        if let Some(before) = text.get(at..start).filter(|before| !before.is_empty()) {
            parts.push(part(before, None, false));
        }
        // Parts can be nested: the outer one is shown without the inner one.
        parts.push(part(text.get(start..to).unwrap_or_default(), Some(label), *is_primary));
        at = to.max(at);
    }
    if let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        parts.push(part(rest, None, false));
    }
    ExcerptLine {
        parts,
        item: input.map(|value| Subject::Value(value).to_string()),
        ty: input.map_or_else(String::new, |value| long_type_of(scene, value)),
    }
}

/// The names of nodes, of their values and of other values, as messages print them.
pub(super) fn names(scene: &Scene, nodes: &[NodeId], values: &[ValueId]) -> Vec<NamedItem> {
    let mut found: OrderedSet<NamedItem> = OrderedSet::default();
    let mut add = |name: &str, subject: Subject| {
        let quoted = quote(name);
        let name = quoted.trim_matches('`').to_owned();
        if !name.is_empty() && found.len() < MAX_NAMES {
            found.insert(NamedItem { name, item: subject.to_string() });
        }
    };
    values.iter().for_each(|value| add(&scene.value(*value).name, Subject::Value(*value)));
    for node in nodes {
        let shown = scene.node(*node);
        add(&shown.name, Subject::Node(*node));
        let ports = shown.inputs.iter().chain(&shown.outputs).flatten().take(MAX_NAMES);
        ports.for_each(|value| add(&scene.value(*value).name, Subject::Value(*value)));
    }
    // Labels explain an input by the node that makes it.
    for input in nodes.iter().flat_map(|node| scene.node(*node).inputs.iter().flatten()).take(MAX_NAMES) {
        let Maker::Node { node, output: _ } = scene.value(*input).maker else { continue };
        let maker = scene.node(node);
        add(&maker.name, Subject::Node(node));
        let inputs = maker.inputs.iter().flatten().take(MAX_NAMES);
        inputs.for_each(|value| add(&scene.value(*value).name, Subject::Value(*value)));
    }
    found.into_iter().collect()
}

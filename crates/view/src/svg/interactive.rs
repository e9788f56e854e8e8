//! The boxes and links of a picture that a page shows.
//!
//! | attribute | boxes | links and their labels |
//! |---|---|---|
//! | `data-item` | the item | the first value |
//! | `data-place` | the path of the box | |
//! | `tabindex` | `0` for one box, `-1` for the others | `-1` |
//! | `role`, `aria-label`, `aria-expanded` | `button`, all lines of text, the state of the groups inside | `button`, the value and both ends |
//! | `class` | the place on the target, see `svg/overlay.rs`; `selected`, `highlighted`, `around` if a highlighted item is inside and not drawn | `selected`, `highlighted` |
//!
//! **Invariant:** at most [`MAX_DRAWN_LINKS`] links are drawn.

use std::cell::Cell;

use super::overlay::{Overlay, push_letters};
use super::{escaped, push, push_block, push_label, push_link};
use crate::drawing::{Arrow, Block};
use crate::engine::item::Subject;
use crate::engine::paths::Paths;
use crate::label;
use crate::level::{Item, Link};
use crate::map::Set;
use crate::plan::Plan;
use crate::scene::{Change, Child, GroupId, NodeId, Scene, ValueId};
use crate::text::{MAX_NAME, short};

/// Maximum number of links in a picture of a page.
pub(crate) const MAX_DRAWN_LINKS: usize = 10_000;

/// The items that a picture emphasizes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Emphasis {
    pub(crate) selected: Option<Subject>,
    nodes: Set<NodeId>,
    values: Set<ValueId>,
    groups: Set<GroupId>,
    /// The groups and nodes around highlighted items.
    around_groups: Set<GroupId>,
    around_nodes: Set<NodeId>,
}

impl Emphasis {
    pub(crate) fn new(
        scene: &Scene,
        selected: Option<Subject>,
        highlighted: impl IntoIterator<Item = Subject>,
    ) -> Self {
        let mut emphasis = Self { selected, ..Self::default() };
        for subject in highlighted {
            match subject {
                Subject::Node(node) => {
                    emphasis.nodes.insert(node);
                    emphasis.surround(scene, Some(scene.node(node).group));
                }
                Subject::Group(group) => {
                    emphasis.groups.insert(group);
                    emphasis.surround(scene, scene.group(group).parent);
                }
                Subject::Value(value) => {
                    emphasis.values.insert(value);
                }
                Subject::Mark(mark) => {
                    let mark = scene.mark(mark);
                    emphasis.values.extend(&mark.values);
                    for node in &mark.nodes {
                        emphasis.nodes.insert(*node);
                        emphasis.surround(scene, Some(scene.node(*node).group));
                    }
                }
            }
        }
        emphasis
    }

    fn surround(&mut self, scene: &Scene, from: Option<GroupId>) {
        let mut at = from;
        while let Some(group) = at.filter(|group| self.around_groups.insert(*group)) {
            let group = scene.group(group);
            self.around_nodes.extend(group.kind.owner());
            at = group.parent;
        }
    }

    fn classes_of(&self, item: Item, is_expanded: bool) -> &'static str {
        let (is_selected, is_highlighted, is_around) = match item {
            Item::Child(Child::Node(node)) => (
                self.selected == Some(Subject::Node(node)),
                self.nodes.contains(&node),
                self.around_nodes.contains(&node),
            ),
            Item::Child(Child::Group(group)) => (
                self.selected == Some(Subject::Group(group)),
                self.groups.contains(&group),
                self.around_groups.contains(&group),
            ),
            Item::Input(value) | Item::Output(value) => {
                (self.selected == Some(Subject::Value(value)), self.values.contains(&value), false)
            }
            Item::MoreInputs(_) | Item::MoreOutputs(_) => (false, false, false),
        };
        match (is_selected, is_highlighted || (is_around && !is_expanded), is_highlighted) {
            (true, true, _) => " selected highlighted",
            (true, false, _) => " selected",
            (false, true, true) => " highlighted",
            (false, true, false) => " around",
            (false, false, _) => "",
        }
    }

    fn classes_of_link(&self, values: &[ValueId]) -> &'static str {
        let is_selected = match self.selected {
            Some(Subject::Value(value)) => values.contains(&value),
            Some(Subject::Group(_) | Subject::Node(_) | Subject::Mark(_)) | None => false,
        };
        let is_highlighted =
            !self.values.is_empty() && values.iter().any(|value| self.values.contains(value));
        match (is_selected, is_highlighted) {
            (true, true) => " selected highlighted",
            (true, false) => " selected",
            (false, true) => " highlighted",
            (false, false) => "",
        }
    }
}

/// The facts about a picture that its interactive elements show.
pub(crate) struct Interaction<'s> {
    pub(crate) scene: &'s Scene,
    pub(crate) plan: &'s Plan,
    pub(crate) paths: &'s Paths,
    pub(crate) emphasis: &'s Emphasis,
    /// The overlay of the selected target.
    pub(crate) overlay: Option<&'s Overlay>,
    /// The path of the box in the order of the tabulator key.
    pub(crate) focus: &'s str,
    /// The number of links that may still be drawn.
    pub(crate) links: Cell<usize>,
}

impl Interaction<'_> {
    /// Writes the boxes and links of a frame, which are in the order of its level.
    pub(super) fn push_frame(&self, out: &mut String, frame: usize, arrows: &[Arrow], blocks: &[Block]) {
        let level = &self.plan.frames[frame].level;
        let count = arrows.len().min(self.links.get());
        self.links.set(self.links.get() - count);
        let shown = || arrows.iter().zip(&level.links).take(count);
        for (arrow, link) in shown() {
            let classes = self.emphasis.classes_of_link(&link.values);
            self.push_link_start(out, &format!("wire{classes}"), link);
            let label = escaped(&self.link_label(frame, link)).into_owned();
            push(out, format_args!(" tabindex=\"-1\" role=\"button\" aria-label=\"{label}\">"));
            push_link(out, arrow);
            out.push_str("</g>\n");
        }
        for (at, block) in blocks.iter().enumerate() {
            let Some(item) = level.items.get(at) else { continue };
            let place = self.paths.of_box(frame, *item);
            let classes = self.emphasis.classes_of(*item, block.is_expanded);
            let tab = if place == self.focus { "0" } else { "-1" };
            let item_text = self.paths.item_of(self.plan, frame, *item);
            let places = self
                .overlay
                .map_or_else(Vec::new, |overlay| overlay.places(self.scene, *item, block.is_expanded));
            let mut label = box_label(&block.label);
            places.iter().for_each(|place| push(&mut label, format_args!(", {}", place.text())));
            let label = escaped(&label).into_owned();
            let (space, place_class) = places.last().map_or(("", ""), |place| (" ", place.class()));
            let expanded = match is_expanded(self.scene, *item, block.is_expanded) {
                Some(state) => format!(" aria-expanded=\"{state}"),
                None => String::new(),
            };
            let close = if expanded.is_empty() { "" } else { "\"" };
            let attributes = format!(
                "{space}{place_class}{classes}\" data-item=\"{item_text}\" data-place=\"{place}\" tabindex=\"{tab}\" role=\"button\" \
                 aria-label=\"{label}{close}{expanded}"
            );
            push_block(out, block, &attributes);
            push_letters(out, &block.rect, &places);
        }
        for (arrow, link) in shown().filter(|(arrow, _)| arrow.label.is_some() && !arrow.text.is_empty()) {
            let classes = self.emphasis.classes_of_link(&link.values);
            self.push_link_start(out, &format!("wire-label{classes}"), link);
            out.push_str(" aria-hidden=\"true\">");
            push_label(out, arrow);
            out.push_str("</g>\n");
        }
    }

    fn push_link_start(&self, out: &mut String, classes: &str, link: &Link) {
        push(out, format_args!("<g class=\"{classes}\""));
        if let Some(value) = link.values.first() {
            push(out, format_args!(" data-item=\"{}\"", Subject::Value(*value)));
        }
    }

    fn link_label(&self, frame: usize, link: &Link) -> String {
        let level = &self.plan.frames[frame].level;
        let [from, to] = [link.from, link.to].map(|at| item_label(self.scene, level.items[at]));
        let codes = label::codes_text(&label::codes_of_values(self.scene, &link.values));
        format!("{}{codes} from {from} to {to}", values_label(self.scene, &link.values))
    }
}

/// The state of the groups in an item; `None` if it has none.
pub(crate) fn is_expanded(scene: &Scene, item: Item, is_open: bool) -> Option<bool> {
    (!crate::plan::expandable(scene, item).is_empty()).then_some(is_open)
}

/// The text of a box for assistive programs.
pub(crate) fn box_label(label: &label::Label) -> String {
    let lines: Vec<&str> = label.lines.iter().map(|line| line.text.as_str()).collect();
    let severity = label.severity.map(typeloom_solver::diagnostic::Severity::name);
    let mut lines = lines.join(", ");
    // Marks are words for programs that read a page aloud.
    if label.change != Change::Same
        && let Some(title) = lines.strip_prefix(label.change.mark())
    {
        lines = format!("{}: {}", label.change.name(), title.trim_start());
    }
    match severity {
        Some(severity) => format!("{severity}: {lines}"),
        None => lines,
    }
}

/// The first value of a link with its type, and the number of the others.
pub(crate) fn values_label(scene: &Scene, values: &[ValueId]) -> String {
    let Some(first) = values.first() else { return String::new() };
    let text = format!("{}: {}", short(&scene.value(*first).name, MAX_NAME), label::type_of(scene, *first));
    match values.len() {
        1 => text,
        count => format!("{text} and {} more", count - 1),
    }
}

/// The first two lines of an item.
pub(crate) fn item_label(scene: &Scene, item: Item) -> String {
    match item {
        Item::Input(value) | Item::Output(value) => short(&scene.value(value).name, MAX_NAME),
        Item::Child(Child::Group(group)) => label::title_of(scene.group(group)),
        Item::Child(Child::Node(node)) => {
            let (operator, name) = (&scene.operator(node).name, &scene.node(node).name);
            let text = short(operator, MAX_NAME);
            if name.is_empty() { text } else { format!("{text} {}", short(name, MAX_NAME)) }
        }
        Item::MoreInputs(_) => "other inputs".to_owned(),
        Item::MoreOutputs(_) => "other outputs".to_owned(),
    }
}

//! Paths of boxes and expanded groups, see [`answers`](super::answers).
//!
//! **Cost:** a path has at most [`Plan::MAX_DEPTH`] groups, so its length is bounded.

use super::item::Subject;
use crate::level::Item;
use crate::map::Set;
use crate::plan::{Plan, Selection, Step};
use crate::scene::{Child, GroupId, NodeId, Scene};

/// The paths of the frames of a plan.
#[derive(Debug)]
pub(crate) struct Paths {
    frames: Vec<String>,
}

impl Paths {
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut frames: Vec<String> = Vec::with_capacity(plan.frames.len());
        for frame in &plan.frames {
            let path = match frame.parent {
                None => String::new(),
                Some((outer, item)) => {
                    let level = &plan.frames[outer].level;
                    let own = joined(&frames[outer], &text_of(level.items[item]));
                    match level.items[item] {
                        Item::Child(Child::Node(_)) => {
                            joined(&own, &Subject::Group(frame.level.group).to_string())
                        }
                        Item::Child(Child::Group(_))
                        | Item::Input(_)
                        | Item::MoreInputs(_)
                        | Item::Output(_)
                        | Item::MoreOutputs(_) => own,
                    }
                }
            };
            frames.push(path);
        }
        Self { frames }
    }

    /// The paths of the expanded groups, without the model's graph.
    pub(crate) fn expanded(&self) -> Vec<String> {
        self.frames.iter().skip(1).cloned().collect()
    }

    /// The path of a box.
    pub(crate) fn of_box(&self, frame: usize, item: Item) -> String {
        joined(&self.frames[frame], &text_of(item))
    }

    /// The item of a box; the group for a port of several values.
    pub(crate) fn item_of(&self, plan: &Plan, frame: usize, item: Item) -> String {
        let subject = match item {
            Item::Input(value) | Item::Output(value) => Subject::Value(value),
            Item::Child(Child::Node(node)) => Subject::Node(node),
            Item::Child(Child::Group(group)) => Subject::Group(group),
            Item::MoreInputs(_) | Item::MoreOutputs(_) => Subject::Group(plan.frames[frame].level.group),
        };
        subject.to_string()
    }
}

pub(super) fn joined(outer: &str, inner: &str) -> String {
    if outer.is_empty() { inner.to_owned() } else { format!("{outer}/{inner}") }
}

/// The last part of the path of a box.
fn text_of(item: Item) -> String {
    match item {
        Item::Input(value) => format!("in-{}", Subject::Value(value)),
        Item::MoreInputs(_) => "in".to_owned(),
        Item::Child(Child::Node(node)) => Subject::Node(node).to_string(),
        Item::Child(Child::Group(group)) => Subject::Group(group).to_string(),
        Item::Output(value) => format!("out-{}", Subject::Value(value)),
        Item::MoreOutputs(_) => "out".to_owned(),
    }
}

/// The selection of paths. Paths that are too long or name unknown items are ignored.
pub(crate) fn selection(scene: &Scene, paths: &[String]) -> Selection {
    let mut selection = Selection::default();
    for path in paths {
        // Each group has at most two parts, see `Paths`.
        if path.bytes().filter(|byte| *byte == b'/').count() >= 2 * Plan::MAX_DEPTH {
            continue;
        }
        let mut is_node = false;
        let steps = path.split('/').map(|part| {
            let step = match Subject::parse(scene, part)? {
                Subject::Group(group) if is_node => Step::Graph(group),
                Subject::Group(group) => Step::Child(Child::Group(group)),
                Subject::Node(node) => Step::Child(Child::Node(node)),
                Subject::Value(_) | Subject::Mark(_) => return None,
            };
            is_node = matches!(step, Step::Child(Child::Node(_)));
            Some(step)
        });
        if let Some(steps) = steps.collect::<Option<Vec<Step>>>() {
            selection.insert(steps);
        }
    }
    selection
}

/// The paths to be expanded from the model's graph to a group, from the outside in, without the model's
/// graph; `None` if the group is in a function that no node calls, or deeper than a picture shows.
pub(crate) fn path_to(
    scene: &Scene,
    callers: &dyn Fn(GroupId) -> Option<NodeId>,
    group: GroupId,
) -> Option<Vec<String>> {
    // Parts of the path from the inside out, each with whether a group ends with it.
    let mut parts: Vec<(Subject, bool)> = Vec::new();
    let mut functions: Set<GroupId> = Set::default();
    let mut at = group;
    while at != scene.main() {
        if parts.len() >= 2 * Plan::MAX_DEPTH {
            return None;
        }
        parts.push((Subject::Group(at), true));
        let shown = scene.group(at);
        let owner = match shown.kind.owner() {
            Some(owner) => Some(owner),
            None if shown.kind.is_root() => {
                if !functions.insert(at) {
                    return None;
                }
                Some(callers(at)?)
            }
            None => None,
        };
        at = match owner {
            Some(node) => {
                parts.push((Subject::Node(node), false));
                scene.node(node).group
            }
            None => shown.parent?,
        };
    }
    let mut path = String::new();
    let mut paths = Vec::new();
    for (part, is_end) in parts.iter().rev() {
        path = joined(&path, &part.to_string());
        if *is_end {
            paths.push(path.clone());
        }
    }
    Some(paths)
}

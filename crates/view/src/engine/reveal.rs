//! The groups that have to be expanded so that an item has a box.

use super::Engine;
use super::answers::Reveal;
use super::draw::MAX_ITEMS;
use super::item::Subject;
use super::paths::path_to;
use crate::level::MAX_PORTS;
use crate::map::OrderedSet;
use crate::plan::{Options, Plan};
use crate::scene::{GroupId, Maker, NodeId, Scene, ValueId};

/// The box of an item: the group whose level has it, and its last part.
struct Target {
    group: GroupId,
    shown: Subject,
    part: Part,
}

/// The last part of the path of a box.
enum Part {
    /// The item itself.
    Own,
    /// An input of the group.
    Input(ValueId),
    /// The box of the group itself.
    Group,
}

impl Engine {
    /// The expanded groups that show an item, in addition to those that are expanded already. If they are too
    /// many for one picture, the groups that do not show the item are left out.
    pub(super) fn reveal(&mut self, subject: Subject, expanded: Option<&[String]>) -> Reveal {
        let Target { group, shown, part } = self.target(subject);
        let already: Vec<String> = match expanded {
            Some(paths) => paths.to_vec(),
            None => {
                let options = Options { max_items: Options::PAGE_ITEMS, ..Options::default() };
                let plan = Plan::of_cached(&self.scene, &options, &mut self.cache);
                super::paths::Paths::of(&plan).expanded()
            }
        };
        let needed = path_to(&self.scene, &|function| self.index.caller(function), group);
        let Some(needed) = needed else {
            let item = Subject::Group(self.scene.main()).to_string();
            return Reveal { expanded: already, shown: item, place: String::new() };
        };
        let around = needed.last().cloned().unwrap_or_default();
        let join = |part: &str| match around.as_str() {
            "" => part.to_owned(),
            around => format!("{around}/{part}"),
        };
        let place = match part {
            Part::Own => join(&shown.to_string()),
            Part::Input(value) => join(&self.port(group, value)),
            Part::Group => around.clone(),
        };
        let expanded = self.within_budget(needed, already);
        Reveal { expanded, shown: shown.to_string(), place }
    }

    /// The needed paths, and the other ones as long as their groups fit into a picture.
    fn within_budget(&self, needed: Vec<String>, already: Vec<String>) -> Vec<String> {
        let size = |path: &String| {
            let last = path.rsplit('/').next().and_then(|part| Subject::parse(&self.scene, part));
            match last {
                Some(Subject::Group(group)) => boxes(&self.scene, group),
                Some(Subject::Node(node)) => {
                    let node = self.scene.node(node);
                    node.bodies.iter().chain(&node.callee).map(|group| boxes(&self.scene, *group)).sum()
                }
                Some(Subject::Value(_) | Subject::Mark(_)) | None => 0,
            }
        };
        let mut items = boxes(&self.scene, self.scene.main()) + needed.iter().map(size).sum::<usize>();
        let mut expanded: OrderedSet<String> = needed.into_iter().collect();
        for path in already {
            if expanded.contains(&path) {
                continue;
            }
            items += size(&path);
            if items <= MAX_ITEMS {
                expanded.insert(path);
            }
        }
        expanded.into_iter().collect()
    }

    /// The last part of the path of an input.
    fn port(&self, group: GroupId, value: ValueId) -> String {
        let inputs = &self.scene.group(group).inputs;
        let at = inputs.iter().position(|input| *input == value).unwrap_or(0);
        if inputs.len() > MAX_PORTS + 1 && at >= MAX_PORTS {
            "in".to_owned()
        } else {
            format!("in-{}", Subject::Value(value))
        }
    }

    fn target(&self, subject: Subject) -> Target {
        let scene = &self.scene;
        let of_node = |node: NodeId| Target {
            group: scene.node(node).group,
            shown: Subject::Node(node),
            part: Part::Own,
        };
        let of_graph = |group: GroupId| Target { group, shown: Subject::Group(group), part: Part::Group };
        match subject {
            Subject::Node(node) => of_node(node),
            Subject::Group(group) => match scene.group(group).parent {
                // The box of a scope is in the level around it.
                Some(parent) if !scene.group(group).kind.is_root() => {
                    Target { group: parent, shown: subject, part: Part::Own }
                }
                Some(_) | None => of_graph(group),
            },
            Subject::Value(value) => {
                let shown = scene.value(value);
                match shown.maker {
                    Maker::Node { node, .. } => of_node(node),
                    Maker::Input => Target { group: shown.graph, shown: subject, part: Part::Input(value) },
                    Maker::Stored | Maker::Undefined => match self.index.readers(scene, value).first() {
                        Some(reader) => of_node(*reader),
                        None => of_graph(shown.graph),
                    },
                }
            }
            Subject::Mark(mark) => {
                let mark = scene.mark(mark);
                match (mark.nodes.first(), mark.values.first()) {
                    (Some(node), _) => of_node(*node),
                    (None, Some(value)) => self.target_of_value(*value),
                    (None, None) => of_graph(scene.main()),
                }
            }
        }
    }

    fn target_of_value(&self, value: ValueId) -> Target {
        self.target(Subject::Value(value))
    }
}

/// An upper bound for the boxes of a level.
fn boxes(scene: &Scene, group: GroupId) -> usize {
    scene.group(group).children.len() + 2 * (MAX_PORTS + 1)
}

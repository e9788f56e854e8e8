//! The contents of one group: its children, its ports and the links between them.
//!
//! A level is computed on demand. It shows one group without the inside of its children: values that enter or
//! leave the group end at ports. The ports of the root of a graph are its inputs and outputs, and the values
//! that it captures.
//!
//! **Invariant:** a level has at most [`MAX_CHILDREN`](crate::scene::MAX_CHILDREN) children and `MAX_PORTS`
//! ports and one port for the others on each side. Two items have at most one link in each direction, which
//! lists its values in order.
//!
//! **Cost:** linear in the reads of the nodes below the group and of the values that they make, times the
//! depth of the tree.

use std::ops::Range;

use crate::map::{Map, OrderedMap, OrderedSet, Set};
use crate::scene::{Child, Group, GroupId, Maker, NodeId, Scene, ValueId};

/// Maximum number of ports of a level on each side that have an item of their own.
pub const MAX_PORTS: usize = 16;

/// An item of a level.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Item {
    /// A value that enters the group.
    Input(ValueId),
    /// The number of other values that enter the group.
    MoreInputs(usize),
    /// A child.
    Child(Child),
    /// A value that leaves the group.
    Output(ValueId),
    /// The number of other values that leave the group.
    MoreOutputs(usize),
}

/// Values that pass from one item to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The position of the item that makes the values.
    pub from: usize,
    /// The position of the item that reads them.
    pub to: usize,
    /// The values, each once.
    pub values: Vec<ValueId>,
}

/// The contents of one group.
#[derive(Clone, Debug)]
pub struct Level {
    /// The group.
    pub group: GroupId,
    /// The items: inputs, children in their order, outputs.
    pub items: Vec<Item>,
    /// The links, in the order of their first read.
    pub links: Vec<Link>,
    first_child: usize,
    inputs: Map<ValueId, usize>,
}

impl Level {
    /// The level of a group.
    #[must_use]
    pub fn of(scene: &Scene, group: GroupId) -> Self {
        let contents = Contents::of(scene, group);
        let (entering, leaving) = (contents.entering(), contents.leaving());
        let mut level =
            Self { group, items: Vec::new(), links: Vec::new(), first_child: 0, inputs: Map::default() };
        let (own, more) = bounded(entering.len());
        level.items.extend(entering.iter().take(own).map(|value| Item::Input(*value)));
        level.inputs = entering.iter().enumerate().map(|(at, value)| (*value, at.min(own))).collect();
        level.items.extend((more > 0).then_some(Item::MoreInputs(more)));
        level.first_child = level.items.len();
        level.items.extend(contents.group.children.iter().map(|child| Item::Child(*child)));
        level.links = level.links(&contents, &leaving);
        let (own, more) = bounded(leaving.len());
        level.items.extend(leaving.iter().take(own).map(|value| Item::Output(*value)));
        level.items.extend((more > 0).then_some(Item::MoreOutputs(more)));
        level
    }

    /// The links between the items so far, and to the outputs that follow them.
    fn links(&self, contents: &Contents<'_>, leaving: &OrderedSet<ValueId>) -> Vec<Link> {
        let scene = contents.scene;
        let mut links = Links::default();
        for (node, value) in contents.reads() {
            let Some(to) = self.item_of(scene, node) else { continue };
            let from = self.source(scene, value);
            // A value inside of one child group is no link of this level.
            if from != Some(to) || matches!(self.items[to], Item::Child(Child::Node(_))) {
                links.add(from, to, value);
            }
        }
        let (own, _) = bounded(leaving.len());
        let first_output = self.items.len();
        for (at, value) in leaving.iter().enumerate() {
            links.add(self.source(scene, *value), first_output + at.min(own), *value);
        }
        links.values.into_iter().map(|((from, to), values)| Link { from, to, values }).collect()
    }

    /// The item of a child.
    #[must_use]
    pub fn child(&self, slot: u32) -> usize {
        self.first_child + slot as usize
    }

    /// The item that contains a node; `None` outside of the group.
    #[must_use]
    pub fn item_of(&self, scene: &Scene, node: NodeId) -> Option<usize> {
        let (mut group, mut slot) = (scene.node(node).group, scene.node(node).slot);
        while group != self.group {
            let outer = scene.group(group);
            if outer.kind.is_root() {
                return None;
            }
            (group, slot) = (outer.parent?, outer.slot);
        }
        Some(self.child(slot))
    }

    /// The port at which a value enters the group.
    #[must_use]
    pub fn input(&self, value: ValueId) -> Option<usize> {
        self.inputs.get(&value).copied()
    }

    /// The item from which a value comes.
    #[must_use]
    pub fn source(&self, scene: &Scene, value: ValueId) -> Option<usize> {
        self.input(value).or_else(|| match scene.value(value).maker {
            Maker::Node { node, .. } => self.item_of(scene, node),
            Maker::Input | Maker::Stored | Maker::Undefined => None,
        })
    }
}

/// A group with the range of the nodes in it and in the groups below it.
struct Contents<'s> {
    scene: &'s Scene,
    group: &'s Group,
    nodes: Range<usize>,
}

impl<'s> Contents<'s> {
    fn of(scene: &'s Scene, group: GroupId) -> Self {
        let group = scene.group(group);
        Self { scene, group, nodes: group.nodes.start as usize..group.nodes.end as usize }
    }

    /// Whether a node of the group makes a value.
    fn makes(&self, value: ValueId) -> bool {
        match self.scene.value(value).maker {
            Maker::Node { node, .. } => self.nodes.contains(&node.index()),
            Maker::Input | Maker::Stored | Maker::Undefined => false,
        }
    }

    /// The nodes with the values that they read.
    fn reads(&self) -> impl Iterator<Item = (NodeId, ValueId)> + '_ {
        let nodes = self.nodes.clone().map(NodeId::new);
        nodes.flat_map(|node| self.scene.reads(node).map(move |value| (node, value)))
    }

    /// The values that enter the group: the inputs of a graph, and the values from outside that its nodes
    /// read or that are its outputs.
    fn entering(&self) -> OrderedSet<ValueId> {
        let mut entering = unique(if self.group.kind.is_root() { &self.group.inputs } else { &[] });
        entering.extend(self.reads().map(|(_, value)| value).filter(|value| !self.makes(*value)));
        // An output of a graph can be a value from outside of it, which no node has to read.
        entering.extend(self.group.outputs.iter().copied().filter(
            |value| match self.scene.value(*value).maker {
                Maker::Node { .. } | Maker::Input => !self.makes(*value),
                Maker::Stored | Maker::Undefined => false,
            },
        ));
        entering
    }

    /// The values that leave the group: the outputs of a graph, or the values of the group with other
    /// readers.
    fn leaving(&self) -> OrderedSet<ValueId> {
        let Self { scene, group, nodes } = self;
        let mut leaving = unique(&group.outputs);
        if !group.kind.is_root() {
            let made = nodes.clone().flat_map(|node| scene.node(NodeId::new(node)).outputs.iter().flatten());
            let is_outside = |node: &NodeId| !nodes.contains(&node.index());
            leaving.extend(made.copied().filter(|value| {
                self.makes(*value)
                    && (scene.value(*value).is_output || scene.readers(*value).iter().any(is_outside))
            }));
        }
        leaving
    }
}

/// The values of links by the items at their ends, in the order of their first read.
#[derive(Default)]
struct Links {
    values: OrderedMap<(usize, usize), Vec<ValueId>>,
    known: Set<(usize, usize, ValueId)>,
}

impl Links {
    /// Adds a value to a link, unless its source is unknown or the link has it.
    fn add(&mut self, from: Option<usize>, to: usize, value: ValueId) {
        if let Some(from) = from
            && self.known.insert((from, to, value))
        {
            self.values.entry((from, to)).or_default().push(value);
        }
    }
}

fn unique(values: &[ValueId]) -> OrderedSet<ValueId> {
    values.iter().copied().collect()
}

/// The number of ports with an item of their own, and of the others.
fn bounded(count: usize) -> (usize, usize) {
    if count <= MAX_PORTS + 1 { (count, 0) } else { (MAX_PORTS, count - MAX_PORTS) }
}

//! The contents of one group: its children, its ports and the links between them.
//!
//! A level is computed on demand. It shows one group without the inside of its children: values that enter or leave the group
//! end at ports. The ports of the root of a graph are its inputs and outputs, and the values that it captures.
//!
//! **Invariant:** a level has at most [`MAX_CHILDREN`](crate::scene::MAX_CHILDREN) children and `MAX_PORTS` ports and one
//! port for the others on each side. Two items have at most one link in each direction, which lists its values in order.
//!
//! **Cost:** linear in the reads of the nodes below the group and of the values that they make, times the depth of the tree.

use crate::map::{Map, OrderedMap, OrderedSet, Set};
use crate::scene::{Child, GroupId, Maker, NodeId, Scene, ValueId};

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
        let shown = scene.group(group);
        let (from, to) = (shown.nodes.start as usize, shown.nodes.end as usize);
        let is_root = shown.kind.is_root();
        let makes = |value: ValueId| match scene.value(value).maker {
            Maker::Node { node, .. } => (from..to).contains(&node.index()),
            Maker::Input | Maker::Stored | Maker::Undefined => false,
        };
        let reads =
            || (from..to).map(NodeId::new).flat_map(|node| scene.reads(node).map(move |it| (node, it)));

        let mut entering = unique(if is_root { &shown.inputs } else { &[] });
        entering.extend(reads().map(|(_, value)| value).filter(|value| !makes(*value)));
        // An output of a graph can be a value from outside of it, which no node has to read.
        entering.extend(shown.outputs.iter().copied().filter(|value| match scene.value(*value).maker {
            Maker::Node { .. } | Maker::Input => !makes(*value),
            Maker::Stored | Maker::Undefined => false,
        }));
        let mut leaving: OrderedSet<ValueId> = unique(&shown.outputs);
        if !is_root {
            let made = (from..to).flat_map(|node| scene.node(NodeId::new(node)).outputs.iter().flatten());
            let is_outside = |node: &NodeId| !(from..to).contains(&node.index());
            leaving.extend(made.copied().filter(|value| {
                makes(*value)
                    && (scene.value(*value).is_output || scene.readers(*value).iter().any(is_outside))
            }));
        }

        let mut level =
            Self { group, items: Vec::new(), links: Vec::new(), first_child: 0, inputs: Map::default() };
        let (own, more) = bounded(entering.len());
        level.items.extend(entering.iter().take(own).map(|value| Item::Input(*value)));
        level.inputs = entering.iter().enumerate().map(|(at, value)| (*value, at.min(own))).collect();
        level.items.extend((more > 0).then_some(Item::MoreInputs(more)));
        level.first_child = level.items.len();
        level.items.extend(shown.children.iter().map(|child| Item::Child(*child)));

        let mut links: OrderedMap<(usize, usize), Vec<ValueId>> = OrderedMap::default();
        let mut known: Set<(usize, usize, ValueId)> = Set::default();
        let mut link = |from: Option<usize>, to: usize, value: ValueId| {
            if let Some(from) = from
                && known.insert((from, to, value))
            {
                links.entry((from, to)).or_default().push(value);
            }
        };
        for (node, value) in reads() {
            let Some(to) = level.item_of(scene, node) else { continue };
            let from = level.source(scene, value);
            // A value inside of one child group is no link of this level.
            if from != Some(to) || matches!(level.items[to], Item::Child(Child::Node(_))) {
                link(from, to, value);
            }
        }
        let (own, more) = bounded(leaving.len());
        let first_output = level.items.len();
        for (at, value) in leaving.iter().enumerate() {
            link(level.source(scene, *value), first_output + at.min(own), *value);
        }
        level.items.extend(leaving.iter().take(own).map(|value| Item::Output(*value)));
        level.items.extend((more > 0).then_some(Item::MoreOutputs(more)));
        level.links = links.into_iter().map(|((from, to), values)| Link { from, to, values }).collect();
        level
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

fn unique(values: &[ValueId]) -> OrderedSet<ValueId> {
    values.iter().copied().collect()
}

/// The number of ports with an item of their own, and of the others.
fn bounded(count: usize) -> (usize, usize) {
    if count <= MAX_PORTS + 1 { (count, 0) } else { (MAX_PORTS, count - MAX_PORTS) }
}

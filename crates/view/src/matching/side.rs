//! One of two scenes, prepared for matching.

use super::hash::{self, mix};
use crate::scene::{GroupId, GroupKind, Maker, Node, NodeId, Scene, ValueId};

/// The port of captured values, which have no order.
pub(super) const CAPTURE: u32 = u32::MAX;

/// The labels of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Label {
    /// Of the operator, the attributes, the stored inputs, the used ports and the nested graphs.
    pub(super) strong: u64,
    /// Of the operator.
    pub(super) weak: u64,
    /// Of the name, or else of the names of outputs, with the scope; zero if there is none.
    pub(super) name: u64,
    /// Of the scope.
    pub(super) scope: u64,
}

/// A use of a value: the node and the position of the input.
pub(super) type Use = (NodeId, u32);

/// One of two scenes.
pub(super) struct Side<'s> {
    pub(super) scene: &'s Scene,
    pub(super) labels: Vec<Label>,
    first_use: Vec<u32>,
    uses: Vec<Use>,
}

impl<'s> Side<'s> {
    /// Prepares a scene, in time linear in its size.
    pub(super) fn of(scene: &'s Scene) -> Self {
        let scopes = scopes(scene);
        let nodes = scene.nodes.iter();
        let labels = nodes.map(|node| Label {
            strong: strong(scene, node),
            weak: weak(scene, node),
            name: name(scene, node, scopes[node.group.index()]),
            scope: scopes[node.group.index()],
        });
        let labels = labels.collect();
        let (first_use, uses) = uses(scene);
        let mut side = Self { scene, labels, first_use, uses };
        super::colour::add_bodies(&mut side);
        side
    }

    /// The uses of a value, in the order of nodes and ports.
    pub(super) fn uses(&self, value: ValueId) -> &[Use] {
        let at = value.index();
        &self.uses[self.first_use[at] as usize..self.first_use[at + 1] as usize]
    }

    /// The label of a node.
    pub(super) fn label(&self, node: NodeId) -> &Label {
        &self.labels[node.index()]
    }

    /// The inputs and captures of a node, with their ports.
    pub(super) fn ports(&self, node: NodeId) -> impl Iterator<Item = (u32, Option<ValueId>)> + '_ {
        ports(self.scene.node(node))
    }

    /// The value of an input.
    pub(super) fn input(&self, node: NodeId, port: u32) -> Option<ValueId> {
        self.scene.node(node).inputs.get(port as usize).copied().flatten()
    }

    /// The node that makes a value, and the position of the output.
    pub(super) fn maker(&self, value: ValueId) -> Option<(NodeId, u32)> {
        match self.scene.value(value).maker {
            Maker::Node { node, output } => Some((node, output)),
            Maker::Input | Maker::Stored | Maker::Undefined => None,
        }
    }

    /// Whether a value is a stored tensor.
    pub(super) fn is_stored(&self, value: ValueId) -> bool {
        self.scene.value(value).maker == Maker::Stored
    }

    /// A hash of the whole scene, which orders two of them.
    pub(super) fn digest(&self) -> u64 {
        let nodes = self.labels.iter().flat_map(|label| [label.strong, label.name]);
        let names = self.scene.values.iter().map(|value| hash::text(&value.name));
        let ports = self.scene.nodes.iter().flat_map(ports);
        let ports = ports.map(|(port, value)| mix(value.map_or(0, |it| it.index() as u64 + 1), port.into()));
        nodes.chain(names).chain(ports).fold(hash::EMPTY, mix)
    }
}

fn ports(node: &Node) -> impl Iterator<Item = (u32, Option<ValueId>)> + '_ {
    let inputs = (0_u32..).zip(node.inputs.iter().copied());
    inputs.chain(node.captures.iter().map(|value| (CAPTURE, Some(*value))))
}

fn weak(scene: &Scene, node: &Node) -> u64 {
    let operator = &scene.operators[node.operator.index()];
    mix(hash::text(&operator.domain), hash::text(&operator.name))
}

/// Bodies are added later.
fn strong(scene: &Scene, node: &Node) -> u64 {
    let attributes = node.attributes.iter().map(|it| mix(hash::text(&it.name), hash::text(&it.text)));
    let attributes = attributes.fold(0_u64, u64::wrapping_add);
    let is_used = |value: &Option<ValueId>| u64::from(value.is_some());
    let outputs = node.outputs.iter().map(is_used).fold(hash::EMPTY, mix);
    let inputs = node.inputs.iter().map(|value| match value {
        None => 0,
        Some(value) if scene.value(*value).maker == Maker::Stored => {
            let preview = scene.preview_text(*value).map_or(1, hash::text);
            mix(hash::text(scene.type_text(*value)), preview)
        }
        Some(_) => 1,
    });
    let inputs = inputs.fold(hash::EMPTY, mix);
    hash::of(&[weak(scene, node), attributes, inputs, outputs])
}

/// The name of a node, or else those of its outputs.
fn name(scene: &Scene, node: &Node, scope: u64) -> u64 {
    if !node.name.is_empty() {
        return mix(scope, hash::text(&node.name));
    }
    let outputs = node.outputs.iter().flatten().map(|value| scene.value(*value).name.as_str());
    let outputs = outputs.filter(|name| !name.is_empty()).map(hash::text);
    outputs.fold(0, |sum, name| mix(mix(sum, name), scope))
}

/// The hash of the labels of scopes around each group, without parts. A group is behind the one that lists
/// it.
fn scopes(scene: &Scene) -> Vec<u64> {
    let mut hashes: Vec<u64> = Vec::with_capacity(scene.groups.len());
    for group in &scene.groups {
        let outer =
            group.parent.and_then(|parent| hashes.get(parent.index()).copied()).unwrap_or(hash::EMPTY);
        hashes.push(match group.kind {
            GroupKind::Scope { .. } => {
                group.label.split('/').fold(outer, |hash, it| mix(hash, hash::text(it)))
            }
            GroupKind::Part => outer,
            GroupKind::Main | GroupKind::Function | GroupKind::Body { .. } => hash::EMPTY,
        });
    }
    hashes
}

/// The uses of all values.
fn uses(scene: &Scene) -> (Vec<u32>, Vec<Use>) {
    let all = || {
        let nodes = scene.nodes.iter().enumerate();
        nodes.flat_map(|(at, node)| {
            ports(node).filter_map(move |(port, value)| Some((value?, (NodeId::new(at), port))))
        })
    };
    let mut first = vec![0_u32; scene.values.len() + 1];
    all().for_each(|(value, _)| first[value.index() + 1] += 1);
    for at in 1..first.len() {
        first[at] += first[at - 1];
    }
    let mut fill = first.clone();
    let mut uses = vec![(NodeId::new(0), 0); first.last().copied().unwrap_or_default() as usize];
    for (value, user) in all() {
        let at = &mut fill[value.index()];
        uses[*at as usize] = user;
        *at += 1;
    }
    (first, uses)
}

/// The nodes of a graph.
pub(super) fn nodes_of(scene: &Scene, root: GroupId) -> impl Iterator<Item = NodeId> + Clone + use<> {
    let nodes = scene.group(root).nodes.clone();
    (nodes.start as usize..nodes.end as usize).map(NodeId::new)
}

//! One scene for two models: the new one, with the removed nodes and values of the old one.
//!
//! - The values of the new model keep their ids; removed values follow.
//! - Removed nodes are behind their last predecessor that is still there, in the groups of their scopes.
//!   Scopes are taken from the groups of the old scene, so a node that is alone in its scope is in the group
//!   around it.
//! - A node that read a removed value in the old model still reads it, see [`Node::old_reads`].
//! - Diagnostics are those of the new model.
//!
//! **Cost:** linear in both scenes. Nothing recurses.

use super::derive::complete;
use super::scopes::Scope;
use super::types::Tables;
use super::{
    Cause, Change, ChangedItem, Comparison, Group, GroupId, GroupKind, ListedChange, MAX_SCOPES, Maker, Node,
    NodeId, Operator, OperatorId, Scene, Subject, TypeId, Value, ValueId, tree,
};
use crate::changes::same::{self, Kind};
use crate::changes::{Changes, NodeChange, NodeDifference, PortChange, PortDifference, ValueChange};
use crate::map::{Map, Set};
use crate::matching::{Interface, Matching, matching};
use crate::order::{Entry, Merged, MergedGraph};
use crate::text::counted;

/// The maximum number of listed changes, with those of items that share one.
const MAX_LISTED: usize = 2000;

/// The number of items from which the same change is one entry.
const MIN_SAME: usize = 3;

/// The scene of two models, with both titles, and the changes from the old to the new one.
#[must_use]
pub fn compare(old: &Scene, new: &Scene) -> (Scene, Changes) {
    let matching = matching(old, new);
    let changes = Changes::of(old, new, &matching);
    let mut scene = union(old, new, &matching, &changes);
    scene.about.title = format!("{} -> {}", old.about.title, new.about.title);
    (scene, changes)
}

/// The scene of two models with these changes.
#[must_use]
pub fn union(old: &Scene, new: &Scene, matching: &Matching, changes: &Changes) -> Scene {
    let mut builder = Builder::of(old, new, matching);
    let merged = Merged::of(old, new, matching);
    for graph in &merged.graphs {
        builder.graph(graph);
    }
    builder.finish(changes)
}

struct Builder<'a> {
    /// The old and the new scene.
    sides: [&'a Scene; 2],
    matching: &'a Matching,
    scene: Scene,
    /// The types of the scene, and those of the old scene that it has.
    tables: Tables,
    types: Vec<Option<TypeId>>,
    /// The operators of the old scene.
    operators: Vec<OperatorId>,
    /// The values of the old scene.
    values: Vec<ValueId>,
    /// The nodes and roots of both scenes.
    nodes: [Vec<Option<NodeId>>; 2],
    roots: [Vec<Option<GroupId>>; 2],
    /// The interfaces of matched graphs, by their old roots.
    interfaces: Map<GroupId, &'a Interface>,
    /// The scopes of the groups of both scenes.
    scopes: [Vec<Vec<Scope<'a>>>; 2],
}

impl<'a> Builder<'a> {
    fn of(old: &'a Scene, new: &'a Scene, matching: &'a Matching) -> Self {
        let scene = Scene {
            about: new.about.clone(),
            operators: new.operators.clone(),
            rules: new.rules.clone(),
            nodes: Vec::with_capacity(new.nodes.len()),
            values: new.values.clone(),
            groups: Vec::new(),
            functions: Vec::new(),
            marks: new.marks.clone(),
            comparison: None,
            ..Scene::default()
        };
        let sides = [old, new];
        let mut builder = Self {
            sides,
            matching,
            tables: Tables::of(new),
            types: vec![None; old.types.len()],
            scene,
            operators: Vec::new(),
            values: Vec::with_capacity(old.values.len()),
            nodes: sides.map(|side| vec![None; side.nodes.len()]),
            roots: sides.map(|side| vec![None; side.groups.len()]),
            interfaces: matching.interfaces.iter().map(|it| (it.graphs[0], it)).collect(),
            scopes: sides.map(scopes),
        };
        builder.add_operators();
        builder.add_values();
        builder
    }

    fn add_operators(&mut self) {
        let known = self.scene.operators.iter().cloned().enumerate();
        let mut known: Map<Operator, OperatorId> = known.map(|(at, it)| (it, OperatorId::new(at))).collect();
        for operator in &self.sides[0].operators {
            let id = *known.entry(operator.clone()).or_insert_with(|| {
                self.scene.operators.push(operator.clone());
                OperatorId::new(self.scene.operators.len() - 1)
            });
            self.operators.push(id);
        }
    }

    fn type_of_old(&mut self, ty: TypeId) -> TypeId {
        let known = &mut self.types[ty.index()];
        *known.get_or_insert_with(|| self.tables.type_of(self.sides[0], ty))
    }

    /// Adds the removed values. Graphs and makers are set later.
    fn add_values(&mut self) {
        for at in 0..self.scene.values.len() {
            if self.matching.values.old_of(ValueId::new(at)).is_none() {
                self.scene.values[at].change = Change::Added;
            }
        }
        for (at, value) in self.sides[0].values.iter().enumerate() {
            if let Some(mate) = self.matching.values.new_of(ValueId::new(at)) {
                self.values.push(mate);
                continue;
            }
            self.values.push(ValueId::new(self.scene.values.len()));
            let ty = self.type_of_old(value.ty);
            let preview = value.preview.map(|preview| self.tables.preview_of(self.sides[0], preview));
            self.scene.values.push(Value {
                ty,
                preview,
                cause: None,
                marks: Vec::new(),
                is_output: false,
                change: Change::Removed,
                ..value.clone()
            });
        }
    }

    /// Adds a graph.
    fn graph(&mut self, graph: &MergedGraph) {
        let id = GroupId::new(self.scene.groups.len());
        let side = usize::from(graph.roots[1].is_some());
        let Some(root) = graph.roots[side] else { return };
        let shown = self.sides[side].group(root);
        let owner = graph.owner.and_then(|entry| self.node_of(entry));
        let (kind, parent) = match owner {
            Some(node) => {
                self.scene.nodes[node.index()].bodies.push(id);
                (GroupKind::Body { node }, Some(self.scene.nodes[node.index()].group))
            }
            None => (shown.kind.clone(), None),
        };
        if kind == GroupKind::Function {
            self.scene.functions.push(id);
        }
        let (inputs, outputs) = self.ports(graph);
        let label = shown.label.clone();
        self.scene.groups.push(Group { kind, label, parent, inputs, outputs, ..Group::default() });
        for (roots, root) in self.roots.iter_mut().zip(graph.roots) {
            if let Some(root) = root {
                roots[root.index()] = Some(id);
            }
        }
        let group_of = |entry: &Entry| match entry {
            Entry::Old(node) => (0, self.sides[0].node(*node).group),
            Entry::New(node) => (1, self.sides[1].node(*node).group),
        };
        let scopes =
            graph.entries.iter().map(group_of).map(|(side, group)| self.scopes[side][group.index()].clone());
        let scopes: Vec<Vec<Scope<'_>>> = scopes.collect();
        let first = self.scene.nodes.len();
        let order = tree::arrange(&mut self.scene.groups, id, first, &scopes);
        for (at, group, slot) in order {
            self.add_node(graph.entries[at], group, slot);
        }
    }

    /// The inputs and outputs of the new graph, then the removed ones.
    fn ports(&mut self, graph: &MergedGraph) -> (Vec<ValueId>, Vec<ValueId>) {
        let new = graph.roots[1].map(|root| self.sides[1].group(root));
        let (mut inputs, mut outputs) =
            new.map(|group| (group.inputs.clone(), group.outputs.clone())).unwrap_or_default();
        if let Some(root) = graph.roots[0] {
            let old = self.sides[0].group(root);
            let removed =
                |value: &ValueId| Some(self.values[value.index()]).filter(|it| self.is_removed(*it));
            inputs.extend(old.inputs.iter().filter_map(removed));
            // A removed value is no removed output if another value is this output now.
            let interface = self.interfaces.get(&root).filter(|_| graph.roots[1].is_some());
            let is_replaced: Set<usize> = interface
                .map(|it| {
                    it.outputs.iter().filter(|port| port[1].is_some()).filter_map(|port| port[0]).collect()
                })
                .unwrap_or_default();
            let rest = old.outputs.iter().enumerate().filter(|(at, _)| !is_replaced.contains(at));
            let rest: Vec<ValueId> = rest.filter_map(|(_, value)| removed(value)).collect();
            rest.iter().for_each(|value| self.scene.values[value.index()].is_output = true);
            outputs.extend(rest);
        }
        (inputs, outputs)
    }

    fn is_removed(&self, value: ValueId) -> bool {
        value.index() >= self.sides[1].values.len()
    }

    fn node_of(&self, entry: Entry) -> Option<NodeId> {
        match entry {
            Entry::Old(node) => self.nodes[0][node.index()],
            Entry::New(node) => self.nodes[1][node.index()],
        }
    }

    fn add_node(&mut self, entry: Entry, group: GroupId, slot: u32) {
        let id = NodeId::new(self.scene.nodes.len());
        let node = match entry {
            Entry::Old(node) => {
                self.nodes[0][node.index()] = Some(id);
                self.removed(node, group, slot)
            }
            Entry::New(node) => {
                self.nodes[1][node.index()] = Some(id);
                let mate = self.matching.nodes.old_of(node);
                if let Some(mate) = mate {
                    self.nodes[0][mate.index()] = Some(id);
                }
                Node {
                    group,
                    slot,
                    bodies: Vec::new(),
                    callee: None,
                    marks: Vec::new(),
                    change: if mate.is_some() { Change::Same } else { Change::Added },
                    old_reads: mate.map(|mate| self.old_reads(mate)).unwrap_or_default(),
                    ..self.sides[1].node(node).clone()
                }
            }
        };
        self.scene.nodes.push(node);
    }

    fn removed(&self, node: NodeId, group: GroupId, slot: u32) -> Node {
        let old = self.sides[0].node(node);
        let scene_value = |value: &ValueId| self.values[value.index()];
        let is_made = |value: &ValueId| match self.sides[0].value(*value).maker {
            Maker::Node { node: maker, .. } => maker == node,
            Maker::Input | Maker::Stored | Maker::Undefined => false,
        };
        Node {
            operator: self.operators[old.operator.index()],
            group,
            slot,
            inputs: old.inputs.iter().map(|value| value.as_ref().map(scene_value)).collect(),
            // Without a second definition of a value.
            outputs: old
                .outputs
                .iter()
                .map(|value| value.as_ref().filter(|it| is_made(it)).map(scene_value))
                .collect(),
            captures: old.captures.iter().map(scene_value).collect(),
            bodies: Vec::new(),
            callee: None,
            marks: Vec::new(),
            change: Change::Removed,
            ..old.clone()
        }
    }

    /// The removed values that an old node reads.
    fn old_reads(&self, node: NodeId) -> Vec<ValueId> {
        let old = self.sides[0].node(node);
        let mut seen: Set<ValueId> = Set::default();
        let values = old.inputs.iter().flatten().chain(&old.captures).map(|value| self.values[value.index()]);
        let removed =
            values.filter(|it| self.is_removed(*it) && self.scene.value(*it).maker != Maker::Stored);
        removed.filter(|value| seen.insert(*value)).collect()
    }

    fn finish(mut self, changes: &Changes) -> Scene {
        self.link_values();
        self.link_calls();
        self.mark_changes(changes);
        let Self { mut scene, tables, nodes, .. } = self;
        tables.finish(&mut scene);
        for mark in &mut scene.marks {
            let new = |node: &NodeId| nodes[1][node.index()];
            mark.nodes = mark.nodes.iter().filter_map(new).collect();
            for excerpt in &mut mark.parts.excerpts {
                excerpt.node = excerpt.node.as_ref().and_then(new);
            }
        }
        complete(&mut scene);
        scene
    }

    /// Sets the graphs, makers and causes of values.
    fn link_values(&mut self) {
        let first_removed = self.sides[1].values.len();
        let mut makers: Vec<Option<Maker>> = vec![None; self.scene.values.len()];
        for (at, node) in self.scene.nodes.iter().enumerate() {
            for (output, value) in node.outputs.iter().enumerate() {
                let Some(value) = value else { continue };
                // Of two definitions of a value, the first counts.
                let maker = Maker::Node { node: NodeId::new(at), output: tree::position(output) };
                makers[value.index()].get_or_insert(maker);
            }
        }
        let new_node = |node: NodeId| self.nodes[1][node.index()];
        for (at, value) in self.scene.values.iter_mut().enumerate() {
            let side = usize::from(at < first_removed);
            if let Some(root) = self.roots[side][value.graph.index()] {
                value.graph = root;
            }
            if let Maker::Node { .. } = value.maker {
                value.maker = makers[at].unwrap_or(Maker::Undefined);
            }
            value.marks.clear();
            value.cause = value.cause.and_then(|cause| match cause {
                Cause::Tie { node, rule, next } => Some(Cause::Tie { node: new_node(node)?, rule, next }),
                Cause::Rule { node: Some(node), rule } => {
                    Some(Cause::Rule { node: Some(new_node(node)?), rule })
                }
                Cause::Rule { node: None, .. }
                | Cause::Input
                | Cause::Declared
                | Cause::Stored
                | Cause::Given
                | Cause::Argument => Some(cause),
            });
        }
    }

    /// Sets the called functions.
    fn link_calls(&mut self) {
        for side in [0, 1] {
            for (at, node) in self.sides[side].nodes.iter().enumerate() {
                if let Some(id) = self.nodes[side][at]
                    && let Some(callee) = node.callee.and_then(|it| self.roots[side][it.index()])
                {
                    self.scene.nodes[id.index()].callee = Some(callee);
                }
            }
        }
    }

    fn mark_changes(&mut self, changes: &Changes) {
        let scenes = self.sides;
        let mut list = List::default();
        for symbol in &changes.symbols {
            list.add(Change::Changed, Subject::Model, None, || symbol.to_text());
        }
        for port in &changes.interface {
            let removed = port.old.map(|old| self.values[old.index()]);
            let subject = port.new.or(removed).map_or(Subject::Model, Subject::Value);
            list.add(port.change(), subject, same::of_port(scenes, port), || port.to_text(scenes));
        }
        for node in &changes.nodes {
            let id = match node {
                NodeChange::Added(new) | NodeChange::Changed { new, .. } => self.nodes[1][new.index()],
                NodeChange::Removed(old) => self.nodes[0][old.index()],
            };
            if let Some(id) = id {
                list.add(node.change(), Subject::Node(id), same::of_node(scenes, node), || {
                    node.to_text(scenes)
                });
                let shown = &mut self.scene.nodes[id.index()];
                shown.change = node.change();
                shown.differences = node.differences(scenes);
            }
        }
        for value in &changes.values {
            let ValueChange { old, new } = *value;
            list.add(Change::Changed, Subject::Value(new), Some(same::of_value(scenes, old, new)), || {
                crate::changes::value(scenes, old, new)
            });
        }
        self.scene.comparison = Some(Comparison { listed: list.finish(), total: changes.total() });

        let is_other = |it: &&PortChange| {
            it.differences.iter().any(|it| matches!(it, PortDifference::Name | PortDifference::Type))
        };
        let ports = changes.interface.iter().filter(is_other).filter_map(|port| Some([port.old?, port.new?]));
        let values = changes.values.iter().map(|value| [value.old, value.new]);
        let stored = changes.nodes.iter().flat_map(|node| match node {
            NodeChange::Changed { differences, .. } => differences.as_slice(),
            NodeChange::Added(_) | NodeChange::Removed(_) => &[],
        });
        let stored = stored.filter_map(|difference| match difference {
            NodeDifference::Stored { old, new, .. } => Some([*old, *new]),
            NodeDifference::Operator
            | NodeDifference::Attribute { .. }
            | NodeDifference::Input { .. }
            | NodeDifference::Output { .. } => None,
        });
        for [old, new] in ports.chain(values).chain(stored).collect::<Vec<_>>() {
            let before = scenes[0].value(old);
            let is_other_type = scenes[0].type_text(old) != scenes[1].type_text(new);
            let old_type = is_other_type.then(|| self.type_of_old(before.ty));
            let shown = &mut self.scene.values[new.index()];
            (shown.change, shown.old_type) = (Change::Changed, old_type);
        }
        for (old, new) in self.matching.nodes.iter() {
            let (before, after) = (scenes[0].node(old), scenes[1].node(new));
            if let Some(id) = self.nodes[1][new.index()].filter(|_| before.name != after.name) {
                let text = format!("name: {}", crate::changes::names(&before.name, &after.name));
                self.scene.nodes[id.index()].differences.push(text);
            }
        }
        for (old, new) in self.matching.values.iter() {
            let before = scenes[0].value(old);
            let shown = &mut self.scene.values[new.index()];
            if before.name != shown.name {
                shown.old_name = Some(before.name.clone());
            }
        }
    }
}

/// The list of changes, with the same change of several items as one entry at the first of them.
#[derive(Default)]
struct List {
    listed: Vec<ListedChange>,
    /// The entry of each kind of change.
    entries: Map<Kind, usize>,
    /// The kind of each entry.
    kinds: Vec<Option<Kind>>,
    /// The number of texts.
    texts: usize,
}

impl List {
    fn add(&mut self, change: Change, subject: Subject, kind: Option<Kind>, text: impl Fn() -> String) {
        let has_space = self.texts < MAX_LISTED;
        self.texts += usize::from(has_space);
        if let Some(at) = kind.as_ref().and_then(|kind| self.entries.get(kind)) {
            let entry = &mut self.listed[*at];
            entry.count += 1;
            if has_space {
                entry.items.push(ChangedItem { subject, text: text() });
            }
        } else if has_space {
            if let Some(kind) = &kind {
                self.entries.insert(kind.clone(), self.listed.len());
            }
            self.kinds.push(kind);
            let items = vec![ChangedItem { subject, text: text() }];
            self.listed.push(ListedChange { change, subject, text: String::new(), count: 1, items });
        }
    }

    /// The entries. Few items with the same change are entries of their own.
    fn finish(self) -> Vec<ListedChange> {
        let mut listed = Vec::new();
        for (entry, kind) in self.listed.into_iter().zip(self.kinds) {
            let ListedChange { change, count, items, .. } = entry;
            if let Some(Kind { noun, text }) = kind.filter(|_| count >= MIN_SAME) {
                let text = format!("{}: {text}", counted(count, &noun));
                listed.push(ListedChange { change, subject: Subject::Model, text, count, items });
                continue;
            }
            listed.extend(items.into_iter().map(|ChangedItem { subject, text }| ListedChange {
                change,
                subject,
                text,
                count: 1,
                items: Vec::new(),
            }));
        }
        listed
    }
}

/// The scopes of each group. A group is behind the one that lists it.
fn scopes(scene: &Scene) -> Vec<Vec<Scope<'_>>> {
    let mut all: Vec<Vec<Scope<'_>>> = Vec::with_capacity(scene.groups.len());
    for group in &scene.groups {
        let outer = match group.parent.and_then(|parent| all.get(parent.index())) {
            Some(outer) if !group.kind.is_root() => outer.clone(),
            Some(_) | None => Vec::new(),
        };
        let mut path = outer;
        if let GroupKind::Scope { class } = &group.kind {
            let names = group.label.split('/').count();
            let parts = group.label.split('/').enumerate();
            // A group with several labels has the class of the innermost.
            path.extend(
                parts.map(|(at, name)| Scope { name, class: if at + 1 == names { class } else { "" } }),
            );
            path.truncate(MAX_SCOPES);
        }
        all.push(path);
    }
    all
}

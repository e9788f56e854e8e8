//! Tables of a scene that its own structure does not have: the readers of stored values, and the calls of
//! functions.
//!
//! **Cost:** linear in the scene.

use crate::map::Map;
use crate::scene::{GroupId, Maker, NodeId, Scene, ValueId};

#[derive(Debug)]
pub(super) struct Index {
    /// The position in `readers` of the first reader of each value, and the number of all.
    first_reader: Vec<u32>,
    readers: Vec<NodeId>,
    /// A call of each function that can be reached from the model's graph.
    callers: Map<GroupId, NodeId>,
}

impl Index {
    pub(super) fn of(scene: &Scene) -> Self {
        let (first_reader, readers) = stored_readers(scene);
        Self { first_reader, readers, callers: callers(scene) }
    }

    /// The nodes that read a value, each once.
    pub(super) fn readers<'s>(&'s self, scene: &'s Scene, value: ValueId) -> &'s [NodeId] {
        if scene.value(value).maker != Maker::Stored {
            return scene.readers(value);
        }
        let at = value.index();
        match (self.first_reader.get(at), self.first_reader.get(at + 1)) {
            (Some(from), Some(to)) => &self.readers[*from as usize..*to as usize],
            (Some(_) | None, Some(_) | None) => &[],
        }
    }

    /// A node that calls a function, from the model's graph or from a function that it reaches.
    pub(super) fn caller(&self, function: GroupId) -> Option<NodeId> {
        self.callers.get(&function).copied()
    }
}

/// The readers of stored values.
fn stored_readers(scene: &Scene) -> (Vec<u32>, Vec<NodeId>) {
    let mut first = vec![0_u32; scene.values.len() + 1];
    // The last reader of each value, so that a node counts once.
    let mut last: Vec<Option<NodeId>> = vec![None; scene.values.len()];
    let mut reads: Vec<(ValueId, NodeId)> = Vec::new();
    for node in (0..scene.nodes.len()).map(NodeId::new) {
        for (_, value) in scene.weights(node) {
            if last[value.index()].replace(node) != Some(node) {
                first[value.index() + 1] += 1;
                reads.push((value, node));
            }
        }
    }
    for at in 1..first.len() {
        first[at] += first[at - 1];
    }
    reads.sort_by_key(|(value, _)| *value);
    (first, reads.into_iter().map(|(_, node)| node).collect())
}

/// Calls of functions, found breadth first from the model's graph.
fn callers(scene: &Scene) -> Map<GroupId, NodeId> {
    if scene.functions.is_empty() {
        return Map::default();
    }
    // The outermost root around each group; groups are behind the ones around them.
    let mut outermost: Vec<GroupId> = Vec::with_capacity(scene.groups.len());
    for (at, group) in scene.groups.iter().enumerate() {
        let outer = group.parent.and_then(|parent| outermost.get(parent.index()).copied());
        outermost.push(outer.unwrap_or_else(|| GroupId::new(at)));
    }
    let mut calls: Map<GroupId, Vec<(NodeId, GroupId)>> = Map::default();
    for (at, node) in scene.nodes.iter().enumerate() {
        if let Some(callee) = node.callee {
            let around = outermost[node.group.index()];
            calls.entry(around).or_default().push((NodeId::new(at), callee));
        }
    }
    let mut callers = Map::default();
    let mut queue = vec![scene.main()];
    let mut next = 0;
    while let Some(graph) = queue.get(next).copied() {
        next += 1;
        for (node, callee) in calls.get(&graph).into_iter().flatten() {
            if *callee != scene.main() && !callers.contains_key(callee) {
                callers.insert(*callee, *node);
                queue.push(*callee);
            }
        }
    }
    callers
}

//! The nodes of two scenes in one order: graph by graph, from the outside in, each in the order of the new
//! file, with removed nodes behind their last predecessor in the old file that is still there.

use crate::map::Map;
use crate::matching::Matching;
use crate::scene::{GroupId, NodeId, Scene};

/// A node of one of the scenes. A node of both is a new one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Entry {
    /// A removed node of the old scene.
    Old(NodeId),
    /// A node of the new scene.
    New(NodeId),
}

/// The graph of a model, a function, or a nested graph, in one or both scenes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MergedGraph {
    /// The old and the new root; at least one exists.
    pub(crate) roots: [Option<GroupId>; 2],
    /// The node of a nested graph.
    pub(crate) owner: Option<Entry>,
    /// The nodes.
    pub(crate) entries: Vec<Entry>,
}

/// The graphs of two scenes, from the outside in; the first is that of the models.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Merged {
    pub(crate) graphs: Vec<MergedGraph>,
}

impl Merged {
    pub(crate) fn of(old: &Scene, new: &Scene, matching: &Matching) -> Self {
        let mut merged = Self::default();
        if old.groups.is_empty() || new.groups.is_empty() {
            return merged;
        }
        // Roots and owners of graphs without entries.
        let mut open = vec![([Some(old.main()), Some(new.main())], None)];
        let functions =
            new.functions.iter().map(|function| [matching.graphs.old_of(*function), Some(*function)]);
        let removed = old.functions.iter().filter(|function| matching.graphs.new_of(**function).is_none());
        let functions: Vec<_> = functions.chain(removed.map(|function| [Some(*function), None])).collect();
        open.extend(functions.into_iter().map(|roots| (roots, None)));
        let mut next = 0;
        while let Some((roots, owner)) = open.get(next).copied() {
            next += 1;
            let entries = entries(old, new, matching, roots);
            for entry in &entries {
                let bodies = bodies(old, new, matching, *entry);
                open.extend(bodies.into_iter().map(|roots| (roots, Some(*entry))));
            }
            merged.graphs.push(MergedGraph { roots, owner, entries });
        }
        merged
    }

    /// All nodes.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.graphs.iter().flat_map(|graph| &graph.entries)
    }
}

/// The nested graphs of a node.
fn bodies(old: &Scene, new: &Scene, matching: &Matching, entry: Entry) -> Vec<[Option<GroupId>; 2]> {
    match entry {
        Entry::Old(node) => old.node(node).bodies.iter().map(|body| [Some(*body), None]).collect(),
        Entry::New(node) => {
            let own = new.node(node).bodies.iter().map(|body| [matching.graphs.old_of(*body), Some(*body)]);
            let mate = matching.nodes.old_of(node);
            let bodies = mate.map(|mate| old.node(mate).bodies.as_slice()).unwrap_or_default();
            let removed = bodies.iter().filter(|body| matching.graphs.new_of(**body).is_none());
            own.chain(removed.map(|body| [Some(*body), None])).collect()
        }
    }
}

/// The nodes of a graph.
fn entries(old: &Scene, new: &Scene, matching: &Matching, roots: [Option<GroupId>; 2]) -> Vec<Entry> {
    let mut first: Vec<Entry> = Vec::new();
    // The removed nodes behind each new node.
    let mut behind: Map<NodeId, Vec<Entry>> = Map::default();
    let mut anchor = None;
    for node in in_file(old, roots[0]) {
        match (matching.nodes.new_of(node), anchor) {
            (Some(mate), _) => anchor = Some(mate),
            (None, Some(anchor)) => behind.entry(anchor).or_default().push(Entry::Old(node)),
            (None, None) => first.push(Entry::Old(node)),
        }
    }
    for node in in_file(new, roots[1]) {
        first.push(Entry::New(node));
        first.extend(behind.remove(&node).into_iter().flatten());
    }
    first
}

/// The nodes of a graph in the order of the file.
fn in_file(scene: &Scene, root: Option<GroupId>) -> Vec<NodeId> {
    let Some(root) = root else { return Vec::new() };
    let nodes = scene.group(root).nodes.clone();
    let mut nodes: Vec<NodeId> = (nodes.start as usize..nodes.end as usize).map(NodeId::new).collect();
    nodes.sort_by_key(|node| scene.node(*node).position);
    nodes
}

//! The groups that the reader of an interactive picture expands.
//!
//! A selection is a tree of [`Step`]s from the model's graph: a group, a node, or a node and one of its
//! graphs. A node as the last step selects all its graphs. So a function that is called twice can be expanded
//! in one call only.

use crate::level::Item;
use crate::map::Map;
use crate::scene::{Child, GroupId};

/// One step of a path to a group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// A child of the group before it.
    Child(Child),
    /// A nested graph or the function of the node before it.
    Graph(GroupId),
}

/// A set of paths.
#[derive(Clone, Debug)]
pub struct Selection {
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    inner: Map<Step, usize>,
    is_selected: bool,
}

impl Default for Selection {
    fn default() -> Self {
        Self { nodes: vec![Node::default()] }
    }
}

impl Selection {
    /// The model's graph.
    pub(super) const ROOT: usize = 0;

    /// Adds a path.
    pub fn insert(&mut self, path: impl IntoIterator<Item = Step>) {
        let mut at = Self::ROOT;
        for step in path {
            let next = self.nodes.len();
            at = *self.nodes[at].inner.entry(step).or_insert(next);
            if at == next {
                self.nodes.push(Node::default());
            }
        }
        self.nodes[at].is_selected = true;
    }

    /// The part of the selection inside of a group of an item.
    pub(super) fn inside(&self, around: usize, item: Item, group: GroupId) -> Option<usize> {
        let Item::Child(child) = item else { return None };
        let own = *self.nodes[around].inner.get(&Step::Child(child))?;
        match child {
            Child::Group(_) => Some(own),
            Child::Node(_) => self.nodes[own].inner.get(&Step::Graph(group)).copied(),
        }
    }

    /// Whether a group of an item is selected.
    pub(super) fn contains(&self, around: usize, item: Item, group: GroupId) -> bool {
        let Item::Child(child) = item else { return false };
        let Some(own) = self.nodes[around].inner.get(&Step::Child(child)) else { return false };
        let all = self.nodes[*own].is_selected;
        all || self.inside(around, item, group).is_some_and(|inner| self.nodes[inner].is_selected)
    }
}

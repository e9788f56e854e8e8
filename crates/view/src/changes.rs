//! The changes from one scene to another, as data and as text.
//!
//! The changes are those of a [`Matching`]: each pair is compared, and each node or value without a pair was
//! removed or added. The interface is first, then the nodes of each graph in the order of the file (with
//! removed nodes behind their old predecessors), then values whose type or evidence changed.
//!
//! - A node has changed if its operator, an attribute, the source of an input, or the type or the elements of
//!   a stored input has. A change of its name, of its types or of its nested graphs is no change of the node.
//! - Symbols are compared by their use: if `N` is `batch` in the same axes of the inputs of the new model,
//!   types are compared with `batch` for `N`, and the renaming is one change.
//!
//! **Cost:** linear in both scenes. The differences of a node are cut after [`MAX_DIFFERENCES`].

pub(crate) mod same;
mod symbols;
mod text;

#[cfg(test)]
mod tests;

use crate::matching::{Matching, Port};
use crate::order::{Entry, Merged};
use crate::scene::{Change, Evidence, Maker, NodeId, Scene, ValueId};

pub use symbols::SymbolChange;

pub(crate) use text::{names, value};

use symbols::Renaming;

/// The maximum number of differences of a node.
pub const MAX_DIFFERENCES: usize = 32;

/// The changes from an old to a new scene.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changes {
    /// The changes of symbols of the interface.
    pub symbols: Vec<SymbolChange>,
    /// The changes of inputs and outputs of the model.
    pub interface: Vec<PortChange>,
    /// The changes of nodes.
    pub nodes: Vec<NodeChange>,
    /// The changes of values that are made by nodes, or are inputs of nested graphs and functions.
    pub values: Vec<ValueChange>,
    /// The number of matched nodes with another name.
    pub renamed_nodes: usize,
    /// The number of matched values with another name, without those of the interface.
    pub renamed_values: usize,
}

/// The direction of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// An input.
    Input,
    /// An output.
    Output,
}

/// A changed input or output of a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortChange {
    /// The direction.
    pub direction: Direction,
    /// The value in the old model.
    pub old: Option<ValueId>,
    /// The value in the new model.
    pub new: Option<ValueId>,
    /// The differences; empty for an added or removed port.
    pub differences: Vec<PortDifference>,
}

/// A difference of an input or output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PortDifference {
    /// The name.
    Name,
    /// The type, or the evidence for it.
    Type,
    /// The order: the position among the matched ports of old and new.
    Position([usize; 2]),
    /// The node that makes an output.
    Maker,
}

/// A change of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NodeChange {
    /// The node is in the new scene only.
    Added(NodeId),
    /// The node is in the old scene only.
    Removed(NodeId),
    /// The nodes are a pair with differences.
    Changed {
        /// The old node.
        old: NodeId,
        /// The new node.
        new: NodeId,
        /// The first differences.
        differences: Vec<NodeDifference>,
        /// The number of other differences.
        others: usize,
    },
}

/// A difference of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NodeDifference {
    /// The operator.
    Operator,
    /// An attribute.
    Attribute {
        /// The name.
        name: String,
        /// The old text.
        old: Option<String>,
        /// The new text.
        new: Option<String>,
    },
    /// The source of an input.
    Input {
        /// The position.
        port: usize,
        /// The old value.
        old: Option<ValueId>,
        /// The new value.
        new: Option<ValueId>,
    },
    /// The type or the elements of a stored input.
    Stored {
        /// The position.
        port: usize,
        /// The old tensor.
        old: ValueId,
        /// The new tensor.
        new: ValueId,
    },
    /// An optional output is used in one of the models only.
    Output {
        /// The position.
        port: usize,
        /// Whether it is used in the old or in the new model.
        change: Change,
    },
}

/// A value with another type or evidence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValueChange {
    /// The old value.
    pub old: ValueId,
    /// The new value.
    pub new: ValueId,
}

impl Changes {
    /// The changes of a matching.
    #[must_use]
    pub fn of(old: &Scene, new: &Scene, matching: &Matching) -> Self {
        let renaming = Renaming::of(old, new, matching);
        Comparer { old, new, matching, renaming: &renaming }.changes(&Merged::of(old, new, matching))
    }

    /// The number of changes.
    #[must_use]
    pub fn total(&self) -> usize {
        let Self { symbols, interface, nodes, values, renamed_nodes: _, renamed_values: _ } = self;
        symbols.len() + interface.len() + nodes.len() + values.len()
    }
}

struct Comparer<'a> {
    old: &'a Scene,
    new: &'a Scene,
    matching: &'a Matching,
    renaming: &'a Renaming,
}

impl Comparer<'_> {
    fn changes(&self, merged: &Merged) -> Changes {
        let mut changes = Changes { symbols: self.renaming.changes(), ..Changes::default() };
        let ports = self.matching.interfaces.first();
        if let Some(interface) = ports {
            self.ports(Direction::Input, &interface.inputs, &mut changes);
            self.ports(Direction::Output, &interface.outputs, &mut changes);
        }
        for entry in merged.entries() {
            match *entry {
                Entry::Old(old) => changes.nodes.push(NodeChange::Removed(old)),
                Entry::New(new) => match self.matching.nodes.old_of(new) {
                    None => changes.nodes.push(NodeChange::Added(new)),
                    Some(old) => self.pair(old, new, &mut changes),
                },
            }
        }
        self.values(&mut changes);
        changes
    }

    fn ports(&self, direction: Direction, ports: &[Port], changes: &mut Changes) {
        let list = |scene: &Scene, at: usize| {
            let main = scene.group(scene.main());
            match direction {
                Direction::Input => main.inputs[at],
                Direction::Output => main.outputs[at],
            }
        };
        // The ranks among matched ports.
        let mut by_old: Vec<usize> =
            ports.iter().filter(|port| port[1].is_some()).filter_map(|port| port[0]).collect();
        by_old.sort_unstable();
        let mut rank = 0;
        for port in ports {
            let (old, new) = (port[0].map(|at| list(self.old, at)), port[1].map(|at| list(self.new, at)));
            let mut differences = Vec::new();
            if let (Some(first), Some(second), Some(at)) = (old, new, port[0]) {
                if self.old.value(first).name != self.new.value(second).name {
                    differences.push(PortDifference::Name);
                }
                if self.has_other_type(first, second) {
                    differences.push(PortDifference::Type);
                }
                let old_rank = by_old.partition_point(|other| *other < at);
                if old_rank != rank {
                    differences.push(PortDifference::Position([old_rank, rank]));
                }
                rank += 1;
                if direction == Direction::Output && !self.is_same_source(Some(first), Some(second)) {
                    differences.push(PortDifference::Maker);
                }
                if differences.is_empty() {
                    continue;
                }
            }
            changes.interface.push(PortChange { direction, old, new, differences });
        }
    }

    /// Compares a pair of nodes.
    fn pair(&self, old: NodeId, new: NodeId, changes: &mut Changes) {
        changes.renamed_nodes += usize::from(self.old.node(old).name != self.new.node(new).name);
        let (differences, others) = self.differences(old, new);
        if !differences.is_empty() {
            changes.nodes.push(NodeChange::Changed { old, new, differences, others });
        }
    }

    /// The first differences of a pair of nodes, and the number of the others.
    fn differences(&self, old: NodeId, new: NodeId) -> (Vec<NodeDifference>, usize) {
        let (mut found, mut others) = (Vec::new(), 0);
        let mut add = |difference: NodeDifference| {
            if found.len() < MAX_DIFFERENCES {
                found.push(difference);
            } else {
                others += 1;
            }
        };
        if self.old.operator(old) != self.new.operator(new) {
            add(NodeDifference::Operator);
        }
        let (first, second) = (self.old.node(old), self.new.node(new));
        for attribute in &first.attributes {
            let other = second.attributes.iter().find(|other| other.name == attribute.name);
            if other.is_none_or(|other| other.text != attribute.text) {
                let new = other.map(|other| other.text.clone());
                add(NodeDifference::Attribute {
                    name: attribute.name.clone(),
                    old: Some(attribute.text.clone()),
                    new,
                });
            }
        }
        for attribute in &second.attributes {
            if first.attributes.iter().all(|other| other.name != attribute.name) {
                add(NodeDifference::Attribute {
                    name: attribute.name.clone(),
                    old: None,
                    new: Some(attribute.text.clone()),
                });
            }
        }
        for port in 0..first.inputs.len().max(second.inputs.len()) {
            let value = |values: &[Option<ValueId>]| values.get(port).copied().flatten();
            let (old, new) = (value(&first.inputs), value(&second.inputs));
            if !self.is_same_source(old, new) {
                add(NodeDifference::Input { port, old, new });
            } else if let (Some(old), Some(new)) = (old, new)
                && self.has_other_contents(old, new)
            {
                add(NodeDifference::Stored { port, old, new });
            }
        }
        for port in 0..first.outputs.len().max(second.outputs.len()) {
            let is_used = |values: &[Option<ValueId>]| values.get(port).is_some_and(Option::is_some);
            match (is_used(&first.outputs), is_used(&second.outputs)) {
                (true, false) => add(NodeDifference::Output { port, change: Change::Removed }),
                (false, true) => add(NodeDifference::Output { port, change: Change::Added }),
                (true, true) | (false, false) => {}
            }
        }
        (found, others)
    }

    /// Whether an input of a pair of nodes has the same source. Stored tensors without names in common are
    /// compared by their contents only.
    fn is_same_source(&self, old: Option<ValueId>, new: Option<ValueId>) -> bool {
        let (Some(old), Some(new)) = (old, new) else { return old.is_none() && new.is_none() };
        let values = &self.matching.values;
        let is_stored =
            self.old.value(old).maker == Maker::Stored && self.new.value(new).maker == Maker::Stored;
        values.are(old, new) || is_stored && (values.new_of(old).is_none() || values.old_of(new).is_none())
    }

    /// Whether two values are stored tensors of different types or with different elements.
    fn has_other_contents(&self, old: ValueId, new: ValueId) -> bool {
        let has_other_elements = || self.old.preview_text(old) != self.new.preview_text(new);
        self.old.value(old).maker == Maker::Stored && (has_other_elements() || self.has_other_type(old, new))
    }

    /// Whether the types of two values differ in more than names of symbols, or the evidence for them.
    fn has_other_type(&self, old: ValueId, new: ValueId) -> bool {
        self.old.value(old).evidence != self.new.value(new).evidence || self.has_other_text(old, new)
    }

    fn has_other_text(&self, old: ValueId, new: ValueId) -> bool {
        has_other_type(self.renaming, [self.old, self.new], [old, new])
    }

    fn values(&self, changes: &mut Changes) {
        let (first, second) = (self.old.main(), self.new.main());
        for (old, new) in self.matching.values.iter() {
            let (before, after) = (self.old.value(old), self.new.value(new));
            let is_port = before.graph == first && (before.is_output || before.maker == Maker::Input)
                || after.graph == second && after.is_output;
            if is_port {
                continue;
            }
            changes.renamed_values += usize::from(before.name != after.name);
            if before.maker != Maker::Stored && self.has_other_type(old, new) {
                changes.values.push(ValueChange { old, new });
            }
        }
    }
}

/// Whether the types of two values differ in more than the names of symbols.
fn has_other_type(renaming: &Renaming, [old, new]: [&Scene; 2], values: [ValueId; 2]) -> bool {
    renaming.renamed(old, old.value(values[0]).ty) != new.type_text(values[1])
}

/// The name of an evidence.
fn evidence(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::Proven => "proven",
        Evidence::Assumed => "assumed",
        Evidence::Incomplete => "incomplete",
    }
}

//! Changes between two models, as parts of a scene that shows both.
//!
//! A scene of one model has no changes: all fields have their defaults. The scene of a [`Comparison`] is that
//! of the new model with the removed nodes and values of the old one.

use super::{Group, NodeId, ValueId};

/// The change of a node, value or group from an old to a new model.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Change {
    /// Equal in both models, or the scene is of one model.
    #[default]
    Same,
    /// In the new model only.
    Added,
    /// In the old model only.
    Removed,
    /// In both models, with differences.
    Changed,
}

impl Change {
    /// The mark in texts: a space, `+`, `-` or `~`.
    #[must_use]
    pub fn mark(self) -> char {
        match self {
            Self::Same => ' ',
            Self::Added => '+',
            Self::Removed => '-',
            Self::Changed => '~',
        }
    }

    /// The name, in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }
}

/// The numbers of changes below a group, including nested graphs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChangeCounts {
    /// The number of added nodes.
    pub added: usize,
    /// The number of removed nodes.
    pub removed: usize,
    /// The number of changed nodes.
    pub changed: usize,
    /// The number of values of which only the type changed.
    pub types: usize,
}

impl ChangeCounts {
    /// The number of all changes.
    #[must_use]
    pub fn total(&self) -> usize {
        let Self { added, removed, changed, types } = self;
        added + removed + changed + types
    }
}

impl Group {
    /// The change of a group: that of all of its nodes, or else [`Change::Changed`] if there is one below it.
    #[must_use]
    pub fn change(&self) -> Change {
        let counts = &self.changes;
        match counts.total() {
            0 => Change::Same,
            _ if counts.added == self.total && self.total > 0 => Change::Added,
            _ if counts.removed == self.total && self.total > 0 => Change::Removed,
            _ => Change::Changed,
        }
    }
}

/// The list of changes of a scene that shows two models.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Comparison {
    /// The first changes, those of the interface before those of nodes and values.
    pub listed: Vec<ListedChange>,
    /// The number of all changes.
    pub total: usize,
}

/// A change as a line of text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedChange {
    /// The kind.
    pub change: Change,
    /// The changed part.
    pub subject: Subject,
    /// The text, without the mark.
    pub text: String,
    /// The number of changes: more than one for the same change of several items.
    pub count: usize,
    /// The first of several items; empty for one.
    pub items: Vec<ChangedItem>,
}

/// An item with a change that others share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangedItem {
    /// The changed part.
    pub subject: Subject,
    /// The change with the name of the item.
    pub text: String,
}

/// The part of a scene that changed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Subject {
    /// The model, for example its symbols.
    Model,
    /// A node.
    Node(NodeId),
    /// A value.
    Value(ValueId),
}

//! Facts about nodes and values, in tables by id.
//!
//! | fact | states | found by |
//! |---|---|---|
//! | [`Placement`] | slot and contract of a node, the storage types of its component, its method | recording, `bind_slots`, `resolve_dispatch` |
//! | peer class | the peers that run a node or hold a value | `infer_peer_classes` |
//! | location | the line of the source that made a node | recording |
//! | origin | the node of which a node is a copy | `expand`, `lower` |
//! | type | the solved type of a value | `type_solver` |
//!
//! A file stores all but origins in metadata and types. [`read`](mod@crate::read) and
//! [`write`](mod@crate::write) convert them.

use std::sync::Arc;

use typeloom_contracts::role::Role;
use typeloom_onnx::messages::{SharedText, StringStringEntryProto};
use typeloom_solver::model::value_types::ValueTypes;
use typeloom_tensor::value_type::ValueType;
use typeloom_types::tree::TypeNode;

use crate::program::{GraphId, Id, NodeId, Program, ValueId};

/// A table by id.
#[derive(Clone, Debug)]
pub struct Table<I, T> {
    entries: Vec<Option<T>>,
    id: std::marker::PhantomData<I>,
}

impl<I, T> Default for Table<I, T> {
    fn default() -> Self {
        Self { entries: Vec::new(), id: std::marker::PhantomData }
    }
}

impl<I: Id, T> Table<I, T> {
    /// The entry of an id.
    #[must_use]
    pub fn get(&self, id: I) -> Option<&T> {
        self.entries.get(id.index())?.as_ref()
    }

    /// The entry of an id, mutable.
    pub fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.entries.get_mut(id.index())?.as_mut()
    }

    /// Sets the entry of an id.
    pub fn set(&mut self, id: I, entry: T) {
        if self.entries.len() <= id.index() {
            self.entries.resize_with(id.index() + 1, || None);
        }
        self.entries[id.index()] = Some(entry);
    }

    /// Removes the entry of an id.
    pub fn remove(&mut self, id: I) -> Option<T> {
        self.entries.get_mut(id.index())?.take()
    }

    /// Removes the entries from a position on.
    pub fn truncate(&mut self, count: usize) {
        self.entries.truncate(count);
    }

    /// All entries, in the order of ids.
    pub fn iter(&self) -> impl Iterator<Item = (I, &T)> {
        self.entries.iter().enumerate().filter_map(|(at, entry)| Some((I::new(at), entry.as_ref()?)))
    }
}

/// The component of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placement {
    pub slot: SharedText,
    /// The contract that the node requires.
    pub role: Role,
    /// The ids of the component's storage types, by associated type of the contract. All nodes of a slot share
    /// them.
    pub storages: Arc<[(SharedText, SharedText)]>,
    /// The method that runs the node, once it is resolved.
    pub method: Option<SharedText>,
}

impl Placement {
    /// The id of a storage type.
    #[must_use]
    pub fn storage(&self, assoc: &str) -> Option<&str> {
        self.storages.iter().find(|(name, _)| name == assoc).map(|(_, id)| id.as_str())
    }
}

/// Stamps of a node in a file that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StampError {
    /// Other stamps name a component, but no slot is given.
    #[error("the stamp `{key}` needs a slot, and the node has none")]
    NoSlot { key: String },
    /// The required trait is missing or unknown.
    #[error("the required trait of slot `{slot}` is `{found}`, which is no contract")]
    NoRole { slot: String, found: String },
    /// The dispatch is not of the form `slot.method`, for the node's slot.
    #[error("the dispatch `{dispatch}` is no method of slot `{slot}`")]
    OtherSlot { slot: String, dispatch: String },
    /// The method does not read an attribute of the node.
    #[error("the method `{method}` has no attribute `{attribute}`")]
    Attribute { method: String, attribute: String },
}

/// Stamps that are no [`Placement`].
#[derive(Clone, Debug)]
pub struct Contradiction {
    pub error: StampError,
    /// The entries, which are written as they were read.
    pub(crate) entries: Vec<StringStringEntryProto>,
}

/// All facts of a program.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub placements: Table<NodeId, Placement>,
    /// Peer classes of nodes; for a send, the class of its target.
    pub node_classes: Table<NodeId, SharedText>,
    pub value_classes: Table<ValueId, SharedText>,
    /// Source locations, `file:line:column`.
    pub locations: Table<NodeId, SharedText>,
    /// The name of the output that a send goes to.
    pub net_outs: Table<NodeId, SharedText>,
    /// The node of which a node is a copy, or that it replaces.
    pub origins: Table<NodeId, NodeId>,
    pub contradictions: Table<NodeId, Contradiction>,
    pub types: Types,
    /// Whether files state the solved types.
    pub are_types_written: bool,
}

impl Facts {
    /// The slot of a node.
    #[must_use]
    pub fn slot(&self, node: NodeId) -> Option<&str> {
        self.placements.get(node).map(|placement| placement.slot.as_str())
    }

    /// The source location of a node; empty if it is not known.
    #[must_use]
    pub fn location(&self, node: NodeId) -> &str {
        self.locations.get(node).map_or("", SharedText::as_str)
    }

    /// Places a node on a slot.
    pub fn place(&mut self, node: NodeId, placement: Placement) {
        self.contradictions.remove(node);
        self.placements.set(node, placement);
    }

    /// Notes that `node` does the work of `origin`: on the same slot, of the same source line.
    pub fn replaces(&mut self, node: NodeId, origin: NodeId) {
        self.is_made_by(node, origin);
        if let Some(placement) = self.placements.get(origin).cloned() {
            self.placements.set(node, placement);
        }
        if let Some(class) = self.node_classes.get(origin).cloned() {
            self.node_classes.set(node, class);
        }
        if let Some(name) = self.net_outs.get(origin).cloned() {
            self.net_outs.set(node, name);
        }
        if let Some(contradiction) = self.contradictions.get(origin).cloned() {
            self.contradictions.set(node, contradiction);
        }
    }

    /// Notes that a pass added `node` because of `origin`, which has the same source line.
    pub fn is_made_by(&mut self, node: NodeId, origin: NodeId) {
        self.origins.set(node, origin);
        if let Some(location) = self.locations.get(origin).cloned() {
            self.locations.set(node, location);
        }
    }
}

/// The types of values. Equal types are stored once.
#[derive(Clone, Debug, Default)]
pub struct Types {
    distinct: Vec<ValueType>,
    numbers: Table<ValueId, u32>,
}

impl Types {
    /// The types that the solver found, by id. The solver numbers the graphs as
    /// [`Program::graphs_in`] lists them.
    #[must_use]
    pub fn of(program: &Program, solved: &ValueTypes) -> Self {
        let mut types = Self { distinct: solved.distinct().to_vec(), numbers: Table::default() };
        let mut graphs: Table<GraphId, usize> = Table::default();
        for (number, graph) in program.graphs_in(program.main()).into_iter().enumerate() {
            graphs.set(graph, number);
        }
        for at in 0..program.value_count() {
            let value = ValueId::new(at);
            let graph = graphs.get(program[value].graph);
            let found = graph.and_then(|graph| solved.number_of(*graph, &program[value].name));
            if let Some(found) = found {
                types.numbers.set(value, u32::try_from(found.index()).expect("types have 32-bit numbers"));
            }
        }
        types
    }

    /// The type of a value.
    #[must_use]
    pub fn get(&self, value: ValueId) -> Option<&ValueType> {
        self.numbers.get(value).map(|number| &self.distinct[*number as usize])
    }

    /// The type node of a value, if it is a leaf.
    #[must_use]
    pub fn leaf(&self, value: ValueId) -> Option<&'static TypeNode> {
        self.get(value)?.leaf()
    }

    /// Sets the type of a value.
    pub fn set(&mut self, value: ValueId, ty: ValueType) {
        self.numbers.set(value, u32::try_from(self.distinct.len()).expect("types have 32-bit numbers"));
        self.distinct.push(ty);
    }

    /// Removes the types of values from a position on.
    pub fn truncate(&mut self, values: usize) {
        self.numbers.truncate(values);
    }

    /// Gives a value the type of another.
    pub fn share(&mut self, value: ValueId, other: ValueId) {
        if let Some(number) = self.numbers.get(other).copied() {
            self.numbers.set(value, number);
        }
    }

    /// The distinct types.
    pub(crate) fn distinct(&self) -> &[ValueType] {
        &self.distinct
    }

    /// The position of a value's type among the distinct ones.
    pub(crate) fn number(&self, value: ValueId) -> Option<usize> {
        self.numbers.get(value).map(|number| *number as usize)
    }
}

//! The graph of a checked model as it is shown: plain data, without references to the model or the solve.
//!
//! # The question
//!
//! A model has 100,000 nodes and a screen shows about 100. Which part is drawn, and what represents the
//! rest?
//!
//! Drawing everything and zooming is the usual answer. At the size of a screen, 100,000 nodes in layers are a
//! line of dots. Collapsing by the names of nodes (`/encoder/layer.0/...`) needs an exporter that writes
//! scopes into names, as PyTorch's does: other models have no scopes, or one scope with 50,000 nodes.
//!
//! Here the nodes form a tree in which every group has at most [`MAX_CHILDREN`] children, with or without
//! scopes, so each picture is small:
//!
//! ```text
//! names                         groups
//! /encoder/layer.0/MatMul       encoder
//! /encoder/layer.0/Add            layer.0   MatMul Add
//! /encoder/layer.1/MatMul         layer.1   MatMul Add
//! /encoder/layer.1/Add
//! /head/MatMul                  MatMul      the group `head` would have one child
//! ```
//!
//! # Contents
//!
//! - A [`Node`] is a node of the model, with its operator, name, attributes as short texts, source line and
//!   ports. Initializers and `Constant` nodes are no nodes: they are [stored](Maker::Stored) values, listed
//!   at the nodes that read them.
//! - A [`Value`] has its solved type in the symbols of the model, how far it is proven, and the port that
//!   makes it. A [`Type`] is text with shapes, and a shape is a list of [`Extent`]s, which have ids. An edge is a read of a value by a node: [`Node::inputs`] and [`Node::captures`], the values
//!   that nested graphs read from outside.
//! - [`Group`]s are trees: one for the model's graph, one for each nested graph and one for each called
//!   function. A node refers to its nested graphs and to the function that it calls, so a function has one
//!   group for all its calls.
//! - [`Mark`]s attach diagnostics to nodes and values.
//! - [`Target`]s have verdicts about the model, and the places where its nodes run.
//!
//! # Groups
//!
//! The scope of a node is that of its exporter (see `scopes`), or else the part of its name before the last
//! `/`. The groups of one graph are built in four steps, each in linear time:
//!
//! 1. The scopes form a tree of prefixes, cut at [`MAX_SCOPES`] levels.
//! 2. A group with one child is replaced by the child; if that is a group, it gets both labels.
//! 3. A group with more than [`MAX_CHILDREN`] children is split into consecutive parts of nearly equal size,
//!    in the order of the nodes in the file, and the parts again, until each group has at most
//!    [`MAX_CHILDREN`] children. So 100,000 nodes without scopes become 3 parts of about 167 parts of 200
//!    nodes.
//! 4. Groups and nodes are numbered in pre-order.
//!
//! # Invariants
//!
//! - Every node is a child of exactly one group, and every group except the roots of graphs is a child of
//!   exactly one.
//! - The nodes below a group, without those of nested graphs and functions, are [`Group::nodes`], a
//!   contiguous range.
//! - `value.maker` is a port of a node that lists the value, and [`Scene::readers`] lists a node once for
//!   each value that it reads.
//! - The size of a scene and the time to build it are linear in the model. Nothing recurses.

mod about;
mod attributes;
mod build;
mod cause;
mod change;
pub(crate) mod derive;
mod ids;
mod marks;
mod message;
mod scopes;
mod solved;
mod target;
pub(crate) mod tree;
mod types;
mod union;

use std::ops::Range;

use typeloom_solver::diagnostic::{Severity, SourceLine};

use crate::map::Set;

pub use about::{About, MAX_REPORTS, Sizes, Symbol};
pub use build::scene;
pub use cause::Cause;
pub use change::{Change, ChangeCounts, ChangedItem, Comparison, ListedChange, Subject};
pub use ids::{ExtentId, GroupId, MarkId, NodeId, OperatorId, PreviewId, RuleId, TypeId, ValueId};
pub use message::{Excerpt, ExcerptLabel, ExcerptLine, Message};
pub use target::{Assignment, PlacedNode, Target, Verdict};
pub use types::{Extent, Form, MAX_ELEMENTS, MAX_EXTENT, Preview, Type};
pub use union::{compare, union};

/// Maximum number of children of a group.
pub const MAX_CHILDREN: usize = 200;

/// Maximum depth of scopes; nodes of deeper ones are in the group at this depth.
pub const MAX_SCOPES: usize = 32;

/// The graph of a checked model as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scene {
    /// Facts about the model as a whole.
    pub about: About,
    /// The operators of nodes, each once.
    pub operators: Vec<Operator>,
    /// The extents of types and the elements that shapes come from, each once.
    pub extents: Vec<Extent>,
    /// The types of values, each once.
    pub types: Vec<Type>,
    /// The elements of small tensors, each list once.
    pub previews: Vec<Preview>,
    /// The names of rules in causes, each once.
    pub rules: Vec<String>,
    /// The nodes, group by group.
    pub nodes: Vec<Node>,
    /// The values.
    pub values: Vec<Value>,
    /// The groups; the first is the model's graph.
    pub groups: Vec<Group>,
    /// The groups of called functions.
    pub functions: Vec<GroupId>,
    /// The diagnostics, in the order in which they were given.
    pub marks: Vec<Mark>,
    /// The list of changes, if the scene shows two models.
    pub comparison: Option<Comparison>,
    /// The targets; empty if the scene shows two models.
    pub targets: Vec<Target>,
    /// The position in `readers` of the first reader of each value, and the number of all.
    first_reader: Vec<u32>,
    readers: Vec<NodeId>,
    /// The texts of the types and of the small tensors.
    type_texts: Vec<String>,
    preview_texts: Vec<String>,
}

/// An operator of a domain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Operator {
    /// The domain; empty for ONNX's own.
    pub domain: String,
    /// The name.
    pub name: String,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The operator.
    pub operator: OperatorId,
    /// The name; may be empty.
    pub name: String,
    /// The position in its graph.
    pub position: u32,
    /// The group that lists the node.
    pub group: GroupId,
    /// The position in the list of the group.
    pub slot: u32,
    /// The attributes without nested graphs.
    pub attributes: Vec<Attribute>,
    /// The inputs; `None` if an optional one is omitted.
    pub inputs: Vec<Option<ValueId>>,
    /// The outputs; `None` if an optional one is omitted.
    pub outputs: Vec<Option<ValueId>>,
    /// The values of surrounding graphs that its nested graphs read, without stored ones.
    pub captures: Vec<ValueId>,
    /// The nested graphs.
    pub bodies: Vec<GroupId>,
    /// The called function, if its types were kept.
    pub callee: Option<GroupId>,
    /// The line of the author's program, if the exporter recorded it.
    pub source: Option<Box<SourceLine>>,
    /// The diagnostics of the node.
    pub marks: Vec<MarkId>,
    /// The change of the node; that of its types and nested graphs is not included.
    pub change: Change,
    /// The differences of a changed or renamed node, one text for each.
    pub differences: Vec<String>,
    /// The removed values that the node read in the old model.
    pub old_reads: Vec<ValueId>,
}

/// An attribute as short text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// The name.
    pub name: String,
    /// The value, shortened.
    pub text: String,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The name.
    pub name: String,
    /// The type.
    pub ty: TypeId,
    /// The evidence for the type.
    pub evidence: Evidence,
    /// The root group of the graph that defines the value.
    pub graph: GroupId,
    /// The definition.
    pub maker: Maker,
    /// Whether the value is an output of its graph.
    pub is_output: bool,
    /// The elements of a small tensor, if they are known.
    pub preview: Option<PreviewId>,
    /// The cause of the element type, if it was recorded.
    pub cause: Option<Cause>,
    /// The diagnostics of the value.
    pub marks: Vec<MarkId>,
    /// The change of the value. It is changed if its type or its evidence is, or its name as an input or
    /// output of the model.
    pub change: Change,
    /// The type in the old model, if it is another.
    pub old_type: Option<TypeId>,
    /// The name in the old model, if it is another.
    pub old_name: Option<String>,
}

/// The evidence for the type of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Evidence {
    /// The type is proven.
    Proven,
    /// Part of the type depends on an assumed declaration.
    Assumed,
    /// Part of the type is unknown or in error.
    Incomplete,
}

/// The definition of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Maker {
    /// An input of its graph or function.
    Input,
    /// A tensor in the file: an initializer or a `Constant` node.
    Stored,
    /// An output of a node.
    Node {
        /// The node.
        node: NodeId,
        /// The position of the output.
        output: u32,
    },
    /// Undefined.
    Undefined,
}

/// A group of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The kind.
    pub kind: GroupKind,
    /// The label; empty for the model's graph.
    pub label: String,
    /// The group around it: the one that lists it, or for a nested graph the one with its node.
    pub parent: Option<GroupId>,
    /// The position in the list of the parent; 0 for the root of a graph.
    pub slot: u32,
    /// The number of groups around it in the same graph.
    pub depth: u32,
    /// The children, in the order of the file.
    pub children: Vec<Child>,
    /// The nodes of the same graph below the group.
    pub nodes: Range<u32>,
    /// The number of nodes below the group, including nested graphs.
    pub total: usize,
    /// The inputs of a graph, in order; empty for a scope or part.
    pub inputs: Vec<ValueId>,
    /// The outputs of a graph, in order; empty for a scope or part.
    pub outputs: Vec<ValueId>,
    /// The number of errors below the group.
    pub errors: usize,
    /// The number of warnings below the group.
    pub warnings: usize,
    /// The numbers of changes below the group.
    pub changes: ChangeCounts,
}

/// The kinds of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupKind {
    /// The graph of the model.
    Main,
    /// A function of the model.
    Function,
    /// A graph in an attribute of a node.
    Body {
        /// The node.
        node: NodeId,
    },
    /// A scope of the exporter, or a prefix of names.
    Scope {
        /// The class of the module; empty if unknown.
        class: String,
    },
    /// Consecutive children of a large group.
    Part,
}

impl GroupKind {
    /// Whether the group is the root of a graph or function.
    #[must_use]
    pub fn is_root(&self) -> bool {
        match self {
            Self::Main | Self::Function | Self::Body { .. } => true,
            Self::Scope { .. } | Self::Part => false,
        }
    }

    /// The node of a nested graph.
    #[must_use]
    pub fn owner(&self) -> Option<NodeId> {
        match self {
            Self::Body { node } => Some(*node),
            Self::Main | Self::Function | Self::Scope { .. } | Self::Part => None,
        }
    }
}

/// A child of a group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Child {
    /// A node.
    Node(NodeId),
    /// A group.
    Group(GroupId),
}

/// A diagnostic of the scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The name of the code.
    pub code: &'static str,
    /// The severity.
    pub severity: Severity,
    /// The message.
    pub message: String,
    /// The rendered message, without colours; set by the caller, empty if there is none.
    pub report: String,
    /// The parts of the rendered message; empty beyond the first [`MAX_REPORTS`] diagnostics.
    pub parts: Message,
    /// The nodes that it concerns.
    pub nodes: Vec<NodeId>,
    /// The values that it concerns: those with a problem of their declaration, and the operands that its
    /// report points at.
    pub values: Vec<ValueId>,
}

impl Mark {
    /// Whether the model cannot be used as it is.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// A set of values that is small for most nodes.
#[derive(Default)]
struct Seen {
    few: Vec<ValueId>,
    many: Set<ValueId>,
}

impl Seen {
    /// The number of values that are compared one by one.
    const FEW: usize = 8;

    /// Adds a value; returns whether it is new.
    fn insert(&mut self, value: ValueId) -> bool {
        if self.few.contains(&value) {
            return false;
        }
        if self.few.len() < Self::FEW {
            self.few.push(value);
            return true;
        }
        self.many.insert(value)
    }
}

impl Scene {
    /// The group of the model's graph.
    #[must_use]
    pub fn main(&self) -> GroupId {
        GroupId::new(0)
    }

    /// A node.
    #[must_use]
    pub fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node.index()]
    }

    /// A value.
    #[must_use]
    pub fn value(&self, value: ValueId) -> &Value {
        &self.values[value.index()]
    }

    /// A group.
    #[must_use]
    pub fn group(&self, group: GroupId) -> &Group {
        &self.groups[group.index()]
    }

    /// The operator of a node.
    #[must_use]
    pub fn operator(&self, node: NodeId) -> &Operator {
        &self.operators[self.node(node).operator.index()]
    }

    /// A diagnostic.
    #[must_use]
    pub fn mark(&self, mark: MarkId) -> &Mark {
        &self.marks[mark.index()]
    }

    /// The nodes that read a value, in their order, each once.
    #[must_use]
    pub fn readers(&self, value: ValueId) -> &[NodeId] {
        let at = value.index();
        match (self.first_reader.get(at), self.first_reader.get(at + 1)) {
            (Some(from), Some(to)) => &self.readers[*from as usize..*to as usize],
            (Some(_) | None, Some(_) | None) => &[],
        }
    }

    /// The values that a node reads and that are drawn as edges: its inputs and captures without stored ones,
    /// and the removed ones that it read in an old model, each once.
    pub fn reads(&self, node: NodeId) -> impl Iterator<Item = ValueId> + '_ {
        let node = self.node(node);
        let mut seen = Seen::default();
        let inputs = node.inputs.iter().flatten().chain(&node.captures).chain(&node.old_reads).copied();
        inputs.filter(move |value| self.value(*value).maker != Maker::Stored && seen.insert(*value))
    }

    /// The stored values that a node reads, with the positions of the inputs.
    pub fn weights(&self, node: NodeId) -> impl Iterator<Item = (usize, ValueId)> + '_ {
        let inputs = self.node(node).inputs.iter().enumerate();
        let inputs = inputs.filter_map(|(at, value)| Some((at, (*value)?)));
        inputs.filter(|(_, value)| self.value(*value).maker == Maker::Stored)
    }

    /// The root of the graph of a group.
    #[must_use]
    pub fn root_of(&self, group: GroupId) -> GroupId {
        let mut at = group;
        while !self.group(at).kind.is_root()
            && let Some(parent) = self.group(at).parent
        {
            at = parent;
        }
        at
    }
}

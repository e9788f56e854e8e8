//! Where a problem is, in the model's own terms.

use std::fmt;

use super::{clip, quote};
use crate::program::{Body, GraphId};

/// The longest path that is shown whole, in characters.
const MAX_CHARS: usize = 160;

/// Where a problem is. Every part may be missing; the empty place is the model as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// The function, with its domain, if it is not the model's graph.
    pub function: Option<String>,
    /// The way to a nested graph: node position, operator, attribute (`/3:If.then_branch`).
    pub graph: String,
    /// The node.
    pub node: Option<NodeLocation>,
    /// The value, where the problem is about one.
    pub value: Option<ValueLocation>,
    /// The byte of the file.
    pub offset: Option<usize>,
}

/// A node, by position and names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeLocation {
    /// The node's position in its graph, from 0.
    pub index: usize,
    /// Its name; may be empty.
    pub name: String,
    /// Its operator.
    pub operator: String,
}

/// A value, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueLocation {
    /// Its name.
    pub name: String,
    /// What it is in its graph.
    pub role: Role,
}

/// What a value is in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An input of the graph or function.
    Input,
    /// A constant of the graph.
    Initializer,
    /// A promised output.
    Output,
    /// Anything else.
    Value,
}

impl Role {
    /// The role as a noun.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "graph input",
            Self::Initializer => "initializer",
            Self::Output => "graph output",
            Self::Value => "value",
        }
    }
}

impl fmt::Display for NodeLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.is_empty() {
            write!(f, "node #{} ({})", self.index, quote(&self.operator))
        } else {
            write!(f, "node {} (#{})", quote(&self.name), self.index)
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { function, graph, node, value, offset } = self;
        let mut parts = Vec::new();
        match (node, value) {
            (Some(node), _) => parts.push(node.to_string()),
            (None, Some(value)) => parts.push(format!("{} {}", value.role.name(), quote(&value.name))),
            (None, None) => {}
        }
        if let Some(offset) = offset {
            parts.push(format!("byte {offset}"));
        }
        if !graph.is_empty() {
            parts.push(format!("in {}", clip(graph, MAX_CHARS)));
        }
        if let Some(function) = function {
            parts.push(format!("in function {}", quote(function)));
        }
        f.write_str(&parts.join(" "))
    }
}

/// The way to a nested graph (`/3:If.then_branch`); empty for the outermost.
#[must_use]
pub fn graph_path(body: &Body<'_>, graph: GraphId) -> String {
    let mut parts = Vec::new();
    let mut at = graph;
    while let Some(owner) = body.graph(at).owner {
        let step = body.step(owner.step);
        let index = owner.position.map(|index| format!("[{index}]")).unwrap_or_default();
        parts.push(format!("/{}:{}.{}{index}", step.position, body.op_name(owner.step), owner.attribute));
        at = step.graph;
    }
    parts.reverse();
    parts.concat()
}

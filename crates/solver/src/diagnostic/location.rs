//! Locations of problems, in terms of the model.

use std::fmt;

use serde::{Serialize, Serializer};

use super::{clip, quote};
use crate::program::{Body, GraphId};

/// Maximum length of a displayed path, in characters.
const MAX_CHARS: usize = 160;

/// The location of a problem. Every part may be missing; the empty location is the model as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Location {
    /// The function, with its domain; `None` for the model's graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The graph; the outermost one if the path is empty.
    pub graph: GraphPath,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeLocation>,
    /// The value, if the problem is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<ValueLocation>,
    /// Byte offset in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<usize>,
    /// The names of the values, attributes or symbols that a problem at this location concerns, in order of
    /// importance.
    #[serde(skip)]
    pub subjects: Vec<String>,
}

/// The nodes that own a nested graph, from the outermost graph inwards. It is displayed as
/// `/3:If.then_branch`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphPath(pub Vec<GraphPathStep>);

impl GraphPath {
    /// Whether it is the path of the outermost graph.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// One step of a path: a nested graph in an attribute of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphPathStep {
    /// The node's position in its graph.
    pub node: usize,
    /// The node's operator.
    pub operator: String,
    /// The attribute that holds the graph.
    pub attribute: String,
    /// The position in an attribute that holds several graphs.
    pub index: Option<usize>,
}

impl fmt::Display for GraphPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for GraphPathStep { node, operator, attribute, index } in &self.0 {
            write!(f, "/{node}:{operator}.{attribute}")?;
            if let Some(index) = index {
                write!(f, "[{index}]")?;
            }
        }
        Ok(())
    }
}

/// A node, by position and names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeLocation {
    /// The node's position in its graph, from 0.
    pub index: usize,
    /// May be empty.
    pub name: String,
    pub operator: String,
    /// The first named output, which identifies a node without a name.
    #[serde(skip)]
    pub output: Option<String>,
}

/// A value, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ValueLocation {
    pub name: String,
    pub role: Role,
}

/// The role of a value in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// An input of the graph or function.
    Input,
    /// A constant of the graph.
    Initializer,
    /// An output of the graph.
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

impl Serialize for GraphPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
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
        let Self { function, graph, node, value, offset, subjects: _ } = self;
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
            parts.push(format!("in {}", clip(&graph.to_string(), MAX_CHARS)));
        }
        if let Some(function) = function {
            parts.push(format!("in function {}", quote(function)));
        }
        f.write_str(&parts.join(" "))
    }
}

/// The path from the outermost graph of a body to a nested graph.
#[must_use]
pub fn graph_path(body: &Body<'_>, graph: GraphId) -> GraphPath {
    let mut path = Vec::new();
    let mut at = graph;
    while let Some(owner) = body.graph(at).owner {
        let step = body.step(owner.step);
        path.push(GraphPathStep {
            node: step.position as usize,
            operator: body.op_name(owner.step).to_owned(),
            attribute: owner.attribute.to_owned(),
            index: owner.position.map(|at| at as usize),
        });
        at = step.graph;
    }
    path.reverse();
    GraphPath(path)
}

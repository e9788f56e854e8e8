//! Spans of a printed text.
//!
//! The tables of spans mirror the printed message: the spans of a graph contain those of its nodes in order,
//! and those of a node contain one span per input, output and attribute by position. A diagnostic about a
//! port can thus underline it.
//!
//! **Invariant:** every element has a span. The span of an elided element is that of the ellipsis. Spans
//! start and end at character boundaries.

use std::ops::Range;

/// A range of bytes in a printed text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset of the end.
    pub end: usize,
}

impl Span {
    /// The bytes as a range.
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }

    /// The covered part of `text`; empty if the span belongs to another text.
    pub fn of(self, text: &str) -> &str {
        text.get(self.range()).unwrap_or_default()
    }

    /// Length in bytes.
    pub fn len(self) -> usize {
        self.end - self.start
    }

    /// Whether the span covers no bytes.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// The spans of a printed model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelSpans {
    /// The operator set imports.
    pub opset_imports: Vec<Span>,
    /// The main graph.
    pub graph: GraphSpans,
    /// The functions in order.
    pub functions: Vec<FunctionSpans>,
}

/// The spans of a printed graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphSpans {
    /// The whole graph.
    pub span: Span,
    pub name: Span,
    pub inputs: Vec<ValueSpans>,
    pub outputs: Vec<ValueSpans>,
    pub initializers: Vec<ValueSpans>,
    pub sparse_initializers: Vec<ValueSpans>,
    /// The types of other values.
    pub value_infos: Vec<ValueSpans>,
    pub nodes: Vec<NodeSpans>,
}

/// The spans of a printed function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionSpans {
    /// The whole function.
    pub span: Span,
    pub name: Span,
    /// The names of the inputs.
    pub inputs: Vec<Span>,
    /// The names of the outputs.
    pub outputs: Vec<Span>,
    /// Attributes without a default.
    pub attributes: Vec<Span>,
    /// Attributes with a default.
    pub defaults: Vec<AttributeSpans>,
    /// The types of values, wherever they are printed.
    pub value_infos: Vec<ValueSpans>,
    pub nodes: Vec<NodeSpans>,
}

/// The spans of the declaration of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValueSpans {
    /// The whole declaration including data.
    pub span: Span,
    /// The declared type, if any.
    pub ty: Option<Span>,
    pub name: Span,
}

/// The spans of a printed node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSpans {
    /// The whole node without indentation.
    pub span: Span,
    /// The node's name, if it is printed.
    pub name: Option<Span>,
    /// The operator with domain and overload.
    pub operator: Span,
    pub inputs: Vec<Span>,
    pub outputs: Vec<Span>,
    pub attributes: Vec<AttributeSpans>,
}

/// The spans of a printed attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttributeSpans {
    /// The unquoted name of the attribute.
    pub key: Box<str>,
    /// The whole attribute.
    pub span: Span,
    pub name: Span,
    pub value: Span,
    /// The graphs in the value; none if they are elided.
    pub graphs: Vec<GraphSpans>,
}

/// One step of a path into nested graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SubgraphStep {
    /// The position of the node with the nested graph.
    pub node: usize,
    /// The position of the attribute.
    pub attribute: usize,
    /// The position of the graph in the attribute; 0 unless the attribute is a list.
    pub graph: usize,
}

impl NodeSpans {
    /// The input at this position.
    pub fn input(&self, index: usize) -> Option<Span> {
        self.inputs.get(index).copied()
    }

    /// The output at this position.
    pub fn output(&self, index: usize) -> Option<Span> {
        self.outputs.get(index).copied()
    }

    /// The attribute with this name; the first one if a malformed node has several.
    pub fn attribute(&self, name: &str) -> Option<&AttributeSpans> {
        self.attributes.iter().find(|attribute| &*attribute.key == name)
    }
}

impl GraphSpans {
    /// The node at this position.
    pub fn node(&self, index: usize) -> Option<&NodeSpans> {
        self.nodes.get(index)
    }

    /// The nested graph at the end of a path; `None` if it does not exist or is elided.
    pub fn subgraph(&self, path: &[SubgraphStep]) -> Option<&GraphSpans> {
        path.iter().try_fold(self, |graph, step| {
            graph.nodes.get(step.node)?.attributes.get(step.attribute)?.graphs.get(step.graph)
        })
    }
}

impl ModelSpans {
    /// The node at this position of the main graph.
    pub fn node(&self, index: usize) -> Option<&NodeSpans> {
        self.graph.node(index)
    }
}

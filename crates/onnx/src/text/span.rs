//! Where things stand in a printed text.
//!
//! A span table has the shape of what was printed: the spans of a graph hold those of its nodes, in order, and those
//! of a node hold one span for every input, output and attribute, by position. So whoever knows a node and a port by
//! number can underline it.
//!
//! **Invariant:** every element has a span, also where the printer elided it; an elided element has the span of the
//! ellipsis that stands for it. Spans lie on character boundaries of the text.

use std::ops::Range;

/// A range of bytes in a printed text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The bytes as a range.
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }

    /// The part of `text` that the span covers, or nothing where the span is not of this text.
    pub fn of(self, text: &str) -> &str {
        text.get(self.range()).unwrap_or_default()
    }

    /// How many bytes it covers.
    pub fn len(self) -> usize {
        self.end - self.start
    }

    /// Whether it covers nothing.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// The spans of a printed model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelSpans {
    /// One per opset import.
    pub opset_imports: Vec<Span>,
    /// The main graph.
    pub graph: GraphSpans,
    /// The functions, in order.
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
    /// The names of its inputs.
    pub inputs: Vec<Span>,
    /// The names of its outputs.
    pub outputs: Vec<Span>,
    /// The attributes without a default.
    pub attributes: Vec<Span>,
    /// The attributes with a default.
    pub defaults: Vec<AttributeSpans>,
    /// The types of its values, wherever they are printed.
    pub value_infos: Vec<ValueSpans>,
    pub nodes: Vec<NodeSpans>,
}

/// The spans of a value where it is declared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValueSpans {
    /// The whole declaration, data included.
    pub span: Span,
    /// The type, where one is declared.
    pub ty: Option<Span>,
    pub name: Span,
}

/// The spans of a printed node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSpans {
    /// The whole node, without indentation.
    pub span: Span,
    /// The node's name, where it is printed.
    pub name: Option<Span>,
    /// The operator, with its domain and overload.
    pub operator: Span,
    pub inputs: Vec<Span>,
    pub outputs: Vec<Span>,
    pub attributes: Vec<AttributeSpans>,
}

/// The spans of a printed attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttributeSpans {
    /// The attribute's name (as it is, not as it is printed).
    pub key: Box<str>,
    /// The whole attribute.
    pub span: Span,
    pub name: Span,
    pub value: Span,
    /// The graphs in the value; none where they are elided.
    pub graphs: Vec<GraphSpans>,
}

/// One step of a path to a node inside subgraphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The node that holds the subgraph.
    pub node: usize,
    /// The position of the attribute in that node.
    pub attribute: usize,
    /// The position of the graph in that attribute; 0 unless it holds several.
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

    /// The attribute with this name (the first one, where a malformed node has several).
    pub fn attribute(&self, name: &str) -> Option<&AttributeSpans> {
        self.attributes.iter().find(|attribute| &*attribute.key == name)
    }
}

impl GraphSpans {
    /// The node at this position.
    pub fn node(&self, index: usize) -> Option<&NodeSpans> {
        self.nodes.get(index)
    }

    /// The graph that a path of subgraphs leads to; `None` where the path does not exist or is elided.
    pub fn subgraph(&self, path: &[Step]) -> Option<&GraphSpans> {
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

//! The bodies of a model, the main graph and the functions, as trees of graphs over the bytes of the file.
//!
//! **Invariant:** the graphs of a body are numbered in pre-order, in the order of nodes and attributes, from
//! 0 for the outermost. The solver numbers the graphs of a body in the same order, so both use [`GraphId`].

use std::collections::HashMap;

use typeloom_onnx::DecodeError;
use typeloom_onnx::view::{FunctionView, GraphView, ModelView, NodeView, ValueInfoView};
use typeloom_onnx::wire::{Field, Fields, WireValue};
use typeloom_solver::diagnostic::{GraphPath, GraphPathStep};
use typeloom_solver::program::{Body, BodySource, GraphId};

use super::graph_text;
use crate::fields::{
    FUNCTION_NODE, FUNCTION_VALUE_INFO, GRAPH_INPUT, GRAPH_NODE, GRAPH_OUTPUT, GRAPH_VALUE_INFO,
};
use crate::ids::ids;
use crate::names::Names;

ids! {
    /// The main graph or a function of a model.
    BodyId
}

impl BodyId {
    pub(crate) const MAIN: Self = Self(0);

    pub(crate) fn of_function(position: usize) -> Self {
        Self::new(position + 1)
    }
}

/// A node of a body.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct NodeId {
    pub(crate) graph: GraphId,
    pub(crate) position: usize,
}

/// A use of a value in a body: an input of a node, or an output of a graph where `node` is `None`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Site {
    pub(crate) graph: GraphId,
    /// The position of the node.
    pub(crate) node: Option<usize>,
    /// The position of the input or output.
    pub(crate) port: usize,
}

impl Site {
    pub(crate) fn node(self) -> Option<NodeId> {
        Some(NodeId { graph: self.graph, position: self.node? })
    }
}

/// The graphs of one body.
pub(crate) struct Layout<'a> {
    /// The name of the function; empty for the main graph.
    pub(crate) name: &'a str,
    graphs: Vec<GraphLayout<'a>>,
    /// The graphs of each node that has some.
    nested: HashMap<NodeId, Vec<GraphId>>,
}

/// One graph of a body.
pub(crate) struct GraphLayout<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) nodes: Vec<NodeView<'a>>,
    /// The records of the nodes.
    pub(crate) records: Vec<Field<'a>>,
    parent: Option<Parent<'a>>,
}

/// The message that contains the nodes of a graph.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    Graph(GraphView<'a>),
    Function(FunctionView<'a>),
}

/// The attribute that contains a nested graph.
#[derive(Clone, Copy)]
struct Parent<'a> {
    node: NodeId,
    attribute: &'a str,
    /// The position in an attribute with a list of graphs.
    index: Option<usize>,
}

impl<'a> Source<'a> {
    /// The messages of a body: that of the function, if it is one, and those of all graphs.
    pub(crate) fn of_body(body: &Body<'a>) -> Result<Vec<(GraphId, Self)>, DecodeError> {
        let own = match body.source() {
            BodySource::Function(view) => Some((body.root(), Self::Function(view))),
            BodySource::Main(_) => None,
        };
        let graphs = body.graph_views()?.into_iter().map(|(graph, view)| (graph, Self::Graph(view)));
        Ok(own.into_iter().chain(graphs).collect())
    }

    pub(crate) fn fields(&self) -> Fields<'a> {
        match self {
            Self::Graph(view) => view.wire_fields(),
            Self::Function(view) => view.wire_fields(),
        }
    }

    pub(crate) fn offset(&self) -> usize {
        match self {
            Self::Graph(view) => view.offset(),
            Self::Function(view) => view.offset(),
        }
    }

    /// The number of the field that contains the nodes.
    pub(crate) fn node_field(&self) -> u32 {
        match self {
            Self::Graph(_) => GRAPH_NODE,
            Self::Function(_) => FUNCTION_NODE,
        }
    }

    /// The number of the field that contains the types of values that are neither inputs nor outputs.
    pub(crate) fn value_info_field(&self) -> u32 {
        match self {
            Self::Graph(_) => GRAPH_VALUE_INFO,
            Self::Function(_) => FUNCTION_VALUE_INFO,
        }
    }

    /// The declaration of a value in a record.
    pub(crate) fn declaration(&self, record: &Field<'a>) -> Option<ValueInfoView<'a>> {
        let is_declaration = match self {
            Self::Graph(_) => matches!(record.number, GRAPH_INPUT | GRAPH_OUTPUT | GRAPH_VALUE_INFO),
            Self::Function(_) => record.number == FUNCTION_VALUE_INFO,
        };
        match record.value {
            WireValue::Len(bytes, offset) if is_declaration => Some(ValueInfoView::from_body(bytes, offset)),
            _ => None,
        }
    }

    /// The declarations of values with their records, in the order of the file.
    pub(crate) fn declarations(&self) -> Result<Vec<(Field<'a>, ValueInfoView<'a>)>, DecodeError> {
        self.declarations_in(self.fields())
    }

    /// The declarations in a part of the fields.
    pub(crate) fn declarations_in(
        &self,
        mut fields: Fields<'a>,
    ) -> Result<Vec<(Field<'a>, ValueInfoView<'a>)>, DecodeError> {
        let mut found = Vec::with_capacity(4);
        let nodes = self.node_field();
        loop {
            // Most records are nodes.
            let mut next = fields;
            while let Some((number, _)) = next.next_bytes()
                && number == nodes
            {
                fields = next;
            }
            let Some(record) = fields.next() else { return Ok(found) };
            let record = record?;
            found.extend(self.declaration(&record).map(|info| (record, info)));
        }
    }
}

impl<'a> Layout<'a> {
    /// The layouts of the main graph and of every function, by [`BodyId`].
    pub(crate) fn of_model(model: &ModelView<'a>) -> Result<Vec<Self>, DecodeError> {
        let Some(graph) = model.graph() else { return Ok(Vec::new()) };
        let mut layouts = vec![Self::of_body(Source::Graph(graph), "")?];
        for function in model.functions() {
            layouts.push(Self::of_function(function?)?);
        }
        Ok(layouts)
    }

    pub(crate) fn of_function(function: FunctionView<'a>) -> Result<Self, DecodeError> {
        Self::of_body(Source::Function(function), function.name()?)
    }

    fn of_body(source: Source<'a>, name: &'a str) -> Result<Self, DecodeError> {
        let mut layout = Self { name, graphs: Vec::new(), nested: HashMap::new() };
        let mut open = vec![(source, None::<Parent<'a>>)];
        while let Some((source, parent)) = open.pop() {
            let id = GraphId::new(layout.graphs.len());
            if let Some(parent) = parent {
                layout.nested.entry(parent.node).or_default().push(id);
            }
            let (mut nodes, mut records, mut inner) = (Vec::new(), Vec::new(), Vec::new());
            for field in source.fields() {
                let field = field?;
                let WireValue::Len(bytes, offset) = field.value else { continue };
                if field.number != source.node_field() {
                    continue;
                }
                let node = NodeView::from_body(bytes, offset);
                let node_id = NodeId { graph: id, position: nodes.len() };
                nodes.push(node);
                records.push(field);
                for attribute in node.attributes() {
                    let attribute = attribute?.parse()?;
                    let parent = |index| Some(Parent { node: node_id, attribute: attribute.name, index });
                    inner.extend(attribute.g.map(|graph| (Source::Graph(graph), parent(None))));
                    for (index, graph) in attribute.graphs().enumerate() {
                        inner.push((Source::Graph(graph?), parent(Some(index))));
                    }
                }
            }
            layout.graphs.push(GraphLayout { source, nodes, records, parent });
            open.extend(inner.into_iter().rev());
        }
        Ok(layout)
    }

    /// The message of the outermost graph.
    pub(crate) fn source(&self) -> Source<'a> {
        self.graphs[0].source
    }

    pub(crate) fn graph(&self, id: GraphId) -> Option<&GraphLayout<'a>> {
        self.graphs.get(id.index())
    }

    /// The graphs with their ids, in pre-order.
    pub(crate) fn graphs(&self) -> impl Iterator<Item = (GraphId, &GraphLayout<'a>)> {
        self.graphs.iter().enumerate().map(|(at, graph)| (GraphId::new(at), graph))
    }

    pub(crate) fn node(&self, node: NodeId) -> Option<NodeView<'a>> {
        self.graph(node.graph)?.nodes.get(node.position).copied()
    }

    pub(crate) fn operator(&self, node: NodeId) -> &'a str {
        self.node(node).and_then(|view| view.op_type().ok()).unwrap_or_default()
    }

    /// The graph at position `nth` among those nested in a node.
    pub(crate) fn nested(&self, node: NodeId, nth: usize) -> Option<GraphId> {
        self.nested.get(&node)?.get(nth).copied()
    }

    /// The graphs nested directly in a node.
    pub(crate) fn all_nested(&self, node: NodeId) -> impl Iterator<Item = GraphId> {
        self.nested.get(&node).into_iter().flatten().copied()
    }

    /// The graph around a nested graph.
    pub(crate) fn outer(&self, graph: GraphId) -> Option<GraphId> {
        Some(self.graph(graph)?.parent?.node.graph)
    }

    /// The position in `graph` of the node that contains a use, directly or in a nested graph; `None` for
    /// outputs of `graph` and for uses outside.
    pub(crate) fn position_in(&self, graph: GraphId, site: Site) -> Option<usize> {
        let mut node = match site.node() {
            Some(node) => node,
            None if site.graph == graph => return None,
            None => self.graph(site.graph)?.parent?.node,
        };
        while node.graph != graph {
            node = self.graph(node.graph)?.parent?.node;
        }
        Some(node.position)
    }

    /// Whether the body is a function.
    pub(crate) fn is_function(&self) -> bool {
        matches!(self.source(), Source::Function(_))
    }

    pub(crate) fn path(&self, graph: GraphId) -> GraphPath {
        let mut steps = Vec::new();
        let mut at = graph;
        while let Some(Parent { node, attribute, index }) = self.graph(at).and_then(|graph| graph.parent) {
            let (operator, attribute) = (self.operator(node).to_owned(), attribute.to_owned());
            steps.push(GraphPathStep { node: node.position, operator, attribute, index });
            at = node.graph;
        }
        steps.reverse();
        GraphPath(steps)
    }

    /// A node as diagnostics print it.
    pub(crate) fn describe(&self, node: NodeId) -> String {
        let graph = graph_text(self.is_function().then_some(self.name), &self.path(node.graph));
        let space = if graph.is_empty() { "" } else { " " };
        format!("{graph}{space}node #{}", node.position)
    }

    /// Whether a graph defines a value of this name.
    pub(crate) fn defines(&self, graph: GraphId, name: &str) -> bool {
        let Some(GraphLayout { source, nodes, .. }) = self.graph(graph) else { return false };
        let by_node = nodes.iter().any(|node| node.outputs().flatten().any(|output| output == name));
        by_node
            || match source {
                Source::Function(view) => view.inputs().flatten().any(|input| input == name),
                Source::Graph(view) => {
                    let mut inputs = view.inputs().flatten().filter_map(|info| info.parse().ok());
                    let mut tensors = view.initializers().flatten().filter_map(|it| it.header().ok());
                    inputs.any(|info| info.name == name) || tensors.any(|header| header.name() == name)
                }
            }
    }

    /// Takes the names of all values and nodes.
    pub(crate) fn take_names(&self, names: &mut Names) -> Result<(), DecodeError> {
        for GraphLayout { source, nodes, .. } in &self.graphs {
            for node in nodes {
                names.take(node.name()?);
                for port in node.inputs().chain(node.outputs()) {
                    names.take(port?);
                }
            }
            match source {
                Source::Function(view) => {
                    for port in view.inputs().chain(view.outputs()) {
                        names.take(port?);
                    }
                }
                Source::Graph(view) => {
                    for info in view.inputs().chain(view.outputs()) {
                        names.take(info?.parse()?.name);
                    }
                    for tensor in view.initializers() {
                        names.take(tensor?.header()?.name());
                    }
                    for sparse in view.sparse_initializers() {
                        if let Some(values) = sparse?.parse()?.values {
                            names.take(values.header()?.name());
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

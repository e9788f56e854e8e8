//! The parts of a body that its outputs depend on.
//!
//! **Algorithm:** marking from the outputs of the outermost graph, along inputs and the outputs of nested
//! graphs. Linear in the size of the body, times the depth of nesting.

use std::collections::{HashMap, HashSet};

use typeloom_onnx::DecodeError;
use typeloom_onnx::view::{SparseTensorView, TensorView};
use typeloom_onnx::wire::{Field, WireValue};
use typeloom_solver::program::GraphId;

use crate::coerce::layout::{Layout, NodeId, Source};
use crate::fields::{GRAPH_INITIALIZER, GRAPH_INPUT, GRAPH_SPARSE_INITIALIZER, GRAPH_VALUE_INFO};

/// The changes of a body before its parts are marked.
pub(crate) trait Changes<'l> {
    /// The inputs of a node, if they are not those of the file.
    fn inputs(&self, _node: NodeId) -> Option<Vec<&'l str>> {
        None
    }

    /// Whether the outputs of a node no longer come from it. They are marked, and the node is not.
    fn is_replaced(&self, _node: NodeId) -> bool {
        false
    }

    /// Whether a node stays without a reader.
    fn is_kept(&self, _node: NodeId) -> bool {
        false
    }
}

/// The body of a file as it is.
pub(crate) struct Unchanged;

impl Changes<'_> for Unchanged {}

/// The marked parts of a body.
#[derive(Debug, Default)]
pub(crate) struct Used<'l> {
    pub(crate) graphs: HashSet<GraphId>,
    pub(crate) nodes: HashSet<NodeId>,
    /// Values by the graph that defines them.
    pub(crate) values: HashSet<(GraphId, &'l str)>,
}

/// Marks the parts of a body that are used.
pub(crate) fn used<'l>(layout: &'l Layout<'_>, changes: &dyn Changes<'l>) -> Result<Used<'l>, DecodeError> {
    let mut makers: HashMap<(GraphId, &str), Option<NodeId>> = HashMap::new();
    for (graph, own) in layout.graphs() {
        if let Source::Graph(view) = own.source {
            for input in view.inputs() {
                makers.insert((graph, input?.parse()?.name), None);
            }
            for tensor in view.initializers() {
                makers.insert((graph, tensor?.header()?.name()), None);
            }
            for sparse in view.sparse_initializers() {
                if let Some(values) = sparse?.parse()?.values {
                    makers.insert((graph, values.header()?.name()), None);
                }
            }
        }
        for (position, node) in own.nodes.iter().enumerate() {
            for output in node.outputs() {
                let output = output?;
                if !output.is_empty() {
                    makers.insert((graph, output), Some(NodeId { graph, position }));
                }
            }
        }
    }
    let mut used = Used::default();
    let (mut graphs, mut nodes) = (vec![GraphId::new(0)], Vec::new());
    let mut names: Vec<(GraphId, &str)> = Vec::new();
    loop {
        if let Some((from, name)) = names.pop() {
            let mut scopes = std::iter::successors(Some(from), |graph| layout.outer(*graph));
            let Some(graph) = scopes.find(|graph| makers.contains_key(&(*graph, name))) else { continue };
            if used.values.insert((graph, name))
                && let Some(Some(node)) = makers.get(&(graph, name)).copied()
                && !changes.is_replaced(node)
            {
                nodes.push(node);
            }
        } else if let Some(id) = nodes.pop() {
            let Some(node) = layout.node(id).filter(|_| used.nodes.insert(id)) else { continue };
            match changes.inputs(id) {
                Some(inputs) => names.extend(inputs.into_iter().map(|name| (id.graph, name))),
                None => {
                    for input in node.inputs() {
                        names.push((id.graph, input?));
                    }
                }
            }
            graphs.extend(layout.all_nested(id));
        } else if let Some(id) = graphs.pop() {
            let Some(graph) = layout.graph(id).filter(|_| used.graphs.insert(id)) else { continue };
            match graph.source {
                Source::Graph(view) => {
                    for output in view.outputs() {
                        names.push((id, output?.parse()?.name));
                    }
                }
                Source::Function(view) => {
                    for output in view.outputs() {
                        names.push((id, output?));
                    }
                }
            }
            let own = (0..graph.nodes.len()).map(|position| NodeId { graph: id, position });
            nodes.extend(own.filter(|node| changes.is_kept(*node)));
        } else {
            return Ok(used);
        }
    }
}

/// The records of a graph that define constants which nothing uses, or that declare such values, each with
/// the name. Inputs stay with their defaults, because callers name them.
pub(crate) fn unused_records<'l>(
    source: Source<'l>,
    graph: GraphId,
    used: &Used<'_>,
) -> Result<Vec<(Field<'l>, &'l str)>, DecodeError> {
    let mut inputs: HashSet<&str> = HashSet::new();
    let mut found = Vec::new();
    for (record, info) in source.declarations()? {
        let name = info.parse()?.name;
        if record.number == GRAPH_INPUT {
            inputs.insert(name);
        } else if record.number == GRAPH_VALUE_INFO {
            found.push((record, name));
        }
    }
    if let Source::Graph(_) = source {
        for record in source.fields() {
            let record = record?;
            let name = match (record.number, &record.value) {
                (GRAPH_INITIALIZER, WireValue::Len(bytes, offset)) => {
                    TensorView::from_body(bytes, *offset).header()?.name()
                }
                (GRAPH_SPARSE_INITIALIZER, WireValue::Len(bytes, offset)) => {
                    match SparseTensorView::from_body(bytes, *offset).parse()?.values {
                        Some(values) => values.header()?.name(),
                        None => continue,
                    }
                }
                _ => continue,
            };
            found.push((record, name));
        }
    }
    found.retain(|(_, name)| !inputs.contains(name) && !used.values.contains(&(graph, *name)));
    Ok(found)
}

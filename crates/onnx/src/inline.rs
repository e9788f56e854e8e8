//! The nodes of a function as they stand in the place of a call.

use std::collections::HashMap;

use crate::messages::{AttributeProto, FunctionProto, GraphProto, NodeProto};
use crate::nested;
use prost::Message as _;

/// What a function is called by: domain, name and overload.
pub type Key = (String, String, String);

pub fn key(domain: &str, name: &str, overload: &str) -> Key {
    let domain = if domain == "ai.onnx" { "" } else { domain };
    (domain.to_owned(), name.to_owned(), overload.to_owned())
}

/// A call: what stands for the names and attributes of the function.
pub struct Call {
    /// Names that stand for others.
    names: HashMap<String, String>,
    /// What stands before all other names.
    prefix: String,
    attributes: HashMap<String, AttributeProto>,
    /// The encoded length of each attribute.
    lengths: HashMap<String, usize>,
}

impl Call {
    /// The call of a function by a node.
    pub fn new(
        function: &FunctionProto,
        node: &NodeProto,
        names: HashMap<String, String>,
        prefix: String,
    ) -> Self {
        let mut attributes: HashMap<String, AttributeProto> = HashMap::new();
        let mut lengths: HashMap<String, usize> = HashMap::new();
        for attribute in function.attribute_proto.iter().chain(&node.attribute) {
            attributes.insert(attribute.name().to_owned(), attribute.clone());
            lengths.insert(attribute.name().to_owned(), attribute.encoded_len());
        }
        Self { names, prefix, attributes, lengths }
    }

    /// The number of nodes in [`instance`](Self::instance) of a node, those of nested graphs included, and an upper bound of
    /// its encoded length, up to the lengths of lengths. Nothing is copied.
    pub fn size(&self, node: &NodeProto) -> (usize, usize) {
        let (mut nodes, mut bytes) = (0, node.encoded_len());
        let mut of_node = |node: &NodeProto| {
            nodes += 1;
            let names = node.input.iter().chain(&node.output);
            bytes += names.map(|name| self.length(name)).sum::<usize>() + self.prefix.len();
            let references = node.attribute.iter().filter_map(|it| it.ref_attr_name.as_deref());
            bytes += references.filter_map(|name| self.lengths.get(name)).sum::<usize>();
        };
        of_node(node);
        for graph in nested::graphs(node) {
            nested::each_node(graph, &mut of_node);
        }
        (nodes, bytes)
    }

    /// The length of [`name`](Self::name) of a name.
    fn length(&self, name: &str) -> usize {
        self.names.get(name).map_or(self.prefix.len() + name.len(), String::len)
    }

    /// What a name of the function is called in the place of the call.
    pub fn name(&self, name: &str) -> String {
        match self.names.get(name) {
            Some(actual) => actual.clone(),
            None if name.is_empty() => String::new(),
            None => format!("{}{name}", self.prefix),
        }
    }

    /// A node of the function as it stands in the call.
    pub fn instance(&self, node: &NodeProto) -> NodeProto {
        let mut node = node.clone();
        self.settle(&mut node);
        let mut graphs: Vec<&mut GraphProto> = nested::graphs_mut(&mut node).collect();
        while let Some(graph) = graphs.pop() {
            for info in graph.input.iter_mut().chain(&mut graph.output).chain(&mut graph.value_info) {
                info.name = Some(self.name(info.name()));
            }
            for tensor in &mut graph.initializer {
                tensor.name = Some(self.name(tensor.name()));
            }
            for tensor in graph.sparse_initializer.iter_mut().filter_map(|sparse| sparse.values.as_mut()) {
                tensor.name = Some(self.name(tensor.name()));
            }
            for inner in &mut graph.node {
                self.settle(inner);
                graphs.extend(nested::graphs_mut(inner));
            }
        }
        node
    }

    /// Puts names and the caller's attributes into one node.
    fn settle(&self, node: &mut NodeProto) {
        for name in node.input.iter_mut().chain(&mut node.output) {
            *name = self.name(name);
        }
        if node.name.is_some() {
            node.name = Some(format!("{}{}", self.prefix, node.name()));
        }
        node.attribute.retain_mut(|attribute| {
            let Some(outer) = attribute.ref_attr_name.as_deref().filter(|outer| !outer.is_empty()) else {
                return true;
            };
            let Some(given) = self.attributes.get(outer) else { return false };
            let name = attribute.name.take();
            *attribute = AttributeProto { name, ..given.clone() };
            true
        });
    }
}

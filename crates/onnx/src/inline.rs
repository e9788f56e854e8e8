//! Inlining of function calls: the nodes of a function with the names and attributes of a call.

use std::collections::HashMap;

use crate::domain::canonical;
use crate::messages::{AttributeProto, FunctionProto, GraphProto, NodeProto};
use crate::nested;
use prost::Message as _;

/// Domain, name and overload of a function.
pub type Key = (String, String, String);

pub fn key(domain: &str, name: &str, overload: &str) -> Key {
    (canonical(domain).to_owned(), name.to_owned(), overload.to_owned())
}

/// The key of the function that a node calls, if there is one.
pub fn callee(node: &NodeProto) -> Key {
    key(node.domain(), node.op_type(), node.overload())
}

/// The positions of functions by key. Of functions with equal keys, the first is used.
pub fn positions(functions: &[FunctionProto]) -> HashMap<Key, usize> {
    let mut positions = HashMap::new();
    for (at, it) in functions.iter().enumerate() {
        positions.entry(key(it.domain(), it.name(), it.overload())).or_insert(at);
    }
    positions
}

/// Replaces nodes, in order, by others that may be replaced again. Terminates if `replacement` does not
/// replace nodes of functions that call themselves.
///
/// # Errors
/// Those of `replacement`, which returns `None` for a node that stays.
pub fn expand<N, E>(
    nodes: impl DoubleEndedIterator<Item = N>,
    mut replacement: impl FnMut(&N) -> Result<Option<Vec<N>>, E>,
) -> Result<Vec<N>, E> {
    let mut open: Vec<N> = nodes.rev().collect();
    let mut expanded = Vec::with_capacity(open.len());
    while let Some(node) = open.pop() {
        match replacement(&node)? {
            Some(others) => open.extend(others.into_iter().rev()),
            None => expanded.push(node),
        }
    }
    Ok(expanded)
}

/// The memory of an attribute in bytes, without the nodes of its graphs.
fn memory_of(attribute: &AttributeProto) -> usize {
    let AttributeProto { floats, ints, strings, tensors, sparse_tensors, type_protos, g, graphs, .. } =
        attribute;
    let own = size_of::<AttributeProto>()
        + size_of_val(&floats[..])
        + size_of_val(&ints[..])
        + size_of_val(&strings[..])
        + size_of_val(&tensors[..])
        + size_of_val(&sparse_tensors[..])
        + size_of_val(&type_protos[..]);
    let of_graph = |graph: &GraphProto| {
        size_of_val(graph)
            + size_of_val(&graph.input[..])
            + size_of_val(&graph.output[..])
            + size_of_val(&graph.value_info[..])
            + size_of_val(&graph.initializer[..])
            + size_of_val(&graph.sparse_initializer[..])
    };
    own + g.as_deref().into_iter().chain(graphs).map(of_graph).sum::<usize>()
}

/// A call of a function: substitutions for its names and attributes.
pub struct Call {
    /// Names of formal parameters, with the actual names.
    names: HashMap<String, String>,
    /// Prefix of all other names.
    prefix: String,
    attributes: HashMap<String, AttributeProto>,
    /// The memory of each attribute in bytes.
    lengths: HashMap<String, usize>,
}

impl Call {
    /// The call of `function` by `node`.
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
            lengths.insert(attribute.name().to_owned(), memory_of(attribute));
        }
        Self { names, prefix, attributes, lengths }
    }

    /// Number of nodes of [`instance(node)`](Self::instance) including those in nested graphs, and an
    /// estimate of its memory in bytes: short elements take many times their encoded length. Copies nothing.
    pub fn size(&self, node: &NodeProto) -> (usize, usize) {
        let (mut nodes, mut bytes) = (0, node.encoded_len());
        let mut of_node = |node: &NodeProto| {
            nodes += 1;
            bytes += size_of::<NodeProto>() + self.prefix.len();
            let names = node.input.iter().chain(&node.output);
            bytes += names.map(|name| size_of::<String>() + self.length(name)).sum::<usize>();
            bytes += node.attribute.iter().map(memory_of).sum::<usize>();
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

    /// The name of a value of the function in this call.
    pub fn name(&self, name: &str) -> String {
        match self.names.get(name) {
            Some(actual) => actual.clone(),
            None if name.is_empty() => String::new(),
            None => format!("{}{name}", self.prefix),
        }
    }

    /// A node of the function with the names and attributes of this call.
    pub fn instance(&self, node: &NodeProto) -> NodeProto {
        let mut node = node.clone();
        self.substitute(&mut node);
        let mut graphs: Vec<&mut GraphProto> = nested::graphs_mut(&mut node).collect();
        while let Some(graph) = graphs.pop() {
            for info in graph.input.iter_mut().chain(&mut graph.output).chain(&mut graph.value_info) {
                info.name = self.name(info.name()).into();
            }
            for tensor in &mut graph.initializer {
                tensor.name = self.name(tensor.name()).into();
            }
            for tensor in graph.sparse_initializer.iter_mut().filter_map(|sparse| sparse.values.as_mut()) {
                tensor.name = self.name(tensor.name()).into();
            }
            for inner in &mut graph.node {
                self.substitute(inner);
                graphs.extend(nested::graphs_mut(inner));
            }
        }
        node
    }

    /// Substitutes names and attributes in one node.
    fn substitute(&self, node: &mut NodeProto) {
        for name in node.input.iter_mut().chain(&mut node.output) {
            *name = self.name(name);
        }
        if node.name.is_some() {
            node.name = format!("{}{}", self.prefix, node.name()).into();
        }
        replace_references(node, |name| self.attributes.get(name));
    }
}

/// Replaces references to attributes of the function in one node by the attributes of the call. A reference
/// to an attribute that the call does not set is removed.
pub fn replace_references<'a>(node: &mut NodeProto, given: impl Fn(&str) -> Option<&'a AttributeProto>) {
    node.attribute.retain_mut(|attribute| {
        let Some(outer) = attribute.ref_attr_name.as_deref().filter(|outer| !outer.is_empty()) else {
            return true;
        };
        let Some(given) = given(outer) else { return false };
        let name = std::mem::take(&mut attribute.name);
        *attribute = AttributeProto { name, ..given.clone() };
        true
    });
}

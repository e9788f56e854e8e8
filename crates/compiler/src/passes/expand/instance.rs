//! Copies of the nodes of a function for one call.
//!
//! A copy has new ids: a value of the function is the argument or result that [`Instance::bind`] sets, or a
//! new value whose name has the prefix of the call. A value from outside of the function, which a graph among
//! the attributes of the call reads, stays the same. A reference to an attribute of the function becomes the
//! attribute of the call, or its default; it is removed if the call has neither.

use typeloom_module::Map;
use typeloom_onnx::messages::AttributeProto;
use typeloom_onnx::prost::Message as _;
use typeloom_program::facts::Facts;
use typeloom_program::program::{
    Function, Graph, GraphId, Node, NodeId, Port, Program, ValueId, graph_count,
};

/// The size of nodes with the graphs nested in them.
#[derive(Clone, Copy, Default)]
pub(super) struct Size {
    pub(super) nodes: usize,
    /// An estimate of their memory in bytes.
    pub(super) bytes: usize,
}

impl Size {
    /// The size of a node as it is written in a file, without its fixed part.
    pub(super) fn written(program: &Program, node: NodeId) -> Self {
        let mut size = Self::default();
        for node in std::iter::once(node).chain(program.nodes_inside(node)) {
            let Node { attributes, inputs, outputs, op, .. } = &program[node];
            size.nodes += 1;
            size.bytes += op.len() + attributes.iter().map(AttributeProto::encoded_len).sum::<usize>();
            let values = inputs.iter().chain(outputs);
            size.bytes += values.map(|value| program.name_of(*value).len()).sum::<usize>();
        }
        size
    }
}

/// An attribute of a call, with the graphs in it.
struct Given {
    attribute: AttributeProto,
    graphs: Vec<GraphId>,
    /// Number of nodes in the graphs, and the memory of the attribute in bytes.
    size: Size,
}

/// The copy of a function for one call.
pub(super) struct Instance {
    /// The graphs of the function, and their copies.
    graphs: Map<GraphId, GraphId>,
    values: Map<ValueId, Option<ValueId>>,
    prefix: String,
    attributes: Map<String, Given>,
}

fn memory_of(attribute: &AttributeProto) -> usize {
    let AttributeProto { floats, ints, strings, tensors, sparse_tensors, type_protos, .. } = attribute;
    size_of::<AttributeProto>()
        + attribute.encoded_len()
        + size_of_val(&floats[..])
        + size_of_val(&ints[..])
        + size_of_val(&strings[..])
        + size_of_val(&tensors[..])
        + size_of_val(&sparse_tensors[..])
        + size_of_val(&type_protos[..])
}

impl Instance {
    /// The copy of `function` for the call `node` in a graph.
    pub(super) fn new(
        program: &Program,
        function: &Function,
        node: NodeId,
        graph: GraphId,
        prefix: String,
    ) -> Self {
        let mut attributes: Map<String, Given> = Map::default();
        let mut graphs = program[node].graphs.iter().copied();
        for attribute in function.defaults().iter().chain(&program[node].attributes) {
            let graphs: Vec<GraphId> = graphs.by_ref().take(graph_count(attribute)).collect();
            let mut size = Size { nodes: 0, bytes: memory_of(attribute) };
            for node in graphs.iter().flat_map(|graph| program[*graph].nodes.iter()) {
                let Size { nodes, bytes } = size_of_copy(program, *node, 0);
                size = Size { nodes: size.nodes + nodes, bytes: size.bytes + bytes };
            }
            let given = Given { attribute: attribute.clone(), graphs, size };
            attributes.insert(attribute.name().to_owned(), given);
        }
        let graphs = [(function.body, graph)].into_iter().collect();
        Self { graphs, values: Map::default(), prefix, attributes }
    }

    /// The size of what a call copies once: its attributes, and the types that the function declares.
    pub(super) fn size_of_call(&self, program: &Program) -> Size {
        let attributes: usize = self.attributes.values().map(|given| given.size.bytes).sum();
        let declared = self.graphs.keys().flat_map(|graph| &program[*graph].infos);
        let declared =
            declared.map(|port| size_of::<Port>() + program[port.value].name.len() + self.prefix.len() + 64);
        Size { nodes: 0, bytes: attributes.saturating_add(declared.sum()) }
    }

    /// The size of the copy of a node.
    pub(super) fn size(&self, program: &Program, node: NodeId) -> Size {
        let mut size = size_of_copy(program, node, self.prefix.len());
        for node in std::iter::once(node).chain(program.nodes_inside(node)) {
            let attributes = program[node].attributes.iter();
            for given in attributes.filter_map(|it| self.attributes.get(it.ref_attr_name.as_deref()?)) {
                size.nodes = size.nodes.saturating_add(given.size.nodes);
                size.bytes = size.bytes.saturating_add(given.size.bytes);
            }
        }
        size
    }

    /// Sets the value that a formal parameter or result is; `None` for an omitted one.
    pub(super) fn bind(&mut self, formal: ValueId, actual: Option<ValueId>) {
        self.values.insert(formal, actual);
    }

    /// The value that a formal parameter or result is, if it is set.
    pub(super) fn bound(&self, formal: ValueId) -> Option<Option<ValueId>> {
        self.values.get(&formal).copied()
    }

    /// The copy of a value; `None` for an omitted argument.
    pub(super) fn instance_of(&mut self, program: &mut Program, value: ValueId) -> Option<ValueId> {
        match self.values.get(&value) {
            Some(known) => *known,
            None if self.graphs.contains_key(&program[value].graph) => Some(self.value(program, value)),
            None => Some(value),
        }
    }

    /// A new value for one of the function.
    pub(super) fn value(&mut self, program: &mut Program, value: ValueId) -> ValueId {
        let graph = self.graphs[&program[value].graph];
        let copy = program.add_value(graph, format!("{}{}", self.prefix, program[value].name));
        self.values.insert(value, Some(copy));
        copy
    }

    /// Copies a node with the graphs nested in it.
    pub(super) fn node(&mut self, program: &mut Program, facts: &mut Facts, id: NodeId) -> NodeId {
        let mut node = program[id].clone();
        for value in node.inputs.iter_mut().chain(&mut node.outputs) {
            *value = value.and_then(|value| self.instance_of(program, value));
        }
        if !node.name().is_empty() {
            node.set_name(format!("{}{}", self.prefix, node.name()));
        }
        let mut graphs = std::mem::take(&mut node.graphs).into_iter();
        for mut attribute in std::mem::take(&mut node.attributes) {
            let mut own: Vec<GraphId> = graphs.by_ref().take(graph_count(&attribute)).collect();
            if let Some(outer) = attribute.ref_attr_name.as_deref().filter(|outer| !outer.is_empty()) {
                let Some(given) = self.attributes.get(outer) else { continue };
                let name = std::mem::take(&mut attribute.name);
                attribute = AttributeProto { name, ..given.attribute.clone() };
                own.clone_from(&given.graphs);
            }
            node.attributes.push(attribute);
            for graph in own {
                node.graphs.push(self.graph(program, facts, graph));
            }
        }
        let copy = program.add_node(node);
        facts.replaces(copy, id);
        copy
    }

    /// Copies a graph nested in a node. The recursion is as deep as the nesting, which `validate` bounds.
    fn graph(&mut self, program: &mut Program, facts: &mut Facts, id: GraphId) -> GraphId {
        let mut copy = program[id].clone();
        copy.outer = copy.outer.map(|outer| self.graphs.get(&outer).copied().unwrap_or(outer));
        let nodes = std::mem::take(&mut copy.nodes);
        let new = program.add_graph(Graph::default());
        if self.graphs.insert(id, new).is_some() {
            // The function has the graph twice: each copy has values of its own.
            self.values.retain(|value, _| program[*value].graph != id);
        }
        for port in copy.inputs.iter_mut().chain(&mut copy.outputs).chain(&mut copy.infos) {
            if let Some(value) = self.instance_of(program, port.value) {
                port.value = value;
            }
        }
        for (value, _) in &mut copy.sparse_initializers {
            *value = self.instance_of(program, *value).unwrap_or(*value);
        }
        let initializers = std::mem::take(&mut copy.initializers);
        program[new] = copy;
        for (value, tensor) in initializers {
            let value = self.instance_of(program, value).unwrap_or(value);
            program.add_initializer(new, value, tensor);
        }
        program[new].nodes = nodes.into_iter().map(|node| self.node(program, facts, node)).collect();
        new
    }
}

/// The size of the copy of a node without referenced attributes, whose names get a prefix.
fn size_of_copy(program: &Program, node: NodeId, prefix: usize) -> Size {
    let mut size = Size::default();
    for id in std::iter::once(node).chain(program.nodes_inside(node)) {
        let Node { attributes, graphs, inputs, outputs, .. } = &program[id];
        size.nodes += 1;
        size.bytes += size_of::<Node>() + attributes.iter().map(memory_of).sum::<usize>();
        let values = inputs.iter().chain(outputs).flatten();
        size.bytes += values.map(|value| 64 + prefix + program[*value].name.len()).sum::<usize>();
        for Graph { inputs, outputs, infos, initializers, .. } in graphs.iter().map(|graph| &program[*graph])
        {
            let ports = inputs.len() + outputs.len() + infos.len();
            size.bytes += size_of::<Graph>() + ports * (size_of::<Port>() + 64 + prefix);
            size.bytes += initializers.iter().map(|(_, tensor)| 256 + tensor.encoded_len()).sum::<usize>();
        }
    }
    size
}

//! Reading of programs from ONNX messages.
//!
//! The algorithm visits graphs from the outside in, with its own stack. For each graph it first adds the
//! values that the graph defines, in the order of inputs, constants and results, and then resolves the names
//! that nodes and outputs use. A name that no visible graph defines becomes a value without a definition.
//! Metadata that states facts moves to [`Facts`]; other entries stay with their node.
//!
//! Cost: linear in the message, times the depth of nesting for names of outer graphs.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use typeloom_contracts::role::Role;
use typeloom_onnx::messages::{
    FunctionProto, GraphProto, ModelProto, NodeProto, StringStringEntryProto, Text, ValueInfoProto,
};
use typeloom_onnx::nested;
use typeloom_solver::program::MAX_NESTING;

use crate::declared::DeclaredType;
use crate::domain::Domain;
use crate::facts::{Contradiction, Facts, Placement, StampError};
use crate::keys;
use crate::program::{Function, Graph, GraphId, Node, NodeId, Port, Program, ValueId};

/// Reason why a message is no program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReadError {
    #[error("the model has no graph")]
    NoGraph,
    #[error("graphs are nested more than {MAX_NESTING} deep")]
    NestedTooDeep,
}

/// Reads a program.
///
/// # Errors
/// [`ReadError`].
pub fn read(mut model: ModelProto) -> Result<(Program, Facts), ReadError> {
    let graph = model.graph.take().ok_or(ReadError::NoGraph)?;
    let functions = std::mem::take(&mut model.functions);
    let (mut program, mut facts) = (Program::new(String::new()), Facts::default());
    program.header = model;
    let mut reader = Reader::new(&mut program, &mut facts, MAX_NESTING);
    let main = reader.program.main();
    reader.graph(main, graph)?;
    for function in functions {
        reader.function(function)?;
    }
    Ok((program, facts))
}

/// Adds a function of another program.
pub fn add_function(program: &mut Program, facts: &mut Facts, function: FunctionProto) {
    let read = Reader::new(program, facts, usize::MAX).function(function);
    read.expect("the depth of nesting is not limited");
}

type Map<K, V> = HashMap<K, V, RandomState>;

struct Reader<'p> {
    program: &'p mut Program,
    facts: &'p mut Facts,
    /// The values that each graph defines, by name.
    scopes: Map<GraphId, Map<Arc<str>, ValueId>>,
    max_nesting: usize,
}

impl<'p> Reader<'p> {
    fn new(program: &'p mut Program, facts: &'p mut Facts, max_nesting: usize) -> Self {
        Self { program, facts, scopes: HashMap::default(), max_nesting }
    }

    /// Reads a graph and all graphs nested in it.
    fn graph(&mut self, id: GraphId, message: GraphProto) -> Result<(), ReadError> {
        let mut open = vec![(id, message, 0)];
        while let Some((id, message, depth)) = open.pop() {
            if depth > self.max_nesting {
                return Err(ReadError::NestedTooDeep);
            }
            let GraphProto { node, input, output, value_info, initializer, sparse_initializer, .. } = message;
            let GraphProto {
                name, doc_string, quantization_annotation, metadata_props, unknown_fields, ..
            } = message;
            let rest = GraphProto {
                doc_string,
                quantization_annotation,
                metadata_props,
                unknown_fields,
                ..GraphProto::default()
            };
            let inputs = input.into_iter().map(|info| self.port(id, info, Self::define)).collect();
            let mut initializers = Vec::with_capacity(initializer.len());
            for tensor in initializer {
                initializers.push((self.define(id, tensor.name()), tensor));
            }
            let mut sparse_initializers = Vec::with_capacity(sparse_initializer.len());
            for sparse in sparse_initializer {
                let name = sparse.values.as_ref().map_or("", |values| values.name());
                sparse_initializers.push((self.define(id, name), sparse));
            }
            let mut nested = Vec::new();
            let nodes = self.nodes(id, node, &mut nested);
            let outputs = output.into_iter().map(|info| self.port(id, info, Self::resolve)).collect();
            let infos = value_info.into_iter().map(|info| self.port(id, info, Self::define)).collect();
            let graph = &mut self.program[id];
            let outer = graph.outer;
            *graph = Graph {
                name: name.into(),
                outer,
                inputs,
                outputs,
                infos,
                initializers,
                sparse_initializers,
                nodes,
                rest: (rest != GraphProto::default()).then(|| Box::new(rest)),
            };
            open.extend(nested.into_iter().rev().map(|(id, graph)| (id, graph, depth + 1)));
        }
        Ok(())
    }

    fn function(&mut self, message: FunctionProto) -> Result<(), ReadError> {
        let body = self.program.add_graph(Graph::default());
        let FunctionProto { name, domain, overload, input, output, node, value_info, .. } = message;
        let FunctionProto { attribute, doc_string, opset_import, attribute_proto, metadata_props, .. } =
            message;
        let rest = FunctionProto {
            attribute,
            doc_string,
            opset_import,
            attribute_proto,
            metadata_props,
            unknown_fields: message.unknown_fields,
            ..FunctionProto::default()
        };
        let infos = |names: Vec<String>| {
            names
                .into_iter()
                .map(|name| ValueInfoProto { name: name.into(), ..ValueInfoProto::default() })
                .collect()
        };
        let graph = GraphProto {
            input: infos(input),
            output: infos(output),
            node,
            value_info,
            ..GraphProto::default()
        };
        self.graph(body, graph)?;
        let domain = Domain::of(&domain);
        let (name, overload) = (name.into(), overload.into());
        self.program.functions.push(Function { domain, name, overload, body, rest });
        Ok(())
    }

    /// Reads nodes; the graphs in their attributes are added to `nested`.
    fn nodes(
        &mut self,
        graph: GraphId,
        messages: Vec<NodeProto>,
        nested: &mut Vec<(GraphId, GraphProto)>,
    ) -> Vec<NodeId> {
        let mut outputs = Vec::with_capacity(messages.len());
        for message in &messages {
            let names = message.output.iter();
            outputs.push(names.map(|name| (!name.is_empty()).then(|| self.define(graph, name))).collect());
        }
        let mut nodes = Vec::with_capacity(messages.len());
        for (mut message, outputs) in messages.into_iter().zip(outputs) {
            let names = std::mem::take(&mut message.input);
            let inputs =
                names.iter().map(|name| (!name.is_empty()).then(|| self.resolve(graph, name))).collect();
            let mut graphs = Vec::new();
            for inner in nested::graphs_mut(&mut message) {
                let id = self.program.add_graph(Graph::new(String::new(), Some(graph)));
                graphs.push(id);
                nested.push((id, std::mem::take(inner)));
            }
            let metadata = std::mem::take(&mut message.metadata_props);
            let mut node = Node {
                domain: Domain::of(&message.domain),
                op: std::mem::take(&mut message.op_type).into(),
                inputs,
                outputs,
                attributes: std::mem::take(&mut message.attribute),
                graphs,
                rest: None,
            };
            message.domain = Text::default();
            message.output = Vec::new();
            let id = self.program.add_node(Node::default());
            message.metadata_props = self.stamps(id, metadata);
            node.rest = (message != NodeProto::default()).then(|| Box::new(message));
            self.program[id] = node;
            nodes.push(id);
        }
        nodes
    }

    /// Moves the metadata of a node that states facts to the tables; returns the other entries.
    fn stamps(&mut self, node: NodeId, metadata: Vec<StringStringEntryProto>) -> Vec<StringStringEntryProto> {
        let (mut rest, mut stamps) = (Vec::new(), Vec::new());
        for entry in metadata {
            let value = || entry.value.clone().into_option().unwrap_or_default();
            let facts = &mut *self.facts;
            match entry.key() {
                keys::SOURCE_LOCATION if facts.locations.get(node).is_none() => {
                    facts.locations.set(node, value());
                }
                keys::PEER_CLASS if facts.node_classes.get(node).is_none() => {
                    facts.node_classes.set(node, value());
                }
                keys::NET_OUT if facts.net_outs.get(node).is_none() => facts.net_outs.set(node, value()),
                key if is_stamp(key) => stamps.push(entry),
                _ => rest.push(entry),
            }
        }
        if !stamps.is_empty() {
            match placement(&stamps) {
                Ok(placement) => self.facts.placements.set(node, placement),
                Err(error) => {
                    // The slot and its contract are known, and the method is not.
                    if matches!(error, StampError::OtherSlot { .. }) {
                        let known: Vec<_> =
                            stamps.iter().filter(|entry| entry.key() != keys::DISPATCH).cloned().collect();
                        self.facts.placements.set(node, placement(&known).expect("the slot has a contract"));
                        stamps.clear();
                    }
                    self.facts.contradictions.set(node, Contradiction { error, entries: stamps });
                }
            }
        }
        rest
    }

    fn port(
        &mut self,
        graph: GraphId,
        mut info: ValueInfoProto,
        find: fn(&mut Self, GraphId, &str) -> ValueId,
    ) -> Port {
        let value = find(self, graph, &String::from(std::mem::take(&mut info.name)));
        let declared = info.r#type.take().map(DeclaredType::from);
        let mut to_network = false;
        info.metadata_props.retain(|entry| match entry.key() {
            keys::PEER_CLASS => {
                let class = entry.value.clone().into_option().unwrap_or_default();
                self.facts.value_classes.set(value, class);
                false
            }
            keys::NET_OUT => {
                to_network = true;
                false
            }
            _ => true,
        });
        let rest = (info != ValueInfoProto::default()).then(|| Box::new(info));
        Port { value, declared, to_network, rest }
    }

    /// The value that a graph defines under a name.
    fn define(&mut self, graph: GraphId, name: &str) -> ValueId {
        let scope = self.scopes.entry(graph).or_default();
        if let Some(known) = scope.get(name) {
            return *known;
        }
        let value = self.program.add_value(graph, name);
        scope.insert(Arc::clone(&self.program[value].name), value);
        value
    }

    /// The value that a name means in a graph.
    fn resolve(&mut self, graph: GraphId, name: &str) -> ValueId {
        let mut around = Some(graph);
        while let Some(visible) = around {
            if let Some(found) = self.scopes.get(&visible).and_then(|scope| scope.get(name)) {
                return *found;
            }
            around = self.program[visible].outer;
        }
        self.define(graph, name)
    }
}

/// Whether an entry states the component of a node.
fn is_stamp(key: &str) -> bool {
    matches!(key, keys::REQUIRED_TRAIT | keys::SLOT_ID | keys::DISPATCH) || key.starts_with(keys::BINDING)
}

/// The placement that the stamps of a node state. Of repeated entries, the first counts.
fn placement(stamps: &[StringStringEntryProto]) -> Result<Placement, StampError> {
    let find = |key: &str| stamps.iter().find(|entry| entry.key() == key);
    let text = |entry: &StringStringEntryProto| entry.value.clone().into_option().unwrap_or_default();
    let Some(slot) = find(keys::SLOT_ID).map(text) else {
        let key = stamps.first().map_or("", StringStringEntryProto::key).to_owned();
        return Err(StampError::NoSlot { key });
    };
    let found = find(keys::REQUIRED_TRAIT).map_or("", StringStringEntryProto::value);
    let no_role = || StampError::NoRole { slot: slot.to_string(), found: found.to_owned() };
    let role = Role::from_trait_name(found).ok_or_else(no_role)?;
    let method = match find(keys::DISPATCH).map(StringStringEntryProto::value) {
        None => None,
        Some(dispatch) => {
            let method = dispatch.strip_prefix(&*slot).and_then(|rest| rest.strip_prefix('.'));
            let method = method.filter(|method| !method.is_empty() && !method.contains('.'));
            let other = || StampError::OtherSlot { slot: slot.to_string(), dispatch: dispatch.to_owned() };
            Some(method.ok_or_else(other)?.into())
        }
    };
    let storages = stamps
        .iter()
        .filter_map(|entry| Some((entry.key().strip_prefix(keys::BINDING)?.into(), text(entry))))
        .collect();
    Ok(Placement { slot, role, storages, method })
}

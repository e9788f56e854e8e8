//! Writing of programs as ONNX messages.
//!
//! Facts become metadata. If the types of the program are to be written, declared types are completed by the
//! solved ones, and every other value with a concrete type gets an entry of its own.

use std::collections::HashSet;

use typeloom_onnx::messages::{
    FunctionProto, GraphProto, ModelProto, NodeProto, SharedText, StringStringEntryProto, TypeProto,
    ValueInfoProto, metadata_entry,
};
use typeloom_onnx::nested;

use crate::facts::Facts;
use crate::keys::{self, SHARED};
use crate::program::{Function, Graph, GraphId, NodeId, Port, Program, ValueId};

/// Writes a program.
#[must_use]
pub fn write(program: &Program, facts: &Facts) -> ModelProto {
    Writer::new(program, facts).model()
}

/// Writes one node, with the graphs nested in it.
#[must_use]
pub fn write_node(program: &Program, facts: &Facts, node: NodeId) -> NodeProto {
    Writer::new(program, facts).node(node)
}

/// Writes messages of one program.
pub struct Writer<'p> {
    program: &'p Program,
    facts: &'p Facts,
    /// The messages of the distinct types, if they are written.
    types: Vec<Option<TypeProto>>,
    bindings: Bindings,
}

/// The keys of storage types. Few occur in one program.
#[derive(Default)]
struct Bindings(std::cell::RefCell<Vec<(SharedText, SharedText)>>);

impl Bindings {
    fn key(&self, assoc: &SharedText) -> SharedText {
        let mut known = self.0.borrow_mut();
        if let Some((_, key)) = known.iter().find(|(name, _)| name == assoc) {
            return key.clone();
        }
        let key = SharedText::from(keys::binding(assoc));
        known.push((assoc.clone(), key.clone()));
        key
    }
}

impl<'p> Writer<'p> {
    /// A writer of a program.
    #[must_use]
    pub fn new(program: &'p Program, facts: &'p Facts) -> Self {
        let types = match facts.are_types_written {
            true => {
                facts.types.distinct().iter().map(|ty| ty.is_concrete().then(|| ty.to_message())).collect()
            }
            false => Vec::new(),
        };
        Self { program, facts, types, bindings: Bindings::default() }
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> ModelProto {
        ModelProto {
            graph: Some(self.graph(self.program.main())),
            functions: self.program.functions.iter().map(|function| self.function(function)).collect(),
            ..self.program.header.clone()
        }
    }

    /// A graph, with those nested in it. The recursion is as deep as the nesting, which reading bounds.
    #[must_use]
    pub fn graph(&self, id: GraphId) -> GraphProto {
        let graph = &self.program[id];
        let Graph { name, inputs, outputs, infos, initializers, sparse_initializers, nodes, rest, .. } =
            graph;
        let ports = |ports: &[Port]| ports.iter().map(|port| self.port(port)).collect::<Vec<_>>();
        let mut value_info = ports(infos);
        if id == self.program.main() || graph.outer.is_some() {
            value_info.extend(self.unlisted(graph));
        }
        let initializer = initializers.iter().map(|(value, tensor)| {
            let mut tensor = tensor.clone();
            tensor.name = self.name(*value).into();
            tensor
        });
        let sparse_initializer = sparse_initializers.iter().map(|(value, sparse)| {
            let mut sparse = sparse.clone();
            if let Some(values) = &mut sparse.values {
                values.name = self.name(*value).into();
            }
            sparse
        });
        GraphProto {
            name: name.clone().into(),
            node: nodes.iter().map(|node| self.node(*node)).collect(),
            input: ports(inputs),
            output: ports(outputs),
            value_info,
            initializer: initializer.collect(),
            sparse_initializer: sparse_initializer.collect(),
            ..rest.as_deref().cloned().unwrap_or_default()
        }
    }

    /// Entries with the types of values that no port lists.
    fn unlisted(&self, graph: &Graph) -> Vec<ValueInfoProto> {
        if self.types.is_empty() {
            return Vec::new();
        }
        let mut listed: HashSet<ValueId, foldhash::fast::RandomState> =
            graph.ports().map(|port| port.value).collect();
        let made = graph.nodes.iter().flat_map(|node| self.program[*node].outputs.iter().copied().flatten());
        let values = graph.initializers.iter().map(|(value, _)| *value).chain(made);
        let mut infos = Vec::new();
        for value in values {
            if self.message(value).is_some() && listed.insert(value) {
                infos.push(self.port(&Port::new(value)));
            }
        }
        infos
    }

    fn name(&self, value: ValueId) -> String {
        self.program[value].name.as_ref().to_owned()
    }

    /// The type of a value, if it is written.
    fn message(&self, value: ValueId) -> Option<&TypeProto> {
        self.types.get(self.facts.types.number(value)?)?.as_ref()
    }

    /// The entry of a port.
    #[must_use]
    pub fn port(&self, port: &Port) -> ValueInfoProto {
        let mut info = port.rest.as_deref().cloned().unwrap_or_default();
        info.name = self.name(port.value).into();
        info.r#type = match (self.message(port.value), &port.declared) {
            (None, declared) => declared.as_ref().map(|declared| declared.message().clone()),
            (Some(found), None) => Some(found.clone()),
            (Some(found), Some(declared)) => {
                let mut filled = declared.clone();
                filled.fill(found);
                Some(filled.0)
            }
        };
        if port.to_network {
            info.metadata_props.push(metadata_entry(&SHARED.net_out, "1"));
        }
        if let Some(class) = self.facts.value_classes.get(port.value) {
            info.metadata_props.push(metadata_entry(&SHARED.peer_class, class));
        }
        info
    }

    /// A node, with the graphs nested in it.
    #[must_use]
    pub fn node(&self, id: NodeId) -> NodeProto {
        let node = &self.program[id];
        let names = |values: &[Option<ValueId>]| {
            values.iter().map(|value| self.program.name_of(*value).to_owned()).collect()
        };
        let mut message = node.rest.as_deref().cloned().unwrap_or_default();
        message.input = names(&node.inputs);
        message.output = names(&node.outputs);
        message.op_type = node.op.clone().into();
        message.domain = Some(node.domain.name()).filter(|name| !name.is_empty()).map(str::to_owned).into();
        message.attribute = node.attributes.clone();
        for (graph, id) in nested::graphs_mut(&mut message).zip(&node.graphs) {
            *graph = self.graph(*id);
        }
        self.stamps(id, &mut message.metadata_props);
        message
    }

    /// Adds the facts about a node to its metadata.
    fn stamps(&self, node: NodeId, metadata: &mut Vec<StringStringEntryProto>) {
        let facts = self.facts;
        let mut add = |key: &SharedText, value: SharedText| metadata.push(metadata_entry(key, value));
        if let Some(location) = facts.locations.get(node) {
            add(&SHARED.source_location, location.clone());
        }
        if let Some(placement) = facts.placements.get(node) {
            add(&SHARED.required_trait, placement.role.trait_name().into());
            add(&SHARED.slot_id, placement.slot.clone());
            for (assoc, id) in &*placement.storages {
                add(&self.bindings.key(assoc), id.clone());
            }
        }
        if let Some(output) = facts.net_outs.get(node) {
            add(&SHARED.net_out, output.clone());
        }
        if let Some(class) = facts.node_classes.get(node) {
            add(&SHARED.peer_class, class.clone());
        }
        if let Some(placement) = facts.placements.get(node)
            && let Some(method) = &placement.method
        {
            add(&SHARED.dispatch, format!("{}.{method}", placement.slot).into());
        }
        if let Some(contradiction) = facts.contradictions.get(node) {
            metadata.extend(contradiction.entries.iter().cloned());
        }
    }

    fn function(&self, function: &Function) -> FunctionProto {
        let Function { domain, name, overload, body, rest } = function;
        let GraphProto { node, value_info, .. } = self.graph(*body);
        let names = |ports: &[Port]| ports.iter().map(|port| self.name(port.value)).collect();
        let body = &self.program[*body];
        FunctionProto {
            domain: domain.name().into(),
            name: name.clone().into(),
            overload: Some(overload.clone()).filter(|overload| !overload.is_empty()).into(),
            input: names(&body.inputs),
            output: names(&body.outputs),
            node,
            value_info,
            ..rest.clone()
        }
    }
}

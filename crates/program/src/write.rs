//! Writing of programs as ONNX messages.
//!
//! Facts become metadata. If the types of the program are to be written, declared types are completed by the
//! solved ones, and every other value with a concrete type gets an entry of its own.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use typeloom_onnx::messages::{
    FunctionProto, GraphProto, IntoAttribute, ModelProto, NodeProto, SharedText, StringStringEntryProto,
    TensorProto, Text, TypeProto, ValueInfoProto, metadata_entry,
};
use typeloom_onnx::nested;
use typeloom_onnx::prost::Message as _;
use typeloom_onnx::prost::encoding::{self, WireType};
use typeloom_tensor::value_type::ValueType;

use crate::declared::DeclaredType;
use crate::domain::Domain;
use crate::facts::Facts;
use crate::keys::{self, SHARED};
use crate::program::{Function, Graph, GraphId, NodeId, Part, Port, Program, ValueId};

/// Writes a program.
#[must_use]
pub fn write(program: &Program, facts: &Facts) -> ModelProto {
    Writer::new(program, facts).model()
}

/// Writes a program as bytes. Equal to the encoding of [`write()`] up to the order of fields, without a message
/// for each node: a compilation solves the bytes and drops them.
#[must_use]
pub fn encode(program: &Program, facts: &Facts) -> Vec<u8> {
    Writer::new(program, facts).encode()
}

/// Writes one node, with the graphs nested in it.
#[must_use]
pub fn write_node(program: &Program, facts: &Facts, node: NodeId) -> NodeProto {
    Writer::new(program, facts).node(node)
}

/// The type that a file states for a port: the declared type, completed by the solved one.
#[must_use]
pub fn stated_type(facts: &Facts, port: &Port) -> Option<DeclaredType> {
    let solved = facts.types.get(port.value).filter(|ty| facts.are_types_written && ty.is_concrete());
    DeclaredType::completed(port.declared.as_ref(), solved.map(ValueType::to_message).as_ref())
}

/// Writes messages of one program.
pub struct Writer<'p> {
    program: &'p Program,
    facts: &'p Facts,
    /// The messages of the distinct types, if they are written.
    types: Vec<Option<TypeProto>>,
    /// Keys of storage types, by associated type.
    bindings: Texts<SharedText>,
    /// `slot.method`, by slot and method.
    methods: Texts<(SharedText, SharedText)>,
}

/// Texts that many nodes share. A program has few of them.
struct Texts<K>(RefCell<Vec<(K, SharedText)>>);

impl<K: Clone + PartialEq> Texts<K> {
    fn get(&self, key: &K, make: impl FnOnce() -> String) -> SharedText {
        let mut known = self.0.borrow_mut();
        if let Some((_, text)) = known.iter().find(|(other, _)| other == key) {
            return text.clone();
        }
        let text = SharedText::from(make());
        known.push((key.clone(), text.clone()));
        text
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
        Self {
            program,
            facts,
            types,
            bindings: Texts(RefCell::default()),
            methods: Texts(RefCell::default()),
        }
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> ModelProto {
        ModelProto {
            graph: Some(self.graph(self.program.main())),
            functions: self.functions(),
            ..self.program.header.clone()
        }
    }

    /// The model as bytes: the nodes of the main graph one by one, and then everything else.
    fn encode(&self) -> Vec<u8> {
        const GRAPH_OF_MODEL: u32 = 7;
        const NODE_OF_GRAPH: u32 = 1;
        let main = self.program.main();
        let mut graph = Vec::new();
        let mut node = NodeProto::default();
        for id in &self.program[main].nodes {
            self.fill(*id, &mut node);
            encoding::message::encode(NODE_OF_GRAPH, &node, &mut graph);
        }
        graph.extend(self.without_nodes(main).encode_to_vec());
        let model = ModelProto { functions: self.functions(), ..self.program.header.clone() };
        let mut bytes = model.encode_to_vec();
        encoding::encode_key(GRAPH_OF_MODEL, WireType::LengthDelimited, &mut bytes);
        encoding::encode_varint(graph.len() as u64, &mut bytes);
        bytes.extend(graph);
        bytes
    }

    fn functions(&self) -> Vec<FunctionProto> {
        let functions = self.program.functions.iter().map(|function| self.function(function));
        functions.chain(self.parts()).collect()
    }

    /// A graph, with those nested in it. The recursion is as deep as the nesting, which reading bounds.
    #[must_use]
    pub fn graph(&self, id: GraphId) -> GraphProto {
        let node = self.program[id].nodes.iter().map(|node| self.node(*node)).collect();
        GraphProto { node, ..self.without_nodes(id) }
    }

    fn without_nodes(&self, id: GraphId) -> GraphProto {
        let graph = &self.program[id];
        let Graph { name, inputs, outputs, infos, initializers, sparse_initializers, rest, .. } = graph;
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
        let mut listed: HashSet<ValueId, RandomState> = graph.ports().map(|port| port.value).collect();
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
        info.r#type =
            DeclaredType::completed(port.declared.as_ref(), self.message(port.value)).map(|it| it.0);
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
        let mut message = NodeProto::default();
        self.fill(id, &mut message);
        message
    }

    /// Replaces a message by that of a node, and keeps the memory of its names.
    fn fill(&self, id: NodeId, message: &mut NodeProto) {
        let node = &self.program[id];
        let NodeProto { input, output, op_type, mut metadata_props, .. } = std::mem::take(message);
        let names = |mut names: Vec<String>, values: &[Option<ValueId>]| {
            names.resize_with(values.len(), String::new);
            for (name, value) in names.iter_mut().zip(values) {
                name.clear();
                name.push_str(self.program.name_of(*value));
            }
            names
        };
        let mut op = String::from(op_type);
        op.clone_from(&node.op);
        metadata_props.clear();
        if let Some(rest) = node.rest.as_deref() {
            message.clone_from(rest);
            metadata_props.append(&mut message.metadata_props);
        }
        self.stamps(id, &mut metadata_props);
        message.input = names(input, &node.inputs);
        message.output = names(output, &node.outputs);
        message.op_type = op.into();
        message.domain = Some(node.domain.name()).filter(|name| !name.is_empty()).map(str::to_owned).into();
        message.attribute = node.attributes.clone();
        for (graph, id) in nested::graphs_mut(message).zip(&node.graphs) {
            *graph = self.graph(*id);
        }
        message.metadata_props = metadata_props;
    }

    /// Adds the facts about a node to its metadata.
    fn stamps(&self, node: NodeId, metadata: &mut Vec<StringStringEntryProto>) {
        let facts = self.facts;
        let mut add = |key: &SharedText, value: SharedText| metadata.push(metadata_entry(key, value));
        if let Some(location) = facts.locations.get(node) {
            add(&SHARED.source_location, location.clone());
        }
        if let Some(placement) = facts.placements.get(node) {
            add(&SHARED.required_trait, SHARED.trait_name(placement.role));
            add(&SHARED.slot_id, placement.slot.clone());
            for (assoc, id) in &*placement.storages {
                add(&self.bindings.get(assoc, || keys::binding(assoc)), id.clone());
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
            let slot = &placement.slot;
            add(
                &SHARED.dispatch,
                self.methods.get(&(slot.clone(), method.clone()), || format!("{slot}.{method}")),
            );
        }
        if let Some(contradiction) = facts.contradictions.get(node) {
            metadata.extend(contradiction.entries.iter().cloned());
        }
    }

    /// The parts of the program, each as a function. A send and the receive of its value have the attribute
    /// `wire`, the name of the value between them, and a receive has no input.
    pub fn parts(&self) -> impl Iterator<Item = FunctionProto> {
        let main = &self.program[self.program.main()];
        let ports = main.infos.iter().chain(&main.outputs).chain(&main.inputs);
        let ports: HashMap<ValueId, &Port, RandomState> = ports.map(|port| (port.value, port)).collect();
        self.program.parts.iter().map(move |part| self.part(part, &ports))
    }

    fn part(&self, part: &Part, ports: &HashMap<ValueId, &Port, RandomState>) -> FunctionProto {
        let names = |values: &[ValueId]| values.iter().map(|value| self.name(*value)).collect();
        let constants = self.program.constants_of(part);
        let mut nodes: Vec<NodeProto> = constants
            .map(|(value, tensor)| NodeProto {
                op_type: "Constant".into(),
                output: vec![self.name(value)],
                attribute: vec![
                    TensorProto { name: Text::default(), ..tensor.clone() }.into_attribute("value"),
                ],
                ..NodeProto::default()
            })
            .collect();
        let mut listed: HashSet<ValueId, RandomState> = HashSet::default();
        let mut value_info = Vec::new();
        let mut list = |value: ValueId| {
            let is_known = ports.contains_key(&value) || self.message(value).is_some();
            if is_known && listed.insert(value) {
                let new = Port::new(value);
                value_info.push(self.port(ports.get(&value).copied().unwrap_or(&new)));
            }
        };
        part.inputs.iter().chain(&part.constants).for_each(|value| list(*value));
        for id in &part.nodes {
            let node = &self.program[*id];
            let mut message = self.node(*id);
            let is_receive = node.is(&Domain::Wire, "Recv");
            let wire = if is_receive { node.first_input() } else { node.first_output() };
            if node.domain == Domain::Wire {
                message.attribute.push(self.program.name_of(wire).into_attribute("wire"));
            }
            if is_receive {
                message.input.clear();
            }
            let inputs = node.inputs.iter().filter(|_| !is_receive);
            inputs.chain(&node.outputs).flatten().for_each(|value| list(*value));
            nodes.push(message);
        }
        FunctionProto {
            name: part.name().into(),
            domain: Domain::Partition.name().into(),
            input: names(&part.inputs),
            output: names(&part.outputs),
            node: nodes,
            value_info,
            opset_import: self.program.imports().to_vec(),
            metadata_props: vec![metadata_entry(&SHARED.peer_class, &part.class)],
            ..FunctionProto::default()
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

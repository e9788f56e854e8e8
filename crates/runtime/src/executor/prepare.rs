//! Compiled programs to plans: names to slots, stamps to what runs each node, and lifetimes.
//!
//! What runs a node is read off its stamps: the slot, the contract, what the compiler resolved it to. Nothing is solved or chosen here.
//! A name that a nested graph does not make is looked for in the graphs around it; each graph on the way down gets a
//! slot that stands for it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use typeloom_compiler::names;
use typeloom_contracts::role::Role;
use typeloom_cpu::attributes::{Attributes, kind_of};
use typeloom_cpu::{decode, ops};
use typeloom_onnx::messages::attribute_proto::AttributeType;
use typeloom_onnx::messages::tensor_proto::DataLocation;
use typeloom_onnx::messages::{
    FunctionProto, GraphProto, ModelProto, NodeProto, StringStringEntryProto, TensorProto, ValueInfoProto,
};
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::lattice::lookup_by_id;

use super::declared::Declared;
use super::error::LinkError;
use super::part::Wires;
use super::plan::{Action, Body, PeerOp, Slot, Step};
use super::structural::dtype_of;
use crate::components::Components;
use crate::datum::Datum;
use crate::error::PrepareError;
use crate::functions::{Functions, Key, MAX_NODES, imports};
use crate::plan::{SlotId, Use};
use crate::prepare::{Imports, MAX_DEPTH};
use crate::session::ExternalData;

/// A graph being prepared.
#[derive(Default)]
struct Scope {
    names: HashMap<String, SlotId>,
    body: Body,
    declared: HashMap<String, Declared>,
}

impl Scope {
    fn slot(&mut self, name: &str) -> SlotId {
        let id = SlotId(u32::try_from(self.body.slots.len()).unwrap_or(u32::MAX));
        let declared = self.declared.get(name).cloned().unwrap_or_default();
        self.body.slots.push(Slot { name: name.to_owned(), declared });
        self.names.insert(name.to_owned(), id);
        id
    }

    fn known(&mut self, name: &str) -> SlotId {
        match self.names.get(name) {
            Some(slot) => *slot,
            None => self.slot(name),
        }
    }

    fn declare<'a>(&mut self, infos: impl Iterator<Item = &'a ValueInfoProto>) {
        for info in infos {
            if let Some(ty) = &info.r#type {
                self.declared.insert(info.name().to_owned(), Declared::of(ty));
            }
        }
    }
}

/// What is prepared from the top down.
pub(crate) struct Preparation<'m> {
    functions: Functions<'m>,
    plans: HashMap<Key, Arc<Body>>,
    imports: Imports,
    components: &'m Components,
    external: &'m ExternalData<'m>,
    /// The values on the wire, where what is prepared is a part.
    wires: Option<&'m Wires>,
    scopes: Vec<Scope>,
    /// How many nodes there are in all plans, functions unfolded.
    nodes: usize,
}

fn stamp<'n>(node: &'n NodeProto, key: &str) -> Option<&'n str> {
    node.metadata_props.iter().find(|entry| entry.key() == key).map(StringStringEntryProto::value)
}

pub(crate) fn string<'n>(node: &'n NodeProto, name: &str) -> Option<&'n str> {
    let attribute = node.attribute.iter().find(|attribute| attribute.name() == name)?;
    std::str::from_utf8(attribute.s.as_deref()?).ok()
}

fn keys(node: &NodeProto) -> Vec<String> {
    let attribute = node.attribute.iter().find(|attribute| attribute.name() == "keys");
    let strings = attribute.map(|attribute| attribute.strings.as_slice()).unwrap_or_default();
    strings.iter().map(|key| String::from_utf8_lossy(key).into_owned()).collect()
}

fn prepare(error: impl Into<PrepareError>) -> LinkError {
    LinkError::Prepare(error.into())
}

impl<'m> Preparation<'m> {
    pub(crate) fn new(
        model: &'m ModelProto,
        components: &'m Components,
        external: &'m ExternalData<'m>,
    ) -> Self {
        Self {
            functions: Functions::of(model),
            plans: HashMap::new(),
            imports: imports(&model.opset_import),
            components,
            external,
            wires: None,
            scopes: Vec::new(),
            nodes: 0,
        }
    }

    /// The plan of the main graph.
    pub(crate) fn main(&mut self, graph: &GraphProto) -> Result<Body, LinkError> {
        let imports = self.imports.clone();
        self.graph(graph, &imports, 0)
    }

    /// The plan of a part, whose values live until the run ends: what depends on messages runs more than once.
    pub(crate) fn part(&mut self, part: &FunctionProto, wires: &'m Wires) -> Result<Body, LinkError> {
        self.wires = Some(wires);
        let mut all = self.imports.clone();
        all.extend(imports(&part.opset_import));
        let mut body = self.function(&part.input, &part.node, &part.output, &part.value_info, &all, 0)?;
        for step in &mut body.steps {
            step.inputs.iter_mut().flatten().for_each(|used| used.last = false);
            step.dead.clear();
        }
        Ok(body)
    }

    fn graph(&mut self, graph: &GraphProto, imports: &Imports, depth: usize) -> Result<Body, LinkError> {
        let mut scope = Scope::default();
        scope.declare(graph.value_info.iter().chain(&graph.output).chain(&graph.input));
        scope.body.inputs = graph.input.iter().map(|input| scope.slot(input.name())).collect();
        for tensor in &graph.initializer {
            let value = Datum::Tensor(self.stored(tensor)?);
            let slot = scope.known(tensor.name());
            scope.body.constants.push((slot, value));
        }
        for sparse in &graph.sparse_initializer {
            let name = sparse.values.as_ref().map_or("", |values| values.name());
            let value = Datum::Tensor(decode::sparse(sparse).map_err(prepare)?);
            let slot = scope.known(name);
            scope.body.constants.push((slot, value));
        }
        let outputs: Vec<&str> = graph.output.iter().map(ValueInfoProto::name).collect();
        self.body(scope, &graph.node, &outputs, imports, depth)
    }

    /// A plan for the body of a function: it sees nothing of where it is called.
    fn function(
        &mut self,
        inputs: &[String],
        nodes: &[NodeProto],
        outputs: &[String],
        infos: &[ValueInfoProto],
        imports: &Imports,
        depth: usize,
    ) -> Result<Body, LinkError> {
        let outer = std::mem::take(&mut self.scopes);
        let mut scope = Scope::default();
        scope.declare(infos.iter());
        scope.body.inputs = inputs.iter().map(|name| scope.slot(name)).collect();
        let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
        let body = self.body(scope, nodes, &outputs, imports, depth);
        self.scopes = outer;
        body
    }

    fn body(
        &mut self,
        scope: Scope,
        nodes: &[NodeProto],
        outputs: &[&str],
        imports: &Imports,
        depth: usize,
    ) -> Result<Body, LinkError> {
        self.nodes += nodes.len();
        if self.nodes > MAX_NODES {
            return Err(prepare(PrepareError::TooManyNodes { limit: MAX_NODES }));
        }
        self.scopes.push(scope);
        let mut steps = Vec::with_capacity(nodes.len());
        for (at, node) in nodes.iter().enumerate() {
            steps.push(self.step(node, at, imports, depth)?);
        }
        let mut results = Vec::with_capacity(outputs.len());
        for name in outputs {
            let (node, value) = ("the graph".to_owned(), (*name).to_owned());
            let unknown = || prepare(PrepareError::UnknownValue { node, value });
            results.push(self.resolve(name).ok_or_else(unknown)?);
        }
        let Scope { mut body, names: _, declared: _ } = self.scopes.pop().unwrap_or_default();
        body.steps = steps;
        body.outputs = results;
        lifetimes(&mut body);
        Ok(body)
    }

    fn step(
        &mut self,
        node: &NodeProto,
        at: usize,
        imports: &Imports,
        depth: usize,
    ) -> Result<Step, LinkError> {
        let words = match (node.name(), node.output.iter().find(|output| !output.is_empty())) {
            ("", Some(output)) => format!("`{}`, which makes `{output}`", node.op_type()),
            ("", None) => format!("node {at} (`{}`)", node.op_type()),
            (name, _) => format!("node `{name}` (`{}`)", node.op_type()),
        };
        if depth > MAX_DEPTH {
            return Err(prepare(PrepareError::TooDeep { node: words, limit: MAX_DEPTH }));
        }
        let mut inputs = Vec::with_capacity(node.input.len());
        for name in &node.input {
            if name.is_empty() {
                inputs.push(None);
                continue;
            }
            match self.resolve(name) {
                Some(slot) => inputs.push(Some(Use { slot, last: false })),
                None => {
                    let value = name.clone();
                    return Err(prepare(PrepareError::UnknownValue { node: words, value }));
                }
            }
        }
        while inputs.last().is_some_and(Option::is_none) {
            inputs.pop();
        }
        let action = self.action(node, &words, imports, depth)?;
        let scope = self.scopes.last_mut();
        let outputs = match scope {
            Some(scope) => {
                node.output.iter().map(|name| (!name.is_empty()).then(|| scope.slot(name))).collect()
            }
            None => Vec::new(),
        };
        let on = stamp(node, names::SLOT_ID).map(str::to_owned);
        Ok(Step { node: words, on, action, inputs, outputs, dead: Vec::new() })
    }

    fn action(
        &mut self,
        node: &NodeProto,
        words: &str,
        imports: &Imports,
        depth: usize,
    ) -> Result<Action, LinkError> {
        let domain = if node.domain() == "ai.onnx" { "" } else { node.domain() };
        if let Some(slot) = stamp(node, names::SLOT_ID) {
            return self.component(node, words, slot);
        }
        let unknown = || LinkError::UnknownOperator {
            node: words.to_owned(),
            domain: domain.to_owned(),
            op: node.op_type().to_owned(),
        };
        Ok(match (domain, node.op_type()) {
            (names::TYPES_DOMAIN, "Identity") => Action::Pass,
            (names::TYPES_DOMAIN, "Cast") => {
                let to = string(node, "to").unwrap_or_default();
                let found = lookup_by_id(to).filter(|node| dtype_of(node).is_some());
                let no_cast = || LinkError::NoCast { node: words.to_owned(), to: to.to_owned() };
                Action::Cast { to: found.ok_or_else(no_cast)? }
            }
            (names::COMPOSITE_DOMAIN, "Bundle") => Action::Bundle { keys: keys(node) },
            (names::COMPOSITE_DOMAIN, "Unbundle") => Action::Unbundle { keys: keys(node) },
            // A list of peers has no axes to be added or taken away.
            (names::PEERS_DOMAIN, "Identity" | "Squeeze" | "Unsqueeze") => Action::Pass,
            (names::PEERS_DOMAIN, op @ ("Slice" | "Gather" | "Concat")) => {
                let kernel = ops::find("", op).ok_or_else(unknown)?;
                let attributes = self.attributes(node)?;
                Action::Peers(PeerOp { kernel, attributes, all: op == "Concat" })
            }
            (names::WIRE_DOMAIN, op @ ("Send" | "Recv")) => {
                let Some(wires) = self.wires else {
                    return Err(LinkError::InParts { node: words.to_owned() });
                };
                let wire = string(node, "wire").and_then(|wire| wires.get(wire)).ok_or_else(unknown)?;
                if op == "Send" { Action::Send(wire.clone()) } else { Action::Receive(wire.clone()) }
            }
            (names::IMPORT_DOMAIN, "Call") => {
                let function = string(node, "function").unwrap_or_default();
                let linked = self.components.linked(function).cloned();
                let missing =
                    || LinkError::NoFunction { node: words.to_owned(), function: function.to_owned() };
                Action::Call(linked.ok_or_else(missing)?)
            }
            (domain, op) => {
                if let Some(plan) = self.call(node, domain, words, depth)? {
                    return Ok(Action::Function(plan));
                }
                let version = imports.get(domain).copied().unwrap_or(1);
                match (domain, op) {
                    ("", "If") => Action::If {
                        then_branch: self.nested(node, "then_branch", words, imports, depth)?,
                        else_branch: self.nested(node, "else_branch", words, imports, depth)?,
                    },
                    ("", "Loop") => Action::Loop(self.nested(node, "body", words, imports, depth)?),
                    ("", "SequenceMap") => {
                        Action::SequenceMap(self.nested(node, "body", words, imports, depth)?)
                    }
                    ("", "Scan") => Action::Scan {
                        body: self.nested(node, "body", words, imports, depth)?,
                        attributes: self.attributes(node)?,
                        version,
                    },
                    (domain, op) => {
                        let operator = ops::find(domain, op).ok_or_else(unknown)?;
                        Action::Kernel { operator, version, attributes: self.attributes(node)? }
                    }
                }
            }
        })
    }

    /// What runs a node of a slot.
    fn component(&mut self, node: &NodeProto, words: &str, slot: &str) -> Result<Action, LinkError> {
        let node_words = || words.to_owned();
        let asks = stamp(node, names::REQUIRED_TRAIT).unwrap_or_default();
        let unresolved = || LinkError::Unresolved { node: node_words(), slot: slot.to_owned() };
        let role = Role::from_trait_name(asks).ok_or_else(unresolved)?;
        let bound = self.components.bindings().get(slot);
        let missing = || LinkError::NoComponent { node: node_words(), slot: slot.to_owned(), role };
        let found = bound.ok_or_else(missing)?.role;
        if found != role {
            let (slot, asks) = (slot.to_owned(), asks.to_owned());
            return Err(LinkError::Role { node: node_words(), slot, asks, found });
        }
        if stamp(node, names::DISPATCH).is_none() {
            return Err(unresolved());
        }
        let component = self.components.get(slot).ok_or_else(missing)?;
        let no_method = || LinkError::NoMethod { node: node_words(), role, op: node.op_type().to_owned() };
        component.method(node).map(Action::Method).ok_or_else(no_method)
    }

    fn attributes(&self, node: &NodeProto) -> Result<Attributes, LinkError> {
        let mut attributes = node.attribute.clone();
        for attribute in &mut attributes {
            if let Some(tensor) = attribute.t.as_deref_mut()
                && tensor.data_location() == DataLocation::External
            {
                tensor.raw_data = Some(self.read(tensor)?);
                tensor.data_location = None;
            }
        }
        Attributes::decode(&attributes).map_err(prepare)
    }

    fn read(&self, tensor: &TensorProto) -> Result<Bytes, LinkError> {
        (self.external)(tensor)
            .map_err(|reason| prepare(PrepareError::ExternalData { name: tensor.name().to_owned(), reason }))
    }

    fn stored(&self, tensor: &TensorProto) -> Result<AnyTensor, LinkError> {
        if tensor.data_location() == DataLocation::External {
            return decode::tensor_of_bytes(tensor, &self.read(tensor)?).map_err(prepare);
        }
        decode::tensor(tensor).map_err(prepare)
    }

    /// The plan of a function of the model, where the node calls one.
    fn call(
        &mut self,
        node: &NodeProto,
        domain: &str,
        words: &str,
        depth: usize,
    ) -> Result<Option<Arc<Body>>, LinkError> {
        let Some(call) = self.functions.call(domain, node) else { return Ok(None) };
        if let Some(plan) = self.plans.get(&call.key) {
            return Ok(Some(Arc::clone(plan)));
        }
        if depth >= MAX_DEPTH {
            return Err(prepare(PrepareError::TooDeep { node: words.to_owned(), limit: MAX_DEPTH }));
        }
        let function = call.function;
        let body = self.function(
            &function.input,
            &call.nodes,
            &function.output,
            // Its types are those of no one call.
            &[],
            &call.imports,
            depth + 1,
        )?;
        Ok(Some(Arc::clone(self.plans.entry(call.key).or_insert_with(|| Arc::new(body)))))
    }

    fn nested(
        &mut self,
        node: &NodeProto,
        name: &'static str,
        words: &str,
        imports: &Imports,
        depth: usize,
    ) -> Result<Body, LinkError> {
        let found = node
            .attribute
            .iter()
            .find(|attribute| attribute.name() == name && kind_of(attribute) == AttributeType::Graph);
        let Some(graph) = found.and_then(|attribute| attribute.g.as_deref()) else {
            let node = words.to_owned();
            return Err(prepare(PrepareError::MissingGraph { node, attribute: name }));
        };
        self.graph(graph, imports, depth + 1)
    }

    /// The slot in the innermost graph that stands for a name.
    fn resolve(&mut self, name: &str) -> Option<SlotId> {
        let home = self.scopes.iter().rposition(|scope| scope.names.contains_key(name))?;
        let mut slot = self.scopes[home].names[name];
        let declared = self.scopes[home].body.slots[slot.index()].declared.clone();
        for scope in &mut self.scopes[home + 1..] {
            scope.declared.insert(name.to_owned(), declared.clone());
            let inner = scope.slot(name);
            scope.body.captures.push((slot, inner));
            slot = inner;
        }
        Some(slot)
    }
}

/// Marks the last use of every value that is not a result.
fn lifetimes(body: &mut Body) {
    let mut seen: HashSet<SlotId> = body.outputs.iter().copied().collect();
    for step in body.steps.iter_mut().rev() {
        let mut dead = Vec::new();
        // What a graph inside reads must live until the step is done.
        for slot in step.action.bodies().iter().flat_map(|body| &body.captures).map(|(outer, _)| *outer) {
            if seen.insert(slot) {
                dead.push(slot);
            }
        }
        for used in step.inputs.iter_mut().rev().flatten() {
            used.last = seen.insert(used.slot);
        }
        dead.extend(step.outputs.iter().flatten().filter(|slot| !seen.contains(slot)));
        step.dead = dead;
    }
}

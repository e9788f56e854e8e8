//! `infer_peer_classes`: assigns nodes and values to classes of peers, and inserts the receives of sends.
//!
//! The *class* of a send is determined by the value at its peer port, traced back through `Identity`,
//! `Slice`, `Gather`, `Concat`, `Squeeze` and `Unsqueeze`. It is
//!
//! - the name of the graph input, if the value is one;
//! - the name of the selector's slot, if a selector computes the value;
//! - the class of the sender, if a receive returns the value as the sender.
//!
//! Lists of peers are traced through messages and bundles too: peers that a peer receives are of the class of
//! the input that the sender read.
//!
//! Values computed from a received value are on the class of the receive. Values computed from the module's
//! inputs are on the module's own peer, whose name is empty. Constants are on every class that reads them.
//!
//! **Invariant:** a value is on one class. A node that reads values of two classes is an error, since values
//! change their class only by sends.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use typeloom_module::ir;
use typeloom_module::names::{self, COMPOSITE_DOMAIN, PEER_CLASS, WIRE_DOMAIN};
use typeloom_module::registry::Registry;
use typeloom_onnx::messages::{GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto};
use typeloom_onnx::nested;

use super::peer_list_operators::is_structural;
use crate::error::BuildError;
use crate::error::invalid_program::InvalidProgram;
use crate::report::ReceiveReport;
use crate::stage::Solved;
use crate::unit::Unit;

/// Finds the class of every node and inserts the receives.
pub(crate) fn run(mut solved: Solved) -> Result<Solved, BuildError> {
    let Solved { unit, .. } = &mut solved;
    check_sends(unit.graph())?;
    if !unit.graph().node.iter().any(|node| is_wire(node, "Send")) {
        return Ok(solved);
    }
    let receives = make_receives(unit);
    let classes = Classes::of(unit.graph(), &Registry::of(&unit.bindings)?)?;
    stamp_classes(unit.graph_mut(), &classes);
    for (value, receive) in receives {
        let peer_class = classes.values.get(&value).cloned().unwrap_or_default();
        unit.report.receives.push(ReceiveReport { peer_class, value: receive.payload });
    }
    Ok(solved)
}

/// Stamps nodes and values with their classes.
pub(crate) fn stamp_classes(graph: &mut GraphProto, classes: &Classes) {
    for (node, class) in graph.node.iter_mut().zip(&classes.nodes) {
        if is_wire(node, "Send") {
            let target = classes.targets.get(node.output.first().map_or("", String::as_str));
            ir::set(&mut node.metadata_props, PEER_CLASS, target.cloned().unwrap_or_default());
        } else if let Some(class) = class.as_ref().filter(|class| !class.is_empty()) {
            ir::set(&mut node.metadata_props, PEER_CLASS, class.clone());
        }
    }
    for info in graph.input.iter_mut().chain(&mut graph.output).chain(&mut graph.value_info) {
        let own = classes.values.get(info.name()).filter(|class| !class.is_empty()).cloned();
        let fed = classes.peers.contains(info.name()).then(|| info.name().to_owned());
        if let Some(class) = fed.or(own) {
            ir::set(&mut info.metadata_props, PEER_CLASS, class);
        }
    }
}

pub(crate) fn is_wire(node: &NodeProto, op: &str) -> bool {
    node.domain() == WIRE_DOMAIN && node.op_type() == op
}

/// Checks that sends and receives are in the main graph, and that every receive follows a send.
fn check_sends(graph: &GraphProto) -> Result<(), BuildError> {
    let location = |node| ir::metadata(node, names::SOURCE_LOCATION).unwrap_or_default().to_owned();
    let sent: HashSet<&str> = graph
        .node
        .iter()
        .filter(|node| is_wire(node, "Send"))
        .filter_map(|send| send.output.first())
        .map(String::as_str)
        .collect();
    for node in &graph.node {
        if is_wire(node, "Recv") && !node.input.first().is_some_and(|data| sent.contains(data.as_str())) {
            return Err(InvalidProgram::NoSend { location: location(node) }.into());
        }
        let mut inside = None;
        for nested in nested::graphs(node) {
            nested::each_node(nested, |inner| {
                if inside.is_none() && inner.domain() == WIRE_DOMAIN {
                    inside = Some(inner);
                }
            });
        }
        if let Some(inner) = inside {
            let op = node.op_type().to_owned();
            return Err(InvalidProgram::SendInside { op, location: location(inner) }.into());
        }
    }
    Ok(())
}

/// The receive of a sent value.
struct Receive {
    /// The sent value.
    payload: String,
    /// The value on the wire.
    sent: String,
    sender: String,
}

/// Inserts a receive for every send, before the first node that reads the sent value: earlier nodes run while
/// the value is on its way. A receive in the module marks this position, and becomes an alias. Returns the
/// receives, by the received value.
fn make_receives(unit: &mut Unit) -> IndexMap<String, Receive> {
    let graph = unit.model.graph.get_or_insert_default();
    let mut taken = nested::value_names(graph);
    let mut receives: IndexMap<String, Receive> = IndexMap::new();
    let mut nodes = Vec::with_capacity(graph.node.len());
    let mut pending: IndexMap<String, NodeProto> = IndexMap::new();
    for mut node in std::mem::take(&mut graph.node) {
        let is_receive = is_wire(&node, "Recv");
        let read: Vec<NodeProto> = reads(&node).filter_map(|value| pending.shift_remove(value)).collect();
        nodes.extend(read.into_iter().map(|receive| match is_receive {
            true => NodeProto { metadata_props: node.metadata_props.clone(), ..receive },
            false => receive,
        }));
        let first = node.input.first().filter(|_| is_wire(&node, "Recv"));
        if let Some((data, receive)) = first.and_then(|data| receives.get_key_value(data)) {
            let aliases =
                [data, &receive.sender].into_iter().zip(&node.output).filter(|(_, to)| !to.is_empty());
            let metadata = || node.metadata_props.clone();
            nodes.extend(aliases.map(|(from, to)| ir::types_node("Identity", from, to, metadata())));
            continue;
        }
        let data = node.output.first().filter(|data| is_wire(&node, "Send") && !data.is_empty()).cloned();
        let Some(data) = data else {
            nodes.push(node);
            continue;
        };
        // The received value keeps the name, since it may be an output; the value on the wire gets a new one.
        let sent = ir::fresh(&mut taken, &format!("{data}.sent"));
        let sender = ir::fresh(&mut taken, &format!("{data}.sender"));
        node.output[0].clone_from(&sent);
        let receive = NodeProto {
            op_type: "Recv".into(),
            domain: WIRE_DOMAIN.into(),
            input: vec![sent.clone()],
            output: vec![data.clone(), sender.clone()],
            metadata_props: ir::source_location(&node),
            ..NodeProto::default()
        };
        let payload = node.input.first().cloned().unwrap_or_default();
        receives.insert(data.clone(), Receive { payload, sent, sender });
        nodes.push(node);
        pending.insert(data, receive);
    }
    nodes.extend(pending.into_values());
    graph.node = nodes;
    let typed = graph
        .value_info
        .iter()
        .chain(&graph.output)
        .filter_map(|info| Some((info.name(), info.r#type.as_ref()?)));
    let types: HashMap<&str, &TypeProto> = typed.collect();
    let denotation = typeloom_types::tree::builtin::TYPE_PEER_ID.denotation.into();
    let peer = TypeProto { denotation, ..TypeProto::default() };
    let typed = receives.iter().flat_map(|(data, receive)| {
        [(&receive.sent, types.get(data.as_str()).copied()), (&receive.sender, Some(&peer))]
    });
    let infos: Vec<ValueInfoProto> =
        typed.map(|(name, ty)| ValueInfoProto { r#type: ty.cloned(), ..ir::value_info(name) }).collect();
    graph.value_info.extend(infos);
    receives
}

/// Classes of nodes and values. An empty name is the module's own peer.
#[derive(Default)]
pub(crate) struct Classes {
    /// Classes of values; constants have none.
    pub(crate) values: HashMap<String, String>,
    /// Classes of nodes, by position; nodes that read only constants have none.
    pub(crate) nodes: Vec<Option<String>>,
    /// Target classes of sends, by the value on the wire.
    pub(crate) targets: HashMap<String, String>,
    /// Graph inputs that feed peer ports.
    pub(crate) peers: HashSet<String>,
}

impl Classes {
    pub(crate) fn of(graph: &GraphProto, registry: &Registry) -> Result<Self, BuildError> {
        let mut classes = Self { nodes: Vec::with_capacity(graph.node.len()), ..Self::default() };
        let constants: HashSet<&str> = graph.initializer.iter().map(TensorProto::name).collect();
        for input in graph.input.iter().filter(|info| !constants.contains(info.name())) {
            classes.values.insert(input.name().to_owned(), String::new());
        }
        let mut producers: HashMap<&str, &NodeProto> = HashMap::new();
        for node in &graph.node {
            producers.extend(node.output.iter().map(|output| (output.as_str(), node)));
        }
        let inputs: HashSet<&str> = graph.input.iter().map(ValueInfoProto::name).collect();
        for node in &graph.node {
            let class = classes.class_of(node)?;
            // Nodes that are copied to the parts that read them have no class.
            let is_kept = ir::metadata(node, names::SLOT_ID).is_some() || registry.has_effects(node);
            let class = class.or_else(|| is_kept.then(String::new));
            if is_wire(node, "Send") {
                let target = classes.target(node, &producers, &inputs);
                if let Some(sent) = node.output.first() {
                    classes.targets.insert(sent.clone(), target.clone());
                    classes.values.insert(sent.clone(), target);
                }
                if let Some(handle) = node.output.get(1) {
                    classes.values.insert(handle.clone(), class.clone().unwrap_or_default());
                }
            } else if let Some(class) = &class {
                for output in node.output.iter().filter(|output| !output.is_empty()) {
                    classes.values.insert(output.clone(), class.clone());
                }
            }
            classes.nodes.push(class);
        }
        Ok(classes)
    }

    /// Returns the class of all values that a node reads.
    fn class_of(&self, node: &NodeProto) -> Result<Option<String>, BuildError> {
        let mut found: Option<(&str, &String)> = None;
        for value in reads(node) {
            let Some(class) = self.values.get(value) else { continue };
            match found {
                Some((other, known)) if known != class => {
                    return Err(BuildError::CrossesWithoutSend {
                        node: format!("`{}`", node.op_type()),
                        left: other.to_owned(),
                        left_class: known.clone(),
                        right: value.to_owned(),
                        right_class: class.clone(),
                        source_line: ir::metadata(node, names::SOURCE_LOCATION)
                            .unwrap_or_default()
                            .to_owned(),
                    });
                }
                Some(_) => {}
                None => found = Some((value, class)),
            }
        }
        Ok(found.map(|(_, class)| class.clone()))
    }

    /// Returns the target class of a send.
    fn target(
        &mut self,
        send: &NodeProto,
        producers: &HashMap<&str, &NodeProto>,
        inputs: &HashSet<&str>,
    ) -> String {
        let Some(mut value) = send.input.get(1).map(String::as_str) else { return String::new() };
        // The children to look up in bundles, innermost last.
        let mut children: Vec<String> = Vec::new();
        // The value before bundles and messages, which names the class if it cannot be traced further.
        let mut named = value;
        for _ in 0..=producers.len() {
            if inputs.contains(value) && children.is_empty() {
                self.peers.insert(value.to_owned());
                return value.to_owned();
            }
            let Some(node) = producers.get(value) else { break };
            let at = node.output.iter().position(|output| output == value).unwrap_or_default();
            let first = || node.input.first().map(String::as_str).filter(|first| !first.is_empty());
            let is_composite = |op: &str| node.domain() == COMPOSITE_DOMAIN && node.op_type() == op;
            value = if is_structural(node) {
                let Some(list) = first() else { break };
                if children.is_empty() && named == value {
                    named = list;
                }
                list
            } else if is_wire(node, "Recv") && at == 1 && children.is_empty() {
                // A reply goes to the class of the sender.
                let sent = first().and_then(|sent| producers.get(sent));
                let own = sent.and_then(|send| send.input.first()).and_then(|value| self.values.get(value));
                return own.cloned().unwrap_or_default();
            } else if at == 0 && (is_wire(node, "Recv") || is_wire(node, "Send")) {
                let Some(payload) = first() else { break };
                payload
            } else if is_composite("Unbundle") {
                let Some((bundle, key)) = first().zip(ir::keys(node).into_iter().nth(at)) else { break };
                children.push(key);
                bundle
            } else if is_composite("Bundle") {
                let Some(key) = children.pop() else { break };
                let child = ir::keys(node).iter().position(|known| *known == key);
                let Some(child) = child.and_then(|at| node.input.get(at)) else { break };
                child
            } else {
                if let Some(slot) = ir::metadata(node, names::SLOT_ID).filter(|_| children.is_empty()) {
                    return slot.to_owned();
                }
                break;
            };
        }
        named.to_owned()
    }
}

/// Returns the values that a node reads: its inputs, and the values that its nested graphs read.
pub(crate) fn reads(node: &NodeProto) -> impl Iterator<Item = &str> {
    let mut all: Vec<&str> = node.input.iter().filter(|name| !name.is_empty()).map(String::as_str).collect();
    for graph in nested::graphs(node) {
        nested::each_node(graph, |inner| all.extend(inner.input.iter().map(String::as_str)));
        nested::each_graph(graph, |inner, _| all.extend(inner.output.iter().map(ValueInfoProto::name)));
    }
    all.into_iter()
}

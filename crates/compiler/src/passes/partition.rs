//! `partition`: splits the program into one typed function for each class of peers.
//!
//! A part contains the nodes of its class, in order. Its inputs are the program inputs that its nodes read.
//! `Recv` nodes have no input; they are matched with `Send` nodes by their attribute `wire`, the name of the
//! value on the wire. Constants are copied to every part that reads them.
//!
//! **Invariant:** every node of the program that has a class is in exactly one part.

use std::collections::{HashMap, HashSet};

use typeloom_module::ir;
use typeloom_module::names::PEER_CLASS;
use typeloom_module::registry::Registry;
use typeloom_onnx::messages::IntoAttribute;
use typeloom_onnx::messages::{FunctionProto, GraphProto, ModelProto, NodeProto, Text, ValueInfoProto};

use super::infer_peer_classes::{Classes, is_wire, reads};
use crate::error::BuildError;
use crate::stage::Dispatched;

/// The domain of the functions.
pub const PARTITION_DOMAIN: &str = "ai.bytesandbrains.partition";

/// The name of the part that runs on the module's own peer.
pub const OWN: &str = "self";

/// Adds a function for each class of peers, if the program has sends.
pub(crate) fn run(mut dispatched: Dispatched) -> Result<Dispatched, BuildError> {
    let Dispatched { unit, .. } = &mut dispatched;
    if !unit.graph().node.iter().any(|node| is_wire(node, "Send")) {
        return Ok(dispatched);
    }
    let classes = Classes::of(unit.graph(), &Registry::of(&unit.bindings)?)?;
    let parts = parts(&unit.model, &classes);
    unit.model.functions.extend(parts);
    Ok(dispatched)
}

/// The parts of a program, its own side first.
pub(crate) fn parts(model: &ModelProto, classes: &Classes) -> Vec<FunctionProto> {
    let Some(graph) = &model.graph else { return Vec::new() };
    let mut names: Vec<String> = vec![String::new()];
    for class in classes.nodes.iter().flatten().chain(classes.targets.values()) {
        if !names.contains(class) {
            names.push(class.clone());
        }
    }
    names[1..].sort();
    let infos: HashMap<&str, &ValueInfoProto> = graph
        .value_info
        .iter()
        .chain(&graph.output)
        .chain(&graph.input)
        .map(|info| (info.name(), info))
        .collect();
    let import = |part: FunctionProto| FunctionProto { opset_import: model.opset_import.clone(), ..part };
    names.iter().map(|class| import(part(graph, classes, class, &infos))).collect()
}

fn part(
    graph: &GraphProto,
    classes: &Classes,
    class: &str,
    infos: &HashMap<&str, &ValueInfoProto>,
) -> FunctionProto {
    let mut taken: Vec<bool> = classes.nodes.iter().map(|of| of.as_deref() == Some(class)).collect();
    // Constants that this part reads, and the nodes that compute them.
    let mut needed: HashSet<&str> = HashSet::new();
    for (at, node) in graph.node.iter().enumerate().rev() {
        let constant =
            classes.nodes[at].is_none() && node.output.iter().any(|output| needed.contains(output.as_str()));
        taken[at] |= constant;
        if taken[at] {
            needed.extend(reads(node));
        }
    }
    let mut nodes: Vec<NodeProto> = Vec::new();
    for tensor in graph.initializer.iter().filter(|tensor| needed.contains(tensor.name())) {
        let output = vec![tensor.name().to_owned()];
        let mut value = tensor.clone();
        value.name = Text::default();
        let attribute = vec![value.into_attribute("value")];
        let op_type = "Constant".into();
        nodes.push(NodeProto { op_type, output, attribute, ..NodeProto::default() });
    }
    for (node, _) in graph.node.iter().zip(&taken).filter(|(_, taken)| **taken) {
        let mut node = node.clone();
        if is_wire(&node, "Send") {
            let wire = node.output.first().cloned().unwrap_or_default();
            node.attribute.push(wire.as_str().into_attribute("wire"));
        } else if is_wire(&node, "Recv") {
            let wire = node.input.first().cloned().unwrap_or_default();
            node.attribute.push(wire.as_str().into_attribute("wire"));
            node.input.clear();
        }
        nodes.push(node);
    }
    let made: HashSet<&str> = nodes.iter().flat_map(|node| &node.output).map(String::as_str).collect();
    let read: HashSet<&str> = nodes.iter().flat_map(reads).collect();
    let input: Vec<String> = graph
        .input
        .iter()
        .map(ValueInfoProto::name)
        .filter(|name| read.contains(name) && !made.contains(name))
        .map(str::to_owned)
        .collect();
    let output: Vec<String> = graph
        .output
        .iter()
        .map(ValueInfoProto::name)
        .filter(|name| made.contains(name) && classes.values.get(*name).is_none_or(|of| of == class))
        .map(str::to_owned)
        .collect();
    let mut value_info: Vec<ValueInfoProto> = Vec::new();
    let mut listed: HashSet<&str> = HashSet::new();
    let ports = nodes.iter().flat_map(|node| node.input.iter().chain(&node.output));
    for name in input.iter().chain(ports) {
        if let Some(info) = infos.get(name.as_str())
            && listed.insert(name)
        {
            value_info.push((*info).clone());
        }
    }
    let mut function = FunctionProto {
        name: if class.is_empty() { OWN } else { class }.into(),
        domain: PARTITION_DOMAIN.into(),
        input,
        output,
        value_info,
        ..FunctionProto::default()
    };
    function.node = nodes;
    ir::set(&mut function.metadata_props, PEER_CLASS, class);
    function
}

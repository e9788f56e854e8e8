//! Replaces structural operators on lists of peers by those of the domain of lists.
//!
//! ONNX defines `Slice`, `Gather`, `Concat`, `Squeeze`, `Unsqueeze` and `Identity` for tensors only. Between
//! a graph input and the peer port of a `wire.Send` they are operators on lists of peers, unless a value is
//! declared as a tensor.
//!
//! The published name of the pass is `refine_polymorphic_value_info`. Its published task is to replace the
//! abstract types of values, such as `tensor`, by the storage types of the bound components. In this
//! compiler, `bind_slots` adds the storage types to the nodes, `type_solver` determines the values, and
//! `stamp` writes them. A pass before the solver reaches only the values next to a slot. In the solver an
//! abstract type is a bound, which the storage of a component narrows in both directions, through any number
//! of nodes and into nested graphs. The pass does the one refinement that the solver cannot do: it changes
//! the domain of a node, which selects its relations.

use std::collections::{HashMap, HashSet};

use typeloom_module::names::{PEERS_DOMAIN, TYPES_DOMAIN, WIRE_DOMAIN};
use typeloom_onnx::messages::{GraphProto, NodeProto, ValueInfoProto, type_proto};

use crate::error::BuildError;
use crate::stage::Expanded;

/// Operators that are also defined on lists of peers.
pub(crate) const STRUCTURAL: [&str; 6] = ["Identity", "Slice", "Gather", "Concat", "Squeeze", "Unsqueeze"];

/// Moves structural operators between graph inputs and peer ports to the domain of lists of peers.
pub(crate) fn run(mut expanded: Expanded) -> Result<Expanded, BuildError> {
    let graph = expanded.unit.graph_mut();
    let on_the_way = to_peer_ports(graph);
    for at in on_the_way {
        let node = &mut graph.node[at];
        if node.is_onnx() {
            node.domain = PEERS_DOMAIN.into();
        }
    }
    Ok(expanded)
}

/// Whether a node is a structural operator, on tensors or on lists of peers.
pub(crate) fn is_structural(node: &NodeProto) -> bool {
    (node.is_onnx() || matches!(node.domain(), PEERS_DOMAIN | TYPES_DOMAIN))
        && STRUCTURAL.contains(&node.op_type())
}

/// Returns the structural nodes that peer ports read, up to values that are declared as tensors.
fn to_peer_ports(graph: &GraphProto) -> Vec<usize> {
    let sends = graph.node.iter().filter(|node| node.domain() == WIRE_DOMAIN && node.op_type() == "Send");
    let mut open: Vec<&str> = sends.filter_map(|send| send.input.get(1)).map(String::as_str).collect();
    if open.is_empty() {
        return Vec::new();
    }
    let mut producers: HashMap<&str, usize> = HashMap::new();
    for (at, node) in graph.node.iter().enumerate() {
        producers.extend(node.output.iter().map(|output| (output.as_str(), at)));
    }
    let declared = graph.input.iter().chain(&graph.output).chain(&graph.value_info);
    let tensors: HashSet<&str> = declared
        .filter(|info| {
            matches!(
                info.r#type.as_ref().and_then(|ty| ty.value.as_ref()),
                Some(type_proto::Value::TensorType(_))
            )
        })
        .map(ValueInfoProto::name)
        .collect();
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    while let Some(value) = open.pop() {
        let Some(at) = producers.get(value).copied() else { continue };
        let node = &graph.node[at];
        if !is_structural(node) || tensors.contains(value) || !seen.insert(at) {
            continue;
        }
        found.push(at);
        let lists = if node.op_type() == "Concat" { node.input.len() } else { 1 };
        open.extend(node.input.iter().take(lists).map(String::as_str));
    }
    found.sort_unstable();
    found
}

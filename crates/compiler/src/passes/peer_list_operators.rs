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

use typeloom_program::declared::DeclaredType;
use typeloom_program::domain::Domain;
use typeloom_program::program::{Node, NodeId, Port, Program, ValueId};

use crate::error::BuildError;
use crate::stage::Expanded;

/// Operators that are also defined on lists of peers.
pub(crate) const STRUCTURAL: [&str; 6] = ["Identity", "Slice", "Gather", "Concat", "Squeeze", "Unsqueeze"];

/// Moves structural operators between graph inputs and peer ports to the domain of lists of peers.
pub(crate) fn run(mut expanded: Expanded) -> Result<Expanded, BuildError> {
    let program = &mut expanded.unit.program;
    for node in to_peer_ports(program) {
        let node = &mut program[node];
        if node.domain.is_onnx() {
            node.domain = Domain::Peers;
        }
    }
    Ok(expanded)
}

/// Whether a node is a structural operator, on tensors or on lists of peers.
pub(crate) fn is_structural(node: &Node) -> bool {
    matches!(node.domain, Domain::Onnx | Domain::Peers | Domain::Types)
        && STRUCTURAL.contains(&node.op.as_str())
}

/// Returns the structural nodes that peer ports read, up to values that are declared as tensors.
fn to_peer_ports(program: &Program) -> Vec<NodeId> {
    let graph = &program[program.main()];
    let sends = graph.nodes.iter().map(|node| &program[*node]).filter(|node| node.is(&Domain::Wire, "Send"));
    let mut open: Vec<ValueId> = sends.filter_map(|send| send.inputs.get(1).copied().flatten()).collect();
    if open.is_empty() {
        return Vec::new();
    }
    let mut producers: HashMap<ValueId, NodeId> = HashMap::new();
    for node in &graph.nodes {
        producers.extend(program[*node].outputs.iter().flatten().map(|output| (*output, *node)));
    }
    let is_tensor = |port: &&Port| port.declared.as_ref().is_some_and(DeclaredType::is_tensor);
    let tensors: HashSet<ValueId> = graph.ports().filter(is_tensor).map(|port| port.value).collect();
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    while let Some(value) = open.pop() {
        let Some(at) = producers.get(&value).copied() else { continue };
        let node = &program[at];
        if !is_structural(node) || tensors.contains(&value) || !seen.insert(at) {
            continue;
        }
        found.push(at);
        let lists = if node.op == "Concat" { node.inputs.len() } else { 1 };
        open.extend(node.inputs.iter().take(lists).copied().flatten());
    }
    found
}

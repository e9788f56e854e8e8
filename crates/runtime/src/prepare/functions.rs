//! Instances of functions, and the substitution of their attributes.

use std::collections::HashMap;

use typeloom_onnx::inline::replace_references;
use typeloom_onnx::messages::{AttributeProto, NodeProto, OperatorSetIdProto};
use typeloom_onnx::nested::{each_node_mut, graphs_mut};
use typeloom_onnx::prost::Message as _;
use typeloom_program::domain::Domain;
use typeloom_program::program::{GraphId, Program};

use super::{Given, Imports};

/// Number of nodes that the plans of a model may have, even if the model is small.
const MAX_NODES: usize = 1 << 16;

/// Maximum ratio of nodes in the plans of a large model to nodes in its file.
const MAX_GROWTH: usize = 64;

/// Maximum number of nodes of all plans of a program together.
pub(super) fn max_nodes(program: &Program) -> usize {
    MAX_NODES.max(program.all_nodes().count().saturating_mul(MAX_GROWTH))
}

/// Identity of an instance of a function: the function and its attributes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct InstanceKey {
    index: usize,
    attributes: Vec<(Vec<u8>, Vec<GraphId>)>,
}

impl InstanceKey {
    pub(super) fn new(index: usize, given: &Given) -> Self {
        let mut attributes: Vec<(Vec<u8>, Vec<GraphId>)> =
            given.values().map(|(attribute, graphs)| (attribute.encode_to_vec(), graphs.clone())).collect();
        attributes.sort_unstable();
        Self { index, attributes }
    }
}

/// Versions of the imported operator sets, by domain.
pub(crate) fn imports(list: &[OperatorSetIdProto]) -> Imports {
    list.iter().map(|import| (Domain::of(import.domain()), import.version())).collect()
}

/// A node in which references to attributes of the function, also in nested graphs, are replaced.
pub(crate) fn with_attributes(node: &NodeProto, given: &HashMap<&str, &AttributeProto>) -> NodeProto {
    let mut node = node.clone();
    let replace = |node: &mut NodeProto| replace_references(node, |name| given.get(name).copied());
    replace(&mut node);
    graphs_mut(&mut node).for_each(|graph| each_node_mut(graph, replace));
    node
}

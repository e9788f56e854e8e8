//! Putting the nodes of a model on a slot.

use typeloom_contracts::role::Role;
use typeloom_onnx::messages::{ModelProto, NodeProto, SharedText};

use crate::ir;
use crate::names::{self, keys};

/// Operators whose values are no tensors of numbers, or that run graphs.
const ELSEWHERE: [&str; 10] = [
    "If",
    "Loop",
    "Scan",
    "ConcatFromSequence",
    "SplitToSequence",
    "StringConcat",
    "StringNormalizer",
    "StringSplit",
    "RegexFullMatch",
    "TfIdfVectorizer",
];

/// Puts every operator of ONNX's that stands on no slot on that of a backend.
pub(crate) fn to_backend(model: &mut ModelProto, slot: &str) {
    let (role, slot) = (SharedText::from(Role::Backend.trait_name()), SharedText::from(slot));
    let assign = |node: &mut NodeProto| {
        let op = node.op_type();
        let is_elsewhere = !matches!(node.domain(), "" | "ai.onnx")
            || ELSEWHERE.contains(&op)
            || op.starts_with("Sequence")
            || op.starts_with("Optional")
            || ir::metadata(node, names::SLOT_ID).is_some();
        if !is_elsewhere {
            ir::set(&mut node.metadata_props, &*keys::REQUIRED_TRAIT, &role);
            ir::set(&mut node.metadata_props, &*keys::SLOT_ID, &slot);
        }
    };
    if let Some(graph) = &mut model.graph {
        ir::each_node_mut(graph, assign);
    }
    for node in model.functions.iter_mut().flat_map(|function| &mut function.node) {
        assign(node);
        ir::graphs_mut(node).for_each(|graph| ir::each_node_mut(graph, assign));
    }
}

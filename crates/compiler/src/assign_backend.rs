//! Assignment of the nodes of a model to a slot.

use typeloom_contracts::role::Role;
use typeloom_module::bindings::Bindings;
use typeloom_module::ir;
use typeloom_module::names::{self, keys};
use typeloom_onnx::messages::{ModelProto, NodeProto, SharedText};
use typeloom_onnx::nested;
use typeloom_ops::catalogue::Standard;
use typeloom_solver::catalogue::{Catalogue as _, Lookup};
use typeloom_solver::model::Mode;
use typeloom_types::op::AtomicOpsetDecl;

use crate::error::BuildError;
use crate::passes::lower::VisibleTypes;
use crate::program_operators::data_ports;
use crate::solve_program::solve;

/// Operators that the session runs: their attributes are graphs, they read no elements, or their values are
/// not tensors of numbers.
const RUN_BY_SESSION: [&str; 12] = [
    "Shape",
    "Size",
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

/// Assigns every ONNX operator without a slot, and every extension operator of the backend, to the slot of a
/// backend. If the backend stores a single element type, only ONNX nodes whose data has this type are
/// assigned; the session runs the nodes that compute indices and shapes.
pub(crate) fn to_backend(model: &mut ModelProto, slot: &str, bindings: &Bindings) -> Result<(), BuildError> {
    let bound = bindings.get(slot);
    let stored = bound.and_then(|bound| bound.stores("Tensor")).filter(|node| node.is_concrete());
    let opsets = bound.map_or(&[][..], |bound| bound.opsets);
    let (role, slot) = (SharedText::from(Role::Backend.trait_name()), SharedText::from(slot));
    let assign = |node: &mut NodeProto| {
        ir::set(&mut node.metadata_props, &*keys::REQUIRED_TRAIT, &role);
        ir::set(&mut node.metadata_props, &*keys::SLOT_ID, &slot);
    };
    let Some(stored) = stored else {
        let assign = |node: &mut NodeProto| {
            if !is_run_by_session(node, opsets) {
                assign(node);
            }
        };
        if let Some(graph) = &mut model.graph {
            nested::each_node_mut(graph, assign);
        }
        for node in model.functions.iter_mut().flat_map(|function| &mut function.node) {
            assign(node);
            nested::graphs_mut(node).for_each(|graph| nested::each_node_mut(graph, assign));
        }
        return Ok(());
    };
    let types = solve(model, bindings, Mode::Permissive)?.types;
    let version = ir::imported(model, "").unwrap_or(1);
    let graph = model.graph.get_or_insert_default();
    nested::each_numbered_graph_mut(graph, |graph, number| {
        let visible = VisibleTypes { types: &types, graph: number };
        for node in graph.node.iter_mut().filter(|node| !is_run_by_session(node, opsets)) {
            if !is_onnx(node) {
                assign(node);
                continue;
            }
            let Lookup::Found(operator) = Standard.lookup("", node.op_type(), version) else { continue };
            let Some(is_data) = data_ports(operator.schema) else { continue };
            let inputs = node.input.iter().enumerate().filter(|(at, _)| is_data(operator.schema.input(*at)));
            let outputs =
                node.output.iter().enumerate().filter(|(at, _)| is_data(operator.schema.output(*at)));
            let ports = inputs.chain(outputs).filter(|(_, value)| !value.is_empty());
            if ports
                .map(|(_, value)| visible.leaf(value))
                .all(|leaf| leaf.is_some_and(|leaf| leaf.id == stored.id))
            {
                assign(node);
            }
        }
    });
    Ok(())
}

fn is_onnx(node: &NodeProto) -> bool {
    matches!(node.domain(), "" | "ai.onnx")
}

fn is_run_by_session(node: &NodeProto, opsets: &[AtomicOpsetDecl]) -> bool {
    let op = node.op_type();
    let is_extension = || opsets.iter().any(|opset| opset.domain == node.domain() && opset.op(op).is_some());
    (!is_onnx(node) && !is_extension())
        || RUN_BY_SESSION.contains(&op)
        || op.starts_with("Sequence")
        || op.starts_with("Optional")
        || ir::metadata(node, names::SLOT_ID).is_some()
}

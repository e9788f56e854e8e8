//! Assignment of the nodes of a model to a slot.

use typeloom_contracts::role::Role;
use typeloom_module::bindings::Bindings;
use typeloom_module::ir;
use typeloom_module::names::{self, keys};
use typeloom_onnx::messages::{ModelProto, NodeProto, SharedText};
use typeloom_onnx::nested;
use typeloom_ops::catalogue::Standard;
use typeloom_ops::table::Table;
use typeloom_solver::catalogue::{Catalogue as _, Lookup};
use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::model::Mode;
use typeloom_solver::signature::{AttributeKind, Formal, FormalType};
use typeloom_types::op::AtomicOpsetDecl;

use crate::error::BuildError;
use crate::passes::lower::VisibleTypes;
use crate::program_operators::data_ports;
use crate::solve_program::solve;

/// Operators that read no elements.
const OF_SHAPES: [&str; 2] = ["Shape", "Size"];

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
            if !node.is_onnx() {
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

fn is_run_by_session(node: &NodeProto, opsets: &[AtomicOpsetDecl]) -> bool {
    let op = node.op_type();
    let is_extension = || opsets.iter().any(|opset| opset.domain == node.domain() && opset.op(op).is_some());
    (!node.is_onnx() && !is_extension())
        || OF_SHAPES.contains(&op)
        || !computes_numbers(op)
        || ir::metadata(node, names::SLOT_ID).is_some()
}

/// Whether an operator of ONNX has tensors of numbers as operands and results, and no graphs as attributes.
/// Other operators are run by the session.
fn computes_numbers(op: &str) -> bool {
    let Some(schema) = Table::get().versions("", op).next_back() else { return true };
    let tensors = |formal: &Formal| match formal.ty {
        FormalType::Var(at) => schema.type_vars.get(usize::from(at)).map(|variable| variable.allowed.tensor),
        FormalType::Tensor(elem) => Some(ElemSet::of(elem)),
    };
    let is_numeric =
        |formal: &Formal| tensors(formal).is_some_and(|elems| elems.iter().any(|elem| elem != Elem::STRING));
    let is_text = |formal: &Formal| {
        tensors(formal).is_some_and(|elems| elems.contains(Elem::STRING) && !elems.contains(Elem::FLOAT))
    };
    let has_graph =
        schema.attributes.iter().any(|it| matches!(it.kind, AttributeKind::Graph | AttributeKind::Graphs));
    // Tensors that an optional value can be.
    let is_optional = op.starts_with("Optional");
    !has_graph
        && !is_optional
        && !schema.inputs.iter().any(is_text)
        && schema.inputs.iter().chain(&schema.outputs).all(is_numeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_of_graphs_sequences_and_texts_compute_no_numbers() {
        let others: Vec<&str> = Table::get().names("").filter(|op| !computes_numbers(op)).collect();
        let expected = [
            "ConcatFromSequence",
            "If",
            "Loop",
            "Optional",
            "OptionalGetElement",
            "OptionalHasElement",
            "RegexFullMatch",
            "Scan",
            "SequenceAt",
            "SequenceConstruct",
            "SequenceEmpty",
            "SequenceErase",
            "SequenceInsert",
            "SequenceLength",
            "SequenceMap",
            "SplitToSequence",
            "StringConcat",
            "StringNormalizer",
            "StringSplit",
            "TfIdfVectorizer",
        ];
        assert_eq!(others, expected);
    }
}

//! Assignment of the nodes of a model to a slot.

use std::sync::Arc;

use typeloom_contracts::role::Role;
use typeloom_module::Set;
use typeloom_module::bindings::Bindings;
use typeloom_module::dispatch::is_primitive_form;
use typeloom_ops::catalogue::{Standard, reads_only_shapes};
use typeloom_ops::table::Table;
use typeloom_program::domain::Domain;
use typeloom_program::facts::{Facts, Placement};
use typeloom_program::program::{Node, NodeId, Program};
use typeloom_solver::catalogue::{Catalogue as _, Lookup};
use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::model::Mode;
use typeloom_solver::signature::{AttributeKind, Formal, FormalType};
use typeloom_types::op::AtomicOpsetDecl;

use crate::error::BuildError;
use crate::passes::lower::is_primitive;
use crate::program_operators::data_ports;
use crate::representation::obstacle;
use crate::solve_program::solve;

/// Assigns every ONNX operator without a slot, and every extension operator of the backend, to the slot of a
/// backend. If the backend stores a single element type, only ONNX nodes are assigned whose data has this type
/// and whose other values the backend represents; the session runs the others, such as those that compute
/// indices and shapes. Returns the assigned nodes.
pub(crate) fn to_backend(
    program: &Program,
    facts: &mut Facts,
    slot: &str,
    bindings: &Bindings,
) -> Result<Set<NodeId>, BuildError> {
    let bound = bindings.get(slot);
    let stored = bound.and_then(|bound| bound.stores("Tensor")).filter(|node| node.is_concrete());
    let opsets = bound.map_or(&[][..], |bound| bound.opsets);
    let placement =
        Placement { slot: slot.into(), role: Role::Backend, storages: Arc::default(), method: None };
    let mut assigned = Set::default();
    let mut assign = |facts: &mut Facts, node: NodeId| {
        facts.place(node, placement.clone());
        assigned.insert(node);
    };
    let Some(stored) = stored else {
        for node in program.all_nodes() {
            if facts.slot(node).is_none() && !is_run_by_session(&program[node], opsets) {
                assign(facts, node);
            }
        }
        return Ok(assigned);
    };
    let types = solve(program, facts, bindings, Mode::Permissive)?.types;
    let version = program.imported(&Domain::Onnx).unwrap_or(1);
    for id in program.nodes_in(program.main()) {
        let node = &program[id];
        if facts.slot(id).is_some() || is_run_by_session(node, opsets) {
            continue;
        }
        if !node.domain.is_onnx() {
            assign(facts, id);
            continue;
        }
        let Lookup::Found(operator) = Standard.lookup(node.domain.name(), &node.op, version) else {
            continue;
        };
        let Some(is_data) = data_ports(operator.schema) else { continue };
        let inputs = node.inputs.iter().enumerate().filter(|(at, _)| is_data(operator.schema.input(*at)));
        let outputs = node.outputs.iter().enumerate().filter(|(at, _)| is_data(operator.schema.output(*at)));
        let mut data = inputs.chain(outputs).filter_map(|(_, value)| *value);
        if data.all(|value| types.leaf(value).is_some_and(|leaf| leaf.id == stored.id))
            && obstacle(stored, node, &types).is_none()
            && (!is_primitive(node) || is_primitive_form(node))
        {
            assign(facts, id);
        }
    }
    Ok(assigned)
}

fn is_run_by_session(node: &Node, opsets: &[AtomicOpsetDecl]) -> bool {
    let op = node.op.as_str();
    let is_extension = || {
        let own = opsets.iter().filter(|opset| opset.domain == node.domain.name());
        own.into_iter().any(|opset| opset.op(op).is_some())
    };
    (!node.domain.is_onnx() && !is_extension()) || reads_only_shapes(op) || !computes_numbers(op)
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
    // An optional value is taken apart; `Identity` returns it as it is.
    let is_opened = |formal: &Formal| match formal.ty {
        FormalType::Var(at) => {
            let allows =
                schema.type_vars.get(usize::from(at)).is_some_and(|it| !it.allowed.opt_tensor.is_empty());
            allows && schema.outputs.iter().all(|output| output.ty != formal.ty)
        }
        FormalType::Tensor(_) => false,
    };
    !has_graph
        && !schema.inputs.iter().any(|formal| is_text(formal) || is_opened(formal))
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

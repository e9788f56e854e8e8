//! Checks of the stamps of a loaded artifact.
//!
//! The stamps of a file are not trusted. Loading computes them again and rejects a file with different
//! stamps:
//!
//! | stamp | compared with |
//! |---|---|
//! | slot, required trait, dispatch | each other, the component of the slot, the methods of its contract |
//! | storage types | the component of the slot |
//! | denotations | the solved types |
//! | peer classes, parts | those of the main graph |
//!
//! A stamp on the result of an unknown operator cannot be computed again, so it is rejected.
//!
//! The dispatch is an exception: any method is accepted whose operator has the types of the node, because the
//! executor runs the stamped method.

use std::collections::HashSet;

use typeloom_module::bindings::Bindings;
use typeloom_module::dispatch::{check_attributes, operator_of};
use typeloom_module::operators;
use typeloom_module::registry::Registry;
use typeloom_onnx::messages::FunctionProto;
use typeloom_program::declared::DeclaredType;
use typeloom_program::domain::Domain;
use typeloom_program::facts::{Facts, Placement, Types};
use typeloom_program::program::{Graph, NodeId, Part, Program, ValueId};
use typeloom_program::write::Writer;
use typeloom_solver::catalogue::{Catalogue as _, Lookup};
use typeloom_types::plural::counted;

use super::LoadError;
use crate::error::BuildError;
use crate::passes::infer_peer_classes::{Classes, has_sends};
use crate::passes::partition::parts;

fn other(location: String, message: impl ToString) -> LoadError {
    LoadError::Stamp { location, message: message.to_string() }
}

/// Names a node in messages.
fn label(program: &Program, node: NodeId) -> String {
    let output = program[node].outputs.iter().copied().flatten().next();
    match output {
        Some(output) => format!("node of `{}`", program[output].name),
        None => format!("`{}`", program[node].op),
    }
}

/// Checks the stamps of all nodes. If a node runs the method of another operator, returns the program with
/// the operators that run, to be typed.
pub(super) fn check_nodes(
    program: &Program,
    facts: &Facts,
    components: &Bindings,
) -> Result<Option<Program>, LoadError> {
    let mut differing = Vec::new();
    for id in program.all_nodes() {
        let found = operator(program, facts, id, components);
        if let Some((domain, op)) = found.map_err(|message| other(label(program, id), message))?
            && (&domain, op) != (&program[id].domain, program[id].op.as_str())
        {
            differing.push((id, domain, op.to_owned()));
        }
    }
    if differing.is_empty() {
        return Ok(None);
    }
    let mut stamped = program.clone();
    for (id, domain, op) in differing {
        (stamped[id].domain, stamped[id].op) = (domain, op);
    }
    Ok(Some(stamped))
}

/// Returns the operator that a node's stamp runs; `None` for a node without a dispatch.
fn operator<'p>(
    program: &'p Program,
    facts: &Facts,
    id: NodeId,
    components: &Bindings,
) -> Result<Option<(Domain, &'p str)>, String> {
    if let Some(contradiction) = facts.contradictions.get(id) {
        return Err(contradiction.error.to_string());
    }
    let Some(placement) = facts.placements.get(id) else { return Ok(None) };
    let node = &program[id];
    check_attributes(placement, node).map_err(|error| error.to_string())?;
    let Placement { slot, role, storages, method } = placement;
    let bound = components.get(slot);
    if let Some(bound) = bound {
        if bound.role != *role {
            return Err(format!("slot `{slot}` requires {role}, and its component is {}", bound.role));
        }
        for (assoc, id) in &**storages {
            if bound.stores(assoc).is_none_or(|stored| *id != stored.id) {
                return Err(
                    operators::demand(slot, role.trait_name(), assoc, id) + ", which its component does not"
                );
            }
        }
    }
    let Some(method) = method else { return Ok(None) };
    let found = operator_of(*role, method, node, bound.and_then(|bound| bound.protocol));
    found.map(Some).ok_or_else(|| format!("{role} has no method `{method}`"))
}

/// Rejects stamped results of operators that neither ONNX nor the registry nor a function of the program
/// defines.
pub(super) fn check_operators(program: &Program, components: &Bindings) -> Result<(), LoadError> {
    let registry = Registry::of(components).map_err(BuildError::from)?;
    let callees = program.callees();
    let is_unknown = |id: NodeId| {
        let node = &program[id];
        let version = program.imported(&node.domain).unwrap_or(i64::MAX);
        let found = registry.lookup(node.domain.name(), &node.op, version);
        matches!(found, Lookup::UnknownOperator | Lookup::UnknownDomain)
            && callees.find(program, node).is_none()
    };
    for graph in program.graphs_in(program.main()) {
        let graph = &program[graph];
        let stamped: HashSet<ValueId> =
            graph.ports().filter(|port| port.declared.is_some()).map(|port| port.value).collect();
        let has_stamp =
            |node: &NodeId| program[*node].outputs.iter().flatten().any(|it| stamped.contains(it));
        if let Some(id) = graph.nodes.iter().copied().filter(has_stamp).find(|node| is_unknown(*node)) {
            let message = format!(
                "its operator `{}` of the domain `{}` is unknown, so the types of its results cannot be checked",
                program[id].op,
                program[id].domain.name()
            );
            return Err(other(label(program, id), message));
        }
    }
    Ok(())
}

/// Compares the denotations and element types of all values with their solved types.
pub(super) fn check_types(program: &Program, types: &Types) -> Result<(), LoadError> {
    for port in program.graphs_in(program.main()).into_iter().flat_map(|graph| program[graph].ports()) {
        let Some(stamped) = &port.declared else { continue };
        let solved = types.get(port.value).filter(|ty| ty.is_concrete());
        let Some(solved) = solved.map(DeclaredType::from) else { continue };
        if !stamped.agrees(&solved) {
            let message = format!("its stamp is {}, and its type is {}", shown(stamped), shown(&solved));
            return Err(other(format!("value `{}`", program[port.value].name), message));
        }
    }
    Ok(())
}

fn shown(ty: &DeclaredType) -> String {
    format!("{ty} ({})", ty.denotation())
}

/// Compares the peer classes and the parts of a program with sends with those of its main graph; returns the
/// parts.
pub(super) fn check_parts(
    program: &Program,
    facts: &Facts,
    recorded: &[FunctionProto],
    components: &Bindings,
) -> Result<Vec<Part>, LoadError> {
    if recorded.is_empty() && !has_sends(program) {
        return Ok(Vec::new());
    }
    let registry = Registry::of(components).map_err(BuildError::from)?;
    let classes = Classes::of(program, facts, &registry)?;
    let mut computed = Facts::default();
    classes.note(program, &mut computed);
    let Graph { nodes, .. } = &program[program.main()];
    if let Some(id) = nodes.iter().find(|id| facts.node_classes.get(**id) != computed.node_classes.get(**id))
    {
        return Err(other(label(program, *id), "its peer class differs from the computed one"));
    }
    for port in program[program.main()].ports() {
        if facts.value_classes.get(port.value) != computed.value_classes.get(port.value) {
            let value = format!("value `{}`", program[port.value].name);
            return Err(other(value, "its peer class differs from the computed one"));
        }
    }
    if recorded.is_empty() {
        return Ok(Vec::new());
    }
    let mut program = program.clone();
    program.parts = parts(&program, &classes);
    let computed: Vec<FunctionProto> = Writer::new(&program, facts).parts().collect();
    if computed.len() != recorded.len() {
        let message =
            format!("the file has {}, and the program {}", counted(recorded.len(), "part"), computed.len());
        return Err(other("the program".to_owned(), message));
    }
    match computed.iter().zip(recorded).find(|(part, recorded)| part != recorded) {
        Some((part, _)) => Err(other(format!("part `{}`", part.name()), "it differs from the program")),
        None => Ok(program.parts),
    }
}

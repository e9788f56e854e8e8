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
use typeloom_module::dispatch::{Stamp, operator_of};
use typeloom_module::names::{self, PEER_CLASS};
use typeloom_module::registry::Registry;
use typeloom_module::{ir, operators};
use typeloom_onnx::domain::canonical;
use typeloom_onnx::messages::{
    FunctionProto, GraphProto, ModelProto, NodeProto, TypeProto, ValueInfoProto, type_proto,
};
use typeloom_onnx::nested;
use typeloom_solver::catalogue::{Catalogue as _, Lookup};
use typeloom_solver::model::value_types::ValueTypes;
use typeloom_solver::value_type::ValueType;

use super::LoadError;
use crate::error::BuildError;
use crate::passes::infer_peer_classes::{Classes, is_wire, stamp_classes};
use crate::passes::partition::{PARTITION_DOMAIN, parts};

fn other(location: String, message: impl ToString) -> LoadError {
    LoadError::Stamp { location, message: message.to_string() }
}

/// Names a node in messages.
fn label(node: &NodeProto) -> String {
    let output = node.output.iter().find(|output| !output.is_empty());
    output.map_or_else(|| format!("`{}`", node.op_type()), |output| format!("node of `{output}`"))
}

/// Checks the stamps of all nodes. If a node runs the method of another operator, returns the model with the
/// operators that run, to be typed.
pub(super) fn check_nodes(
    model: &ModelProto,
    components: &Bindings,
) -> Result<Option<ModelProto>, LoadError> {
    let mut error = None;
    let mut differs = false;
    each_node(model, |node| match operator(node, components) {
        Ok(Some((domain, op))) => {
            differs |= (canonical(domain), op) != (canonical(node.domain()), node.op_type());
        }
        Ok(None) => {}
        Err(message) => error = error.take().or_else(|| Some(other(label(node), message))),
    });
    if let Some(error) = error {
        return Err(error);
    }
    if !differs {
        return Ok(None);
    }
    let mut model = model.clone();
    let run_stamped = |node: &mut NodeProto| {
        if let Ok(Some((domain, op))) = operator(node, components) {
            let (domain, op) = (domain.to_owned(), op.to_owned());
            (node.domain, node.op_type) = (domain.into(), op.into());
        }
    };
    nested::each_node_mut(model.graph.get_or_insert_default(), run_stamped);
    Ok(Some(model))
}

fn each_node<'m>(model: &'m ModelProto, mut look: impl FnMut(&'m NodeProto)) {
    if let Some(graph) = &model.graph {
        nested::each_node(graph, &mut look);
    }
    for node in model.functions.iter().flat_map(|function| &function.node) {
        look(node);
        nested::graphs(node).for_each(|graph| nested::each_node(graph, &mut look));
    }
}

/// Returns the operator that a node's stamp runs; `None` for a node without a dispatch.
fn operator<'n>(node: &'n NodeProto, components: &Bindings) -> Result<Option<(&'n str, &'n str)>, String> {
    let Some(Stamp { slot, role, method }) = Stamp::read(node).map_err(|error| error.to_string())? else {
        return Ok(None);
    };
    let bound = components.get(slot);
    if let Some(bound) = bound {
        if bound.role != role {
            return Err(format!("slot `{slot}` requires {role}, and its component is {}", bound.role));
        }
        for entry in &node.metadata_props {
            let Some(assoc) = entry.key().strip_prefix(names::BINDING) else { continue };
            let assoc = assoc.strip_prefix('.').unwrap_or_default();
            if bound.stores(assoc).is_none_or(|stored| stored.id != entry.value()) {
                return Err(operators::demand(slot, role.trait_name(), assoc, entry.value())
                    + ", which its component does not");
            }
        }
    }
    let Some(method) = method else { return Ok(None) };
    let found = operator_of(role, method, node, bound.and_then(|bound| bound.protocol));
    found.map(Some).ok_or_else(|| format!("{role} has no method `{method}`"))
}

/// Rejects stamped results of operators that neither ONNX nor the registry nor a function of the model
/// defines.
pub(super) fn check_operators(model: &ModelProto, components: &Bindings) -> Result<(), LoadError> {
    let registry = Registry::of(components).map_err(BuildError::from)?;
    let is_function = |node: &NodeProto| {
        model
            .functions
            .iter()
            .any(|function| (function.domain(), function.name()) == (node.domain(), node.op_type()))
    };
    let is_unknown = |node: &NodeProto| {
        let version = ir::imported(model, node.domain()).unwrap_or(i64::MAX);
        let found = registry.lookup(node.domain(), node.op_type(), version);
        matches!(found, Lookup::UnknownOperator | Lookup::UnknownDomain) && !is_function(node)
    };
    let mut error = None;
    let Some(graph) = &model.graph else { return Ok(()) };
    nested::each_graph(graph, |graph, _| {
        let stamped: HashSet<&str> =
            infos(graph).filter(|info| info.r#type.is_some()).map(ValueInfoProto::name).collect();
        let has_stamp =
            |node: &&NodeProto| node.output.iter().any(|output| stamped.contains(output.as_str()));
        if let Some(node) = graph.node.iter().filter(has_stamp).find(|node| is_unknown(node)) {
            let message = format!(
                "its operator `{}` of the domain `{}` is unknown, so the types of its results cannot be checked",
                node.op_type(),
                node.domain()
            );
            error = error.take().or_else(|| Some(other(label(node), message)));
        }
    });
    error.map_or(Ok(()), Err)
}

/// Compares the denotations and element types of all values with their solved types.
pub(super) fn check_types(model: &ModelProto, types: &ValueTypes) -> Result<(), LoadError> {
    let Some(graph) = &model.graph else { return Ok(()) };
    let mut error = None;
    let mut number = 0;
    nested::each_graph(graph, |graph, _| {
        for info in infos(graph) {
            let Some(stamped) = &info.r#type else { continue };
            let solved = types.get(number, info.name()).filter(|ty| ty.is_concrete());
            let Some(solved) = solved.map(ValueType::to_message) else { continue };
            if !agrees(stamped, &solved) {
                let message = format!("its stamp is {}, and its type is {}", shown(stamped), shown(&solved));
                error = error.take().or_else(|| Some(other(format!("value `{}`", info.name()), message)));
            }
        }
        number += 1;
    });
    error.map_or(Ok(()), Err)
}

/// Whether the denotation and the element type of a stamp are those of a solved type, as far as the stamp has
/// them.
fn agrees(stamped: &TypeProto, solved: &TypeProto) -> bool {
    let denotation = |ty: &TypeProto| Some(ty.denotation.clone()).filter(|text| !text.is_empty());
    let elem = |ty: &TypeProto| match &ty.value {
        Some(type_proto::Value::TensorType(tensor)) => tensor.elem_type.filter(|elem| *elem != 0),
        _ => None,
    };
    let denotes =
        denotation(stamped).zip(denotation(solved)).is_none_or(|(stamped, solved)| stamped == solved);
    denotes && elem(stamped).zip(elem(solved)).is_none_or(|(stamped, solved)| stamped == solved)
}

fn shown(ty: &TypeProto) -> String {
    format!("{} ({})", ir::show_type(ty), ty.denotation)
}

fn infos(graph: &GraphProto) -> impl Iterator<Item = &ValueInfoProto> {
    graph.input.iter().chain(&graph.output).chain(&graph.value_info)
}

/// Compares the peer classes and the parts of a program with sends with those of its main graph.
pub(super) fn check_parts(model: &ModelProto, components: &Bindings) -> Result<(), LoadError> {
    let Some(graph) = &model.graph else { return Ok(()) };
    let recorded: Vec<&FunctionProto> =
        model.functions.iter().filter(|function| function.domain() == PARTITION_DOMAIN).collect();
    if recorded.is_empty() && !graph.node.iter().any(|node| is_wire(node, "Send")) {
        return Ok(());
    }
    let registry = Registry::of(components).map_err(BuildError::from)?;
    let classes = Classes::of(graph, &registry)?;
    let mut stamped = graph.clone();
    stamp_classes(&mut stamped, &classes);
    for (node, stamped) in graph.node.iter().zip(&stamped.node) {
        if ir::metadata(node, PEER_CLASS) != ir::metadata(stamped, PEER_CLASS) {
            return Err(other(label(node), "its peer class differs from the computed one"));
        }
    }
    for (info, stamped) in infos(graph).zip(infos(&stamped)) {
        if ir::lookup(&info.metadata_props, PEER_CLASS) != ir::lookup(&stamped.metadata_props, PEER_CLASS) {
            return Err(other(
                format!("value `{}`", info.name()),
                "its peer class differs from the computed one",
            ));
        }
    }
    if recorded.is_empty() {
        return Ok(());
    }
    let parts = parts(model, &classes);
    if parts.len() != recorded.len() {
        let message = format!("the file has {} parts, and the program {}", recorded.len(), parts.len());
        return Err(other("the program".to_owned(), message));
    }
    match parts.iter().zip(recorded).find(|(part, recorded)| part != recorded) {
        Some((part, _)) => Err(other(format!("part `{}`", part.name()), "it differs from the program")),
        None => Ok(()),
    }
}

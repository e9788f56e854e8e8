//! `resolve_dispatch`: assigns every node on a slot to a method of its component.

use std::sync::Arc;

use typeloom_contracts::role::Role;
use typeloom_module::graph::operators::method_name;
use typeloom_module::ir::{self, Map};
use typeloom_module::names;
use typeloom_module::names::snake_case;
use typeloom_onnx::messages::{NodeProto, SharedText};
use typeloom_onnx::nested;
use typeloom_types::op::primitives::TENSOR_PRIMITIVES;

use super::lower::{VisibleTypes, computes, is_primitive};
use crate::error::BuildError;
use crate::stage::{Dispatch, Dispatched, Lowered};
use crate::unit::Unit;

/// Resolves every node on a slot to a method of its component.
pub(crate) fn run(lowered: Lowered) -> Result<Dispatched, BuildError> {
    let Lowered { mut unit, types, interface, refusals } = lowered;
    let Unit { model, bindings, .. } = &mut unit;
    let mut dispatch = Vec::new();
    let mut errors = Vec::new();
    // Nodes of one operator on one slot share their texts.
    let mut known: Map<[Arc<str>; 3], (Role, Arc<str>, SharedText)> = Map::default();
    let mut texts: Map<String, Arc<str>> = Map::default();
    let mut number = 0;
    let mut resolve = |node: &mut NodeProto, types: &VisibleTypes<'_>| {
        let Some(slot) = ir::metadata(node, names::SLOT_ID) else { return };
        let slot = shared(&mut texts, slot);
        let operator = shared(&mut texts, node.op_type());
        let first = || node.output.iter().find(|output| !output.is_empty()).cloned().unwrap_or_default();
        let domain = shared(&mut texts, node.domain());
        let key = [Arc::clone(&slot), domain, Arc::clone(&operator)];
        if let Some((role, method, stamp)) = known.get(&key) {
            let (role, method) = (*role, Arc::clone(method));
            dispatch.push(Dispatch { node: first(), slot, role, method, operator });
            ir::set(&mut node.metadata_props, &*names::keys::DISPATCH, stamp);
            return;
        }
        let role = ir::metadata(node, names::REQUIRED_TRAIT).and_then(Role::from_trait_name);
        // Slots without a component exist in permissive mode only.
        let (Some(role), Some(bound)) = (role, bindings.get(&slot)) else { return };
        let fits = match role {
            Role::Backend => computes(bound, node, |value| types.leaf(value)),
            Role::Protocol => bound
                .protocol
                .is_some_and(|opset| opset.domain == node.domain() && opset.op(node.op_type()).is_some()),
            Role::Index
            | Role::Model
            | Role::Aggregator
            | Role::Codec
            | Role::DataSource
            | Role::PeerSelector => true,
        };
        if !fits {
            let why = match role == Role::Backend {
                true => no_form(node, types, refusals.get(&node.output.concat())),
                false => ", which is no operator of its protocol".to_owned(),
            };
            errors.push(BuildError::NotDispatchable {
                message: format!(
                    "`{}`, which is bound to slot `{slot}`, does not compute `{}`{why}",
                    bound.component,
                    node.op_type(),
                ),
                source_line: ir::metadata(node, names::SOURCE_LOCATION).unwrap_or_default().to_owned(),
            });
            return;
        }
        let method: Arc<str> = method(role, node).into();
        let stamp = SharedText::from(format!("{slot}.{method}"));
        dispatch.push(Dispatch { node: first(), slot, role, method: Arc::clone(&method), operator });
        ir::set(&mut node.metadata_props, &*names::keys::DISPATCH, &stamp);
        // Whether a backend computes an operator that is not a primitive can depend on types.
        if role != Role::Backend || is_primitive(node) {
            known.insert(key, (role, method, stamp));
        }
    };
    nested::each_graph_mut(model.graph.get_or_insert_default(), |graph, _| {
        let visible = VisibleTypes { types: &types, graph: number };
        graph.node.iter_mut().for_each(|node| resolve(node, &visible));
        number += 1;
    });
    dispatch.shrink_to_fit();
    BuildError::of(errors).map(|()| Dispatched { unit, interface, dispatch })
}

/// Returns the reason why a backend cannot run a node: its element types, and the obstacle to lowering it.
fn no_form(node: &NodeProto, types: &VisibleTypes<'_>, why: Option<&String>) -> String {
    let mut found: Vec<&str> = node.input.iter().filter_map(|value| Some(types.leaf(value)?.id)).collect();
    found.dedup();
    let on = if found.is_empty() { String::new() } else { format!(" on {}", found.join(", ")) };
    let why = why.map_or_else(String::new, |why| format!(": {why}"));
    format!("{on}, which is no primitive and has no form in primitives here{why}")
}

fn shared(texts: &mut Map<String, Arc<str>>, text: &str) -> Arc<str> {
    match texts.get(text) {
        Some(shared) => Arc::clone(shared),
        None => Arc::clone(texts.entry(text.to_owned()).or_insert_with(|| text.into())),
    }
}

/// Returns the method of a contract that runs a node.
fn method(role: Role, node: &NodeProto) -> String {
    let op = node.op_type();
    match role {
        Role::Backend if TENSOR_PRIMITIVES.op(op).is_some() => method_name(op),
        Role::Backend => "execute".to_owned(),
        Role::Index
        | Role::Model
        | Role::Aggregator
        | Role::Codec
        | Role::DataSource
        | Role::PeerSelector
        | Role::Protocol => snake_case(op),
    }
}

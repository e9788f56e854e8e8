//! `insert_cast_ops`: inserts the casts that the solver planned.
//!
//! A cast is `ai.bytesandbrains.types.Cast` with the ids of type nodes as attributes `from` and `to`. All
//! ports of a graph that need the same cast of a value share one node.

use std::collections::HashMap;

use typeloom_module::ir;
use typeloom_module::names;
use typeloom_onnx::messages::{IntoAttribute, ModelProto, NodeProto, ValueInfoProto, opset_import};
use typeloom_onnx::nested;

use crate::error::BuildError;
use crate::planned_casts::{CastEnd, CastSite, PlannedCast};
use crate::stage::Solved;

/// Inserts the planned casts, with the types of their results.
pub(crate) fn run(mut solved: Solved) -> Result<Solved, BuildError> {
    let planned = std::mem::take(&mut solved.casts);
    if planned.is_empty() {
        return Ok(solved);
    }
    let Solved { unit, types, .. } = &mut solved;
    unit.report.casts.extend(planned.iter().map(PlannedCast::report));
    let made = insert(&mut unit.model, &planned);
    nested::each_numbered_graph_mut(unit.graph_mut(), |graph, number| {
        for (_, name) in made.iter().filter(|(of, _)| *of == number) {
            if let Some(ty) = types.get(number, name).filter(|ty| ty.is_concrete()) {
                graph
                    .value_info
                    .push(ValueInfoProto { r#type: Some(ty.to_message()), ..ir::value_info(name) });
            }
        }
    });
    Ok(solved)
}

/// Inserts casts into a program; returns the new values with the numbers of their graphs.
pub(crate) fn insert(model: &mut ModelProto, planned: &[PlannedCast]) -> Vec<(usize, String)> {
    if ir::imported(model, names::TYPES_DOMAIN).is_none() {
        model.opset_import.push(opset_import(names::TYPES_DOMAIN, 1));
    }
    let graph = model.graph.get_or_insert_default();
    let mut taken = nested::value_names(graph);
    let mut made = Vec::new();
    let mut by_node: HashMap<usize, HashMap<usize, Vec<&PlannedCast>>> = HashMap::new();
    for cast in planned {
        by_node.entry(cast.graph).or_default().entry(cast.site.node).or_default().push(cast);
    }
    nested::each_numbered_graph_mut(graph, |graph, number| {
        let here = by_node.remove(&number).unwrap_or_default();
        if !here.is_empty() {
            let mut shared: HashMap<(String, &str), String> = HashMap::new();
            let mut nodes = Vec::with_capacity(graph.node.len() + here.len());
            for (at, mut node) in std::mem::take(&mut graph.node).into_iter().enumerate() {
                let mut after = Vec::new();
                for cast in here.get(&at).into_iter().flatten() {
                    let PlannedCast { site: CastSite { end, port, value, .. }, from, to, .. } = cast;
                    match end {
                        CastEnd::Input => {
                            let name = shared.entry((value.clone(), *to)).or_insert_with(|| {
                                let name = ir::fresh(&mut taken, &format!("{value}.{}", short(to)));
                                nodes.push(cast_node(value, &name, from, to, &node));
                                made.push((number, name.clone()));
                                name
                            });
                            node.input[*port].clone_from(name);
                        }
                        CastEnd::Output => {
                            let name = ir::fresh(&mut taken, &format!("{value}.{}", short(from)));
                            node.output[*port].clone_from(&name);
                            after.push(cast_node(&name, value, from, to, &node));
                            made.push((number, name));
                        }
                    }
                }
                nodes.push(node);
                nodes.extend(after);
            }
            graph.node = nodes;
        }
    });
    made
}

fn short(node: &str) -> &str {
    node.rsplit_once('.').map_or(node, |(_, name)| name)
}

fn cast_node(from_value: &str, to_value: &str, from: &str, to: &str, like: &NodeProto) -> NodeProto {
    let attribute = vec![from.into_attribute("from"), to.into_attribute("to")];
    NodeProto { attribute, ..ir::types_node("Cast", from_value, to_value, ir::source_location(like)) }
}

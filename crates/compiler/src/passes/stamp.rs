//! `stamp`: every value carries its denotation and ONNX type.

use std::sync::Arc;

use typeloom_onnx::messages::{GraphProto, TensorProto, TypeProto, ValueInfoProto, type_proto};

use crate::error::BuildError;
use crate::graph::recorder::value_info;
use crate::ir::{self, Map, Set};
use crate::pass::Pass;
use crate::unit::{Stamp, Unit};

/// The pass.
pub struct StampTypes;

impl Pass for StampTypes {
    fn name(&self) -> &str {
        "stamp"
    }

    fn run(&self, unit: &mut Unit) -> Result<(), BuildError> {
        stamp_all(unit);
        Ok(())
    }
}

/// Stamps the values of all graphs with what was solved.
pub(crate) fn stamp_all(unit: &mut Unit) {
    let Some(solved) = unit.solved.take() else { return };
    let mut at = 0;
    ir::each_graph_mut(unit.graph_mut(), |graph, _| {
        if let Some(stamps) = solved.graphs.get(at) {
            stamp_graph(graph, stamps);
        }
        at += 1;
    });
    unit.solved = Some(solved);
}

/// Stamps the values of one graph.
fn stamp_graph(graph: &mut GraphProto, stamps: &Map<String, Arc<Stamp>>) {
    let GraphProto { input, output, value_info: infos, node, initializer, .. } = graph;
    for info in input.iter_mut().chain(&mut *output).chain(&mut *infos) {
        if let Some(stamp) = stamps.get(info.name()) {
            stamp_value(info, stamp);
        }
    }
    let listed = input.iter().chain(&*output).chain(&*infos);
    let known: Set<&str> = listed.map(ValueInfoProto::name).collect();
    let initializers = initializer.iter().map(TensorProto::name);
    let made = node.iter().flat_map(|node| &node.output).map(String::as_str);
    let missing = initializers.chain(made).filter(|name| !name.is_empty() && !known.contains(name));
    let new: Vec<ValueInfoProto> = missing
        .filter_map(|name| {
            let stamp = stamps.get(name).filter(|stamp| stamp.concrete)?;
            Some(ValueInfoProto { r#type: Some(stamp.ty.clone()), ..value_info(name) })
        })
        .collect();
    infos.extend(new);
}

/// Stamps one value: the denotation is set, what a declaration leaves open is filled in.
pub(crate) fn stamp_value(info: &mut ValueInfoProto, stamp: &Stamp) {
    if !stamp.concrete {
        return;
    }
    let declared = info.r#type.take();
    info.r#type = Some(match declared {
        None => stamp.ty.clone(),
        Some(declared) => filled(declared, &stamp.ty),
    });
}

/// A declared type with what the solver found besides.
fn filled(mut declared: TypeProto, found: &TypeProto) -> TypeProto {
    if found.denotation.is_some() {
        declared.denotation.clone_from(&found.denotation);
    }
    match (&mut declared.value, &found.value) {
        (Some(type_proto::Value::TensorType(old)), Some(type_proto::Value::TensorType(new))) => {
            if old.elem_type.is_none_or(|elem| elem == 0) {
                old.elem_type = new.elem_type;
            }
            match (&mut old.shape, &new.shape) {
                (shape @ None, found) => shape.clone_from(found),
                (Some(shape), Some(found)) if shape.dim.len() == found.dim.len() => {
                    let open = shape.dim.iter_mut().zip(&found.dim).filter(|(dim, _)| dim.value.is_none());
                    open.for_each(|(dim, found)| dim.value.clone_from(&found.value));
                }
                (Some(_), Some(_) | None) => {}
            }
        }
        (value @ None, Some(_)) => value.clone_from(&found.value),
        (Some(_) | None, Some(_) | None) => {}
    }
    declared
}

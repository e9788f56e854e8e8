//! `stamp`: every value carries its denotation and ONNX type.

use std::collections::{HashMap, HashSet};

use typeloom_onnx::messages::{GraphProto, TensorProto, TypeProto, ValueInfoProto, type_proto};

use crate::error::BuildError;
use crate::graph::recorder::value_info;
use crate::ir;
use crate::pass::Pass;
use crate::unit::{Stamp, Unit};

/// The pass.
pub struct StampTypes;

impl Pass for StampTypes {
    fn name(&self) -> &str {
        "stamp"
    }

    fn run(&self, unit: &mut Unit) -> Result<(), BuildError> {
        let Some(solved) = unit.solved.take() else { return Ok(()) };
        let mut at = 0;
        ir::each_graph_mut(unit.graph_mut(), |graph, _| {
            if let Some(stamps) = solved.graphs.get(at) {
                stamp_graph(graph, stamps);
            }
            at += 1;
        });
        unit.solved = Some(solved);
        Ok(())
    }
}

/// Stamps the values of one graph.
fn stamp_graph(graph: &mut GraphProto, stamps: &HashMap<String, Stamp>) {
    let mut known: HashSet<String> = HashSet::with_capacity(stamps.len());
    let GraphProto { input, output, value_info: infos, node, initializer, .. } = graph;
    for info in input.iter_mut().chain(output).chain(infos.iter_mut()) {
        if let Some(stamp) = stamps.get(info.name()) {
            stamp_value(info, stamp);
        }
        known.insert(info.name().to_owned());
    }
    let initializers = initializer.iter().map(TensorProto::name);
    let made = node.iter().flat_map(|node| &node.output).map(String::as_str);
    for name in initializers.chain(made).filter(|name| !name.is_empty()) {
        if !known.contains(name)
            && let Some(stamp) = stamps.get(name).filter(|stamp| stamp.concrete)
        {
            known.insert(name.to_owned());
            let mut info = value_info(name);
            stamp_value(&mut info, stamp);
            infos.push(info);
        }
    }
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

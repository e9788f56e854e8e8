//! `stamp`: every value carries its denotation and ONNX type.

use typeloom_onnx::messages::{GraphProto, TensorProto, TypeProto, ValueInfoProto, type_proto};
use typeloom_onnx::nested;

use crate::error::BuildError;
use crate::graph::recorder::value_info;
use crate::ir::{Map, Set};
use crate::pass::Pass;
use crate::stamps::{Cursor, Solved, Stamp, StampId};
use crate::unit::Unit;

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
    nested::each_graph_mut(unit.graph_mut(), |graph, _| {
        if let Some(cursor) = solved.cursor(at) {
            stamp_graph(graph, &solved, cursor);
        }
        at += 1;
    });
    unit.solved = Some(solved);
}

/// Stamps the values of one graph.
fn stamp_graph(graph: &mut GraphProto, solved: &Solved, mut cursor: Cursor<'_>) {
    let GraphProto { input, output, value_info: infos, node, initializer, .. } = graph;
    let listed = input.iter().chain(&*output).chain(&*infos).map(ValueInfoProto::name);
    let listed: Set<&str> = listed.collect();
    // What a graph reads stands before what it makes.
    let mut found: Map<&str, StampId> = input.iter().filter_map(|info| cursor.find(info.name())).collect();
    let makes: usize = node.iter().map(|node| node.output.len()).sum();
    let mut new = Vec::with_capacity((initializer.len() + makes).saturating_sub(listed.len()));
    let initializers = initializer.iter().map(TensorProto::name);
    let made = node.iter().flat_map(|node| &node.output).map(String::as_str);
    for name in initializers.chain(made).filter(|name| !name.is_empty()) {
        let Some((name, stamp)) = cursor.find(name) else { continue };
        if listed.contains(name) {
            found.insert(name, stamp);
            continue;
        }
        let stamp = solved.stamp(stamp);
        if stamp.concrete {
            new.push(ValueInfoProto { r#type: Some(stamp.ty.clone()), ..value_info(name) });
        }
    }
    drop(listed);
    for info in input.iter_mut().chain(output).chain(&mut *infos) {
        let stamp = found.get(info.name()).copied();
        let stamp = stamp.or_else(|| Some(cursor.find(info.name())?.1));
        if let Some(stamp) = stamp {
            stamp_value(info, solved.stamp(stamp));
        }
    }
    if infos.is_empty() {
        *infos = new;
    } else {
        infos.extend(new);
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

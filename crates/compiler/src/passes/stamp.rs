//! `stamp`: writes the solved type of every value into the IR, as its denotation and ONNX type.

use typeloom_module::ir::Set;
use typeloom_module::ir::value_info;
use typeloom_onnx::messages::{GraphProto, TensorProto, TypeProto, ValueInfoProto, type_proto};
use typeloom_onnx::nested;
use typeloom_solver::model::value_types::ValueTypes;
use typeloom_solver::value_type::ValueType;

use crate::error::BuildError;
use crate::stage::Solved;
use crate::unit::Unit;

/// Stamps every value with its solved type.
pub(crate) fn run(mut solved: Solved) -> Result<Solved, BuildError> {
    stamp_all(&mut solved.unit, &solved.types);
    Ok(solved)
}

/// Stamps the values of all graphs.
pub(crate) fn stamp_all(unit: &mut Unit, types: &ValueTypes) {
    let message = |ty: &ValueType| ty.is_concrete().then(|| ty.to_message());
    let messages: Vec<Option<TypeProto>> = types.distinct().iter().map(message).collect();
    nested::each_numbered_graph_mut(unit.graph_mut(), |graph, number| {
        stamp_graph(graph, |name| messages[types.number_of(number, name)?.index()].as_ref());
    });
}

/// Stamps the values of one graph; `type_of` returns the messages of concrete types.
fn stamp_graph<'t>(graph: &mut GraphProto, type_of: impl Fn(&str) -> Option<&'t TypeProto>) {
    let GraphProto { input, output, value_info: infos, node, initializer, .. } = graph;
    let listed: Set<&str> = input.iter().chain(&*output).chain(&*infos).map(ValueInfoProto::name).collect();
    let made: usize = node.iter().map(|node| node.output.len()).sum();
    let mut new = Vec::with_capacity((initializer.len() + made).saturating_sub(listed.len()));
    let initializers = initializer.iter().map(TensorProto::name);
    let made = node.iter().flat_map(|node| &node.output).map(String::as_str);
    for name in initializers.chain(made).filter(|name| !name.is_empty() && !listed.contains(name)) {
        if let Some(ty) = type_of(name) {
            new.push(ValueInfoProto { r#type: Some(ty.clone()), ..value_info(name) });
        }
    }
    for info in input.iter_mut().chain(output).chain(&mut *infos) {
        if let Some(found) = type_of(info.name()) {
            info.r#type = Some(match info.r#type.take() {
                None => found.clone(),
                Some(declared) => filled(declared, found),
            });
        }
    }
    if infos.is_empty() {
        *infos = new;
    } else {
        infos.extend(new);
    }
}

/// Completes a declared type by the solved one.
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
        // The solved composite has the declared children with all that is known about them.
        (value @ (None | Some(type_proto::Value::OpaqueType(_))), Some(_)) => value.clone_from(&found.value),
        (Some(_) | None, Some(_) | None) => {}
    }
    declared
}

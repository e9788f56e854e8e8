//! Declared types of the values that stay.

use std::collections::HashMap;

use typeloom_onnx::messages::tensor_shape_proto::dimension::Value as DimValue;
use typeloom_onnx::messages::{ValueInfoProto, read};
use typeloom_onnx::splice::{Records, Splice};
use typeloom_solver::model::Checked;
use typeloom_solver::program::{GraphId, ValueId};

use super::SpecializeError;
use crate::coerce::layout::Source;
use crate::declared;
use crate::fields::{GRAPH_INPUT, GRAPH_OUTPUT};
use crate::unused::Used;

/// The extents that are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Extents {
    /// Those that the caller assumes.
    Assumed,
    /// Those, and the proven ones.
    Proven,
}

/// Writes assumed and proven extents into the declarations of a graph.
pub(super) fn complete<'a>(
    checked: &mut Checked<'_>,
    extents: Extents,
    (source, graph): (Source<'a>, GraphId),
    values: &HashMap<(GraphId, &'a str), ValueId>,
    used: &Used<'_>,
    splice: &mut Splice<'_>,
) -> Result<(), SpecializeError> {
    let listed = checked.body().graph(graph);
    let (mut inputs, mut outputs) = (listed.inputs.clone().into_iter(), listed.outputs.clone().into_iter());
    for (field, info) in source.declarations()? {
        let name = info.parse()?.name;
        let value = match field.number {
            GRAPH_INPUT => inputs.next(),
            GRAPH_OUTPUT => outputs.next(),
            _ if used.values.contains(&(graph, name)) => values.get(&(graph, name)).copied(),
            _ => continue,
        };
        let old: ValueInfoProto = read(bytes::Bytes::copy_from_slice(info.bytes()))?;
        let mut new = old.clone();
        if let Some(ty) = &mut new.r#type {
            declared::assume(ty, declared::kind_of(&field), checked);
        }
        let is_input = field.number == GRAPH_INPUT && checked.body().root() == graph;
        if let Some(value) = value.filter(|_| !is_input && extents == Extents::Proven) {
            let ty = checked.proven_type_of(value);
            let message = ty.value_type(checked.universe(), checked.dims());
            message.fill(&mut new.r#type.get_or_insert_default().value);
            if new.r#type.as_ref().is_some_and(|ty| ty.value.is_none()) {
                new.r#type.clone_from(&old.r#type);
            }
            let extents = ty.tensor().and_then(|tensor| tensor.shape.as_ref());
            if let (Some(extents), Some(shape)) = (extents, new.r#type.as_mut().and_then(declared::shape))
                && extents.len() == shape.dim.len()
            {
                for (dim, extent) in shape.dim.iter_mut().zip(extents) {
                    if let Some(extent) = checked.dims().as_constant(*extent) {
                        dim.value = Some(DimValue::DimValue(extent));
                    }
                }
            }
        }
        if new != old {
            splice.replace(source.offset(), &field, Records::new().message(field.number, &new));
        }
    }
    Ok(())
}

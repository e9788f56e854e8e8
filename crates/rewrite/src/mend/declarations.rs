//! Repairs of false declared shapes.

use std::collections::{HashMap, HashSet};

use typeloom_dim::is_placeholder;
use typeloom_onnx::DecodeError;
use typeloom_onnx::messages::tensor_shape_proto::dimension::Value as DimValue;
use typeloom_onnx::messages::type_proto::Value as TypeValue;
use typeloom_onnx::messages::{ModelProto, TensorShapeProto, TypeProto, ValueInfoProto, read};
use typeloom_onnx::splice::{Records, Splice};
use typeloom_onnx::text::print_type;
use typeloom_solver::diagnostic::{Code, graph_path};
use typeloom_solver::model::Checked;
use typeloom_solver::program::{GraphId, Origin, ValueId};
use typeloom_solver::solve_error::SolveErrorKind;

use super::{CorrectedShape, Repairs};
use crate::coerce::layout::Source;
use crate::coerce::{RepairError, WriteError};
use crate::fields::{GRAPH_INPUT, GRAPH_OUTPUT};
use crate::names::Names;
use crate::{Settings, declared};

/// The declarations to correct.
struct FalseShapes {
    /// Values that are declared as scalars and have axes.
    scalars: HashSet<ValueId>,
    /// Whether negative extents are corrected.
    negative: bool,
    /// The replacement of placeholder names, if they are corrected.
    placeholders: Option<Naming>,
}

/// Replacement of a placeholder name of an axis of an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Naming {
    /// A unique name.
    Unique,
    /// An unknown extent.
    Unknown,
}

/// Corrects declared shapes; `None` if none is false.
///
/// If one empty shape is false, the empty shapes of all computed values are removed, and the outputs of the
/// model get the shapes that are proved without them.
pub(super) fn correct(
    bytes: &[u8],
    settings: Settings<'_>,
    repairs: Repairs,
    reshaped: &mut Vec<CorrectedShape>,
) -> Result<Option<Vec<u8>>, RepairError> {
    let checked = &settings.check(bytes)?;
    let mut shapes = FalseShapes { scalars: HashSet::new(), negative: false, placeholders: None };
    for error in checked.errors() {
        match &error.kind {
            SolveErrorKind::EmptyShape { value, .. } if repairs.contains(Code::EmptyShape) => {
                shapes.scalars.insert(*value);
            }
            SolveErrorKind::NegativeDim { declared_in: Some(_), .. } => {
                shapes.negative |= repairs.contains(Code::NegativeDim);
            }
            SolveErrorKind::PlaceholderDim { .. } if repairs.contains(Code::PlaceholderDim) => {
                shapes.placeholders = Some(Naming::Unique);
            }
            _ => {}
        }
    }
    if shapes.placeholders.is_some() {
        // A new symbol is a free dim, for which the model may be wrong. Then the extent is left unknown.
        let unknown = FalseShapes { placeholders: Some(Naming::Unknown), scalars: HashSet::new(), ..shapes };
        let errors = |shapes: &FalseShapes| -> Result<usize, RepairError> {
            let edited = edit(checked, bytes, shapes, &HashMap::new(), repairs, &mut Vec::new())?;
            let checked = settings.check(edited.as_deref().unwrap_or(bytes))?;
            Ok(checked.all_errors().filter(|error| error.is_error(settings.options.mode)).count())
        };
        let named = FalseShapes { placeholders: Some(Naming::Unique), scalars: HashSet::new(), ..shapes };
        if errors(&named)? > errors(&unknown)? {
            shapes.placeholders = Some(Naming::Unknown);
        }
    }
    if shapes.scalars.is_empty() {
        return Ok(edit(checked, bytes, &shapes, &HashMap::new(), repairs, reshaped)?);
    }
    let body = checked.body();
    let made = body.values().filter(|value| matches!(body.value(*value).origin, Origin::Step(_)));
    shapes.scalars.extend(made);
    let mut proved = HashMap::new();
    if let Some(dropped) = edit(checked, bytes, &shapes, &proved, repairs, &mut Vec::new())? {
        let mut checked = settings.check(&dropped)?;
        for output in checked.body().graph(checked.body().root()).outputs.clone() {
            let ty = checked.type_of(output);
            if let Some(ty) = ty.value_type(checked.universe(), checked.dims()).to_onnx() {
                proved.insert(checked.body().value_name(output).to_owned(), ty);
            }
        }
    }
    Ok(edit(checked, bytes, &shapes, &proved, repairs, reshaped)?)
}

/// Writes the corrections; outputs of the model get their proved types.
fn edit(
    checked: &Checked<'_>,
    bytes: &[u8],
    shapes: &FalseShapes,
    proved: &HashMap<String, TypeProto>,
    repairs: Repairs,
    reshaped: &mut Vec<CorrectedShape>,
) -> Result<Option<Vec<u8>>, WriteError> {
    let FalseShapes { scalars, negative, placeholders } = shapes;
    if scalars.is_empty() && !negative && placeholders.is_none() {
        return Ok(None);
    }
    let mut taken = symbols(checked)?;
    let mut splice = Splice::new::<ModelProto>(bytes);
    for (graph, view) in checked.body().graph_views()? {
        let values = values_of(checked, graph);
        let is_root = graph == checked.body().root();
        for (field, info) in Source::Graph(view).declarations()? {
            let old: ValueInfoProto = read(bytes::Bytes::copy_from_slice(info.bytes()))?;
            let mut new = old.clone();
            let Some(ty) = &mut new.r#type else { continue };
            let is_scalar = values.get(old.name()).is_some_and(|value| scalars.contains(value));
            if is_scalar
                && drop_empty(ty)
                && let (GRAPH_OUTPUT, true, Some(proved)) = (field.number, is_root, proved.get(old.name()))
            {
                ty.value.clone_from(&proved.value);
            }
            let is_named = field.number == GRAPH_INPUT && is_root && *placeholders == Some(Naming::Unique);
            let name = is_named.then(|| old.name().to_owned());
            if let Some(shape) = declared::shape(ty) {
                if *negative {
                    drop_negative(shape);
                }
                if placeholders.is_some() {
                    rename(shape, name.as_deref(), &mut taken);
                }
            }
            if new == old {
                continue;
            }
            let text = |info: &ValueInfoProto| info.r#type.as_ref().map(print_type).unwrap_or_default();
            reshaped.push(CorrectedShape {
                graph: graph_path(checked.body(), graph).to_string(),
                name: old.name().to_owned(),
                from: text(&old),
                to: text(&new),
            });
            repairs.mark(&mut new, info);
            splice.replace(view.offset(), &field, Records::new().message(field.number, &new));
        }
    }
    Ok(splice.changed()?)
}

/// The names of the declared dims of a model.
fn symbols(checked: &Checked<'_>) -> Result<Names, DecodeError> {
    let mut taken = Names::default();
    for (_, view) in checked.body().graph_views()? {
        for (_, info) in Source::Graph(view).declarations()? {
            let info: ValueInfoProto = read(bytes::Bytes::copy_from_slice(info.bytes()))?;
            let mut ty = info.r#type.unwrap_or_default();
            for dim in
                declared::shape(&mut ty).map(|shape| std::mem::take(&mut shape.dim)).unwrap_or_default()
            {
                if let Some(DimValue::DimParam(name)) = dim.value {
                    taken.take(&name);
                }
            }
        }
    }
    Ok(taken)
}

fn values_of<'a>(checked: &Checked<'a>, graph: GraphId) -> HashMap<&'a str, ValueId> {
    let body = checked.body();
    let own = body.values().filter(|value| body.value(*value).graph == graph);
    own.map(|value| (body.value_name(value), value)).collect()
}

/// Removes an empty shape; returns whether there was one.
fn drop_empty(ty: &mut TypeProto) -> bool {
    match &mut ty.value {
        Some(TypeValue::TensorType(tensor)) if tensor.shape.as_ref().is_some_and(|it| it.dim.is_empty()) => {
            tensor.shape = None;
            true
        }
        _ => false,
    }
}

fn drop_negative(shape: &mut TensorShapeProto) {
    for dim in &mut shape.dim {
        if matches!(dim.value, Some(DimValue::DimValue(extent)) if extent < 0) {
            dim.value = None;
        }
    }
}

/// Gives placeholders of an input unique names; those of other values become unknown extents.
fn rename(shape: &mut TensorShapeProto, input: Option<&str>, taken: &mut Names) {
    for (axis, dim) in shape.dim.iter_mut().enumerate() {
        let Some(DimValue::DimParam(name)) = &dim.value else { continue };
        if !is_placeholder(name) {
            continue;
        }
        dim.value = input.map(|input| DimValue::DimParam(fresh(input, axis, taken)));
    }
}

/// A name for an axis of an input that can be written without quotes.
fn fresh(input: &str, axis: usize, taken: &mut Names) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let mut stem: String = input.chars().map(letter).collect();
    if !stem.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        stem.insert(0, '_');
    }
    taken.fresh(&format!("{stem}_dim_{axis}"))
}

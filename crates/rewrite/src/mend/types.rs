//! Correction of declared types that the graph contradicts.
//!
//! The types that replace them are those which a check without these declarations proves. An input of the
//! model keeps its type unless an initializer contradicts it, and an output of the model keeps its element
//! type, because callers rely on both: [`coerce`](crate::coerce) converts the value instead.

use std::collections::{HashMap, HashSet};

use typeloom_onnx::messages::{ModelProto, TypeProto, ValueInfoProto, read};
use typeloom_onnx::splice::{Records, Splice};
use typeloom_onnx::text::print_type;
use typeloom_onnx::view::ValueInfoView;
use typeloom_onnx::wire::Field;
use typeloom_solver::diagnostic::graph_path;
use typeloom_solver::elem::Elem;
use typeloom_solver::model::Checked;
use typeloom_solver::program::{Body, DeclarationKind, GraphId, Origin, ValueId};

use super::{CorrectedShape, Repairs};
use crate::coerce::layout::Source;
use crate::coerce::{RepairError, WriteError};
use crate::{Settings, declared};

/// The declarations to replace, by graph, list and name.
type Contradicted<'a> = HashSet<(GraphId, DeclarationKind, &'a str)>;

/// The declarations of one graph.
struct Declaration<'a> {
    graph: GraphId,
    /// The offset of the graph.
    message: usize,
    field: Field<'a>,
    info: ValueInfoView<'a>,
    kind: DeclarationKind,
}

/// Replaces the declared types that the graph contradicts; `None` if there are none, or they are not to be
/// corrected.
pub(super) fn correct(
    bytes: &[u8],
    settings: Settings<'_>,
    repairs: Repairs,
    reshaped: &mut Vec<CorrectedShape>,
) -> Result<Option<Vec<u8>>, RepairError> {
    if !repairs.contains_types() {
        return Ok(None);
    }
    let checked = settings.check(bytes)?;
    let contradicted = contradicted(&checked);
    if contradicted.is_empty() {
        return Ok(None);
    }
    let declarations = declarations(&checked, &contradicted)?;
    let mut splice = Splice::new::<ModelProto>(bytes);
    for declaration in &declarations {
        let info = ValueInfoProto { r#type: None, ..read_info(declaration.info)? };
        let records = Records::new().message(declaration.field.number, &info);
        splice.replace(declaration.message, &declaration.field, records);
    }
    let open = splice.finish().map_err(WriteError::from)?.to_vec();
    let mut proved = proved(&mut settings.check(&open)?);
    let mut splice = Splice::new::<ModelProto>(bytes);
    let mut has_changed = false;
    for Declaration { graph, message, field, info, kind } in &declarations {
        let old = read_info(*info)?;
        let path = graph_path(checked.body(), *graph).to_string();
        let ty = proved.remove(&(path.clone(), old.name().to_owned()));
        let keeps_elem = match kind {
            DeclarationKind::Input => false,
            DeclarationKind::Output if *graph == checked.body().root() => true,
            // Declared element types follow the conversions.
            DeclarationKind::Output | DeclarationKind::Value => repairs == Repairs::All,
        };
        let mut new = ValueInfoProto { r#type: replaced(old.r#type.as_ref(), ty, keeps_elem), ..old.clone() };
        if let (Some(new), Some(old)) = (&mut new.r#type, &old.r#type)
            && new.denotation.is_none()
        {
            new.denotation.clone_from(&old.denotation);
        }
        if new == old {
            continue;
        }
        has_changed = true;
        let text = |info: &ValueInfoProto| info.r#type.as_ref().map(print_type).unwrap_or_default();
        let name = old.name().to_owned();
        reshaped.push(CorrectedShape { graph: path, name, from: text(&old), to: text(&new) });
        repairs.mark(&mut new, *info);
        splice.replace(*message, field, Records::new().message(field.number, &new));
    }
    if !has_changed {
        return Ok(None);
    }
    Ok(splice.changed().map_err(WriteError::from)?)
}

/// The declarations that the graph contradicts.
fn contradicted<'a>(checked: &Checked<'a>) -> Contradicted<'a> {
    let body = checked.body();
    let of_value = |(value, kind): (ValueId, DeclarationKind)| {
        let record = body.value(value);
        let is_interface = record.graph == body.root() && record.origin == Origin::Input;
        // The other list contradicts the type of an input of the model.
        let lists = match (kind, is_interface) {
            (DeclarationKind::Input, true) => [DeclarationKind::Value, DeclarationKind::Output],
            (kind, _) => [kind; 2],
        };
        lists.map(|kind| (record.graph, kind, body.value_name(value)))
    };
    checked.contradicted_declarations().into_iter().flat_map(of_value).collect()
}

/// The records of the declarations.
fn declarations<'a>(
    checked: &Checked<'a>,
    contradicted: &Contradicted<'a>,
) -> Result<Vec<Declaration<'a>>, WriteError> {
    let mut found = Vec::new();
    for (graph, view) in checked.body().graph_views()? {
        for (field, info) in Source::Graph(view).declarations()? {
            let kind = declared::kind_of(&field);
            if contradicted.contains(&(graph, kind, info.parse()?.name)) {
                found.push(Declaration { graph, message: view.offset(), field, info, kind });
            }
        }
    }
    Ok(found)
}

/// The proved types of the values of a model, by the paths of their graphs and their names.
fn proved(checked: &mut Checked<'_>) -> HashMap<(String, String), TypeProto> {
    let values: Vec<ValueId> = checked.body().values().collect();
    let mut types = HashMap::new();
    for value in values {
        let ty = checked.proven_type_of(value);
        let Some(ty) = ty.value_type(checked.universe(), checked.dims()).to_onnx() else { continue };
        let body: &Body<'_> = checked.body();
        let path = graph_path(body, body.value(value).graph).to_string();
        types.insert((path, body.value_name(value).to_owned()), ty);
    }
    types
}

/// The type that replaces a declared one. Without a proved type the declaration keeps no shape.
fn replaced(old: Option<&TypeProto>, proved: Option<TypeProto>, keeps_elem: bool) -> Option<TypeProto> {
    let Some(mut ty) = proved else {
        let mut open = old?.clone();
        declared::drop_shape(&mut open);
        return Some(open);
    };
    if keeps_elem
        && let Some(elem) = old.and_then(declared::elem).and_then(Elem::from_onnx)
        && declared::elem(&ty).is_some()
    {
        declared::retype(Some(&mut ty), elem);
    }
    Some(ty)
}

pub(super) fn read_info(info: ValueInfoView<'_>) -> Result<ValueInfoProto, WriteError> {
    Ok(read(bytes::Bytes::copy_from_slice(info.bytes()))?)
}

//! Correction of declared types in functions that the bodies contradict.
//!
//! A declaration in a function is true if it holds for every call. So it is replaced by the type that is
//! proved for all calls together, and dropped if there is none.

use std::collections::{BTreeMap, HashMap};

use typeloom_onnx::DecodeError;
use typeloom_onnx::messages::{ModelProto, TypeProto, ValueInfoProto};
use typeloom_onnx::splice::{Records, Splice};
use typeloom_onnx::text::print_type;
use typeloom_onnx::view::ValueInfoView;
use typeloom_onnx::wire::Field;
use typeloom_solver::diagnostic::graph_path;
use typeloom_solver::model::Options;
use typeloom_solver::program::{Body, BodySource, GraphId};

use super::types::read_info;
use super::{CorrectedShape, Repairs};
use crate::Settings;
use crate::annotate::message_of;
use crate::coerce::layout::Source;
use crate::coerce::{RepairError, WriteError, graph_text};

/// The function, the path of the graph and the name of a value.
type Key = (String, String, String);

/// A false declaration.
struct Declaration<'a> {
    key: Key,
    /// The function and the path of the graph.
    graph: String,
    /// The offset of the graph.
    message: usize,
    field: Field<'a>,
    info: ValueInfoView<'a>,
    /// Whether the list has an entry for each value, so that none can be dropped.
    is_port: bool,
}

/// Replaces the declared types that the bodies of functions contradict; `None` if there are none, or they are
/// not to be corrected.
pub(super) fn correct(
    bytes: &[u8],
    settings: Settings<'_>,
    repairs: Repairs,
    corrected: &mut Vec<CorrectedShape>,
) -> Result<Option<Vec<u8>>, RepairError> {
    if !repairs.contains_types() {
        return Ok(None);
    }
    let checked = settings.check(bytes)?;
    // Several calls contradict one declaration.
    let mut declarations: BTreeMap<usize, Declaration<'_>> = BTreeMap::new();
    for (body, value) in checked.contradictions_in_functions() {
        let (graph, name) = (body.value(value).graph, body.value_name(value));
        for declaration in declared(&body, graph, name).map_err(WriteError::from)? {
            declarations.insert(declaration.info.offset(), declaration);
        }
    }
    if declarations.is_empty() {
        return Ok(None);
    }
    let mut splice = Splice::new::<ModelProto>(bytes);
    for Declaration { message, field, info, .. } in declarations.values() {
        let open = ValueInfoProto { r#type: None, ..read_info(*info)? };
        splice.replace(*message, field, Records::new().message(field.number, &open));
    }
    let open = splice.finish().map_err(WriteError::from)?.to_vec();
    let mut proved = proved(&open, settings)?;
    let mut splice = Splice::new::<ModelProto>(bytes);
    for Declaration { key, graph, message, field, info, is_port } in declarations.into_values() {
        let old = read_info(info)?;
        let name = key.2.clone();
        let mut new = ValueInfoProto { r#type: proved.remove(&key), ..old.clone() };
        let text = |info: &ValueInfoProto| info.r#type.as_ref().map(print_type).unwrap_or_default();
        corrected.push(CorrectedShape { graph, name, from: text(&old), to: text(&new) });
        if new.r#type.is_none() && !is_port {
            splice.remove(message, &field);
            continue;
        }
        repairs.mark(&mut new, info);
        splice.replace(message, &field, Records::new().message(field.number, &new));
    }
    Ok(splice.changed().map_err(WriteError::from)?)
}

/// The declarations of a value in a graph of a function.
fn declared<'a>(body: &Body<'a>, graph: GraphId, name: &str) -> Result<Vec<Declaration<'a>>, DecodeError> {
    let mut found = Vec::new();
    for (_, source) in Source::of_body(body)?.into_iter().filter(|(own, _)| *own == graph) {
        for (field, info) in source.declarations()? {
            if info.parse()?.name == name {
                let key = key(body, graph, name)?;
                let path = graph_text(Some(&key.0), &graph_path(body, graph));
                let is_port = field.number != source.value_info_field();
                found.push(Declaration { key, graph: path, message: source.offset(), field, info, is_port });
            }
        }
    }
    Ok(found)
}

fn key(body: &Body<'_>, graph: GraphId, name: &str) -> Result<Key, DecodeError> {
    let function = match body.source() {
        BodySource::Function(function) => match function.domain()? {
            "" => function.name()?.to_owned(),
            domain => format!("{domain}.{}", function.name()?),
        },
        BodySource::Main(_) => String::new(),
    };
    Ok((function, graph_path(body, graph).to_string(), name.to_owned()))
}

/// The types in functions that are proved for all calls.
fn proved(bytes: &[u8], settings: Settings<'_>) -> Result<HashMap<Key, TypeProto>, RepairError> {
    let options = Options { functions: true, ..settings.options.clone() };
    let mut checked = Settings { options: &options, ..settings }.check(bytes)?;
    let mut types = HashMap::new();
    for function in checked.function_types() {
        let body = &function.body;
        for value in body.values() {
            if let Some(ty) = message_of(&checked, &function.types[value.index()]) {
                let key =
                    key(body, body.value(value).graph, body.value_name(value)).map_err(WriteError::from)?;
                types.insert(key, ty);
            }
        }
    }
    Ok(types)
}

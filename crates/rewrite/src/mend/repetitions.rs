//! Removal of equal repetitions of inputs and initializers.

use std::collections::HashMap;

use typeloom_onnx::messages::ModelProto;
use typeloom_onnx::splice::Splice;
use typeloom_onnx::view::{TensorView, ValueInfoView};
use typeloom_onnx::wire::WireValue;
use typeloom_solver::diagnostic::{graph_path, text};
use typeloom_solver::solve_error::SolveErrorKind;

use super::AppliedFix;
use crate::Settings;
use crate::coerce::{RepairError, WriteError};
use crate::fields::{GRAPH_INITIALIZER, GRAPH_INPUT};

/// Drops the records of inputs and initializers that repeat an earlier one byte by byte; `None` if there are
/// none.
pub(super) fn drop(
    bytes: &[u8],
    settings: Settings<'_>,
    fixed: &mut Vec<AppliedFix>,
) -> Result<Option<Vec<u8>>, RepairError> {
    let checked = settings.check(bytes)?;
    let is_repetition =
        |kind: &SolveErrorKind<'_>| matches!(kind, SolveErrorKind::DuplicateValue { output: None, .. });
    if !checked.errors().iter().any(|error| is_repetition(&error.kind)) {
        return Ok(None);
    }
    let mut splice = Splice::new::<ModelProto>(bytes);
    for (graph, view) in checked.body().graph_views().map_err(WriteError::from)? {
        let mut known: HashMap<(u32, &str), &[u8]> = HashMap::new();
        for field in view.wire_fields() {
            let field = field.map_err(WriteError::from)?;
            let WireValue::Len(record, offset) = field.value else { continue };
            let name = match field.number {
                GRAPH_INPUT => ValueInfoView::from_body(record, offset).parse().map(|info| info.name),
                GRAPH_INITIALIZER => {
                    TensorView::from_body(record, offset).header().map(|header| header.name())
                }
                _ => continue,
            };
            let name = name.map_err(WriteError::from)?;
            match known.get(&(field.number, name)) {
                Some(first) if *first == record => {
                    splice.remove(view.offset(), &field);
                    let graph = graph_path(checked.body(), graph).to_string();
                    let change = format!("dropped the repetition of {}", text::quote(name));
                    fixed.push(AppliedFix { graph, change });
                }
                Some(_) => {}
                None => {
                    known.insert((field.number, name), record);
                }
            }
        }
    }
    Ok(splice.changed().map_err(WriteError::from)?)
}

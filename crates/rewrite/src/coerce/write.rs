//! Edits of the file for a solution.
//!
//! Every body is edited by the [splice writer](typeloom_onnx::splice), so bytes outside of the edits stay as
//! they are. Calls of a function with the same conversions share one copy of it; the first copy replaces the
//! function.

mod body;
mod copies;

use typeloom_onnx::DecodeError;
use typeloom_onnx::domain::is_onnx;
use typeloom_onnx::messages::{FunctionProto, ModelProto, opset_import};
use typeloom_onnx::splice::{Records, Splice, SpliceError};
use typeloom_onnx::view::FunctionView;

use super::Repair;
use super::cast_operator::CastOperator;
use super::layout::{BodyId, Layout, Source};
use super::problem::Solution;
use crate::fields::{FUNCTION_NAME, FUNCTION_OPSET_IMPORT, MODEL_FUNCTION, MODEL_OPSET_IMPORT};
use crate::names::Names;
use body::{BodyWriter, replace_strings};
use copies::copies;

/// Error of an edit of a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The bytes are malformed in a part that checks do not read.
    #[error(transparent)]
    Malformed(#[from] DecodeError),
    /// The edits do not apply to the file.
    #[error(transparent)]
    Splice(#[from] SpliceError),
}

/// Edits a model, and describes the edits in `changes`; `None` if nothing changes.
pub(crate) fn write(
    bytes: &[u8],
    layouts: &[Layout<'_>],
    solution: &Solution<'_, '_>,
    operator: CastOperator,
    changes: &mut Repair,
) -> Result<Option<Vec<u8>>, WriteError> {
    let mut names = Names::default();
    // Without calls only the main graph is part of the problem.
    let bodies = solution.problem.bodies.len();
    for layout in &layouts[..bodies] {
        layout.take_names(&mut names)?;
    }
    let copies = copies(layouts, solution);
    let mut splice = Splice::new::<ModelProto>(bytes);
    let mut written: Vec<BodyId> = Vec::new();
    for copy in &copies {
        let layout = &layouts[copy.body.index()];
        let is_first = !written.contains(&copy.body);
        written.push(copy.body);
        let is_main = copy.body == BodyId::MAIN;
        let version =
            if is_main { operator.version } else { solution.problem.bodies[copy.body.index()].version };
        if is_main || is_first {
            let mut writer = BodyWriter::new(layout, copy, &copies, solution, version);
            writer.write(&mut names, &mut splice, changes)?;
            add_import(layout, &writer, version, &mut splice)?;
            if let Some(import) = operator.missing_import().filter(|_| is_main && writer.has_conversions()) {
                splice.append(0, Records::new().message(MODEL_OPSET_IMPORT, &import));
            }
            continue;
        }
        let Source::Function(function) = layout.source() else { continue };
        // The copy is a separate message, so its offsets start at 0.
        let function = FunctionView::from_body(function.bytes(), 0);
        let layout = Layout::of_function(function)?;
        let mut own = Splice::new::<FunctionProto>(function.bytes());
        let mut writer = BodyWriter::new(&layout, copy, &copies, solution, version);
        writer.write(&mut names, &mut own, changes)?;
        add_import(&layout, &writer, version, &mut own)?;
        replace_strings(function.wire_fields(), 0, FUNCTION_NAME, |_| Some(&copy.name), &mut own)?;
        splice.append(0, Records::new().bytes(MODEL_FUNCTION, own.finish()?.to_vec()));
        changes.copies.push(copy.describe(layouts, solution.problem));
    }
    Ok(splice.changed()?)
}

/// Imports the default operator set into a function with conversions that imports only others.
fn add_import(
    layout: &Layout<'_>,
    writer: &BodyWriter<'_, '_, '_>,
    version: i64,
    splice: &mut Splice<'_>,
) -> Result<(), WriteError> {
    let Source::Function(function) = layout.source() else { return Ok(()) };
    let imports: Vec<_> = function.opset_imports().collect::<Result<_, _>>()?;
    let has_default = imports.iter().any(|import| is_onnx(import.domain));
    if writer.has_conversions() && !imports.is_empty() && !has_default {
        splice.append(
            function.offset(),
            Records::new().message(FUNCTION_OPSET_IMPORT, &opset_import("", version)),
        );
    }
    Ok(())
}

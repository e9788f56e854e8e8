//! Declared shapes that some exporters write instead of "unknown": `shape {}`, and dims named `?`.
//!
//! An empty shape declares a scalar. If the value's node gives it axes, the declaration is false
//! ([`SolveErrorKind::specific`]). If only declarations give the value a type, as for an input of the model,
//! the model is solved again without the declaration. If fewer errors remain, the declaration is false, and
//! the shape is typed as unknown. Several suspects are tried together first: fewer declarations give no
//! additional errors, so if all of them explain none, none of them does.
//!
//! **Limits:** at most [`MAX_SUSPECTS`] declarations are tried, with one solve each, and only in a model with
//! errors about shapes.

use std::collections::VecDeque;

use typeloom_dim::is_placeholder;
use typeloom_onnx::view::{DimValue, TypeKindView};

use crate::analysis::recovery::concerns_elements;
use crate::program::{DeclarationKind, StepId, ValueId};
use crate::solve_error::{Axes, SolveError, SolveErrorKind};
use crate::state::Core;
use crate::state::declarations::dims_of;
use crate::state::frame::Frame;

/// Maximum number of declarations that are tried.
pub(crate) const MAX_SUSPECTS: usize = 16;

/// Maximum number of values that are searched for suspects.
const MAX_SEARCHED: usize = 1 << 12;

/// Outputs and direct or indirect operands of nodes in error that have a declared empty shape, nearest first.
pub(crate) fn suspects(core: &Core<'_>, frame: &Frame<'_>) -> Vec<(ValueId, StepId)> {
    let body = &frame.body;
    let mut seen = crate::map::Set::default();
    let mut open: VecDeque<(ValueId, StepId)> = VecDeque::new();
    // Shapes do not decide element types.
    let of_elements = |error: &SolveError<'_>| concerns_elements(&error.kind);
    let steps = frame.rare.errors.iter().filter(|(_, error)| !of_elements(error)).map(|(step, _)| step);
    for step in steps.chain(frame.rare.second_errors.keys()) {
        let ports = body.inputs(*step).iter().chain(body.outputs(body.last_step(*step)));
        open.extend(ports.flatten().map(|value| (*value, *step)));
    }
    let mut found = Vec::new();
    while let Some((value, by)) = open.pop_front() {
        if !seen.insert(value) || seen.len() > MAX_SEARCHED {
            continue;
        }
        let is_scalar = frame.shape_read(value).is_some_and(|shape| core.shapes.get(shape).is_empty());
        if is_scalar && declared_empty(frame, value).is_some() && found.len() < MAX_SUSPECTS {
            found.push((value, by));
        }
        if let Some(step) = body.maker(value) {
            open.extend(body.inputs(step).iter().flatten().map(|value| (*value, by)));
        }
    }
    found
}

/// The kind of the declaration that gives a value an empty shape; `None` for an initializer and an input with
/// a default, whose tensors have dims.
fn declared_empty(frame: &Frame<'_>, value: ValueId) -> Option<DeclarationKind> {
    let body = &frame.body;
    if body.value(value).origin.initializer().is_some() {
        return None;
    }
    let is_empty = |view: typeloom_onnx::view::TypeView<'_>| {
        let Ok(ty) = view.parse() else { return false };
        match ty.kind {
            TypeKindView::Tensor { shape: Some(shape), .. } => shape.dims().next().is_none(),
            _ => false,
        }
    };
    let mut declarations = body.declarations(value);
    declarations.find(|declaration| is_empty(declaration.ty)).map(|declaration| declaration.kind)
}

/// The errors of values whose declared empty shape is false.
pub(crate) fn errors<'a>(frame: &Frame<'a>) -> Vec<(ValueId, SolveError<'a>)> {
    let error = |(value, by): &(ValueId, StepId)| {
        let declared_in = declared_empty(frame, *value)?;
        let kind = SolveErrorKind::EmptyShape { value: *value, declared_in, shown: Axes::Needed(*by) };
        Some((*value, SolveError { site: frame.site_of(*value), kind }))
    };
    frame.rare.shapeless.iter().filter_map(error).collect()
}

/// A warning about all dims that are named by a placeholder.
pub(crate) fn placeholders<'a>(core: &Core<'a>, frame: &Frame<'a>) -> Option<SolveError<'a>> {
    if !core.has_placeholders {
        return None;
    }
    let body = &frame.body;
    let mut found: Option<(ValueId, usize, String)> = None;
    let mut others = 0;
    for value in body.values() {
        for declaration in body.declarations(value) {
            for (axis, dim) in dims_of(declaration.ty).enumerate() {
                let DimValue::Param(name) = dim else { continue };
                if !is_placeholder(name) {
                    continue;
                }
                match &found {
                    None => found = Some((value, axis, name.trim().to_owned())),
                    Some(_) => others += 1,
                }
            }
        }
    }
    let (value, axis, mark) = found?;
    let kind = SolveErrorKind::PlaceholderDim { value, axis, mark, others };
    Some(SolveError { site: frame.site_of(value), kind })
}

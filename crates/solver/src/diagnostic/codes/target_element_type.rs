//! Diagnostic code `target-element-type`.

use crate::diagnostic::{Code, Diagnostic, Scope, declaration};
use crate::program::ValueId;
use crate::solve_error::ErrorSite;

super::code!("target-element-type", Error, "a target does not know an element type");

/// A value has an element type that the target does not know, or no type where the target requires one.
pub(crate) fn target_element_type(
    scope: &Scope<'_, '_>,
    target: &str,
    value: ValueId,
    element: Option<&str>,
) -> Diagnostic {
    let name = scope.body().value_name(value);
    let shown = scope.name(value);
    let (message, label) = match element {
        Some(element) => (
            format!("{shown} has elements of type {element}, which {target} does not know"),
            format!("not a type of {target}"),
        ),
        None => (
            format!("{shown} has no declared type, which {target} requires"),
            format!("{target} requires a type"),
        ),
    };
    Diagnostic::new(Code::TargetElementType, message, scope.location(ErrorSite::Value(value)))
        .with_snippets([declaration(element.unwrap_or_default(), name, label, true)])
}

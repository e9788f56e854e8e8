//! Diagnostic code `target-element-type`.

use crate::diagnostic::{Code, Diagnostic, Scope, declaration};
use crate::program::ValueId;
use crate::solve_error::ErrorSite;

super::code!("target-element-type", Error, "a target does not know an element type");

/// A value has an element type that the target does not know.
pub(crate) fn target_element_type(
    scope: &Scope<'_, '_>,
    target: &str,
    value: ValueId,
    element: &str,
) -> Diagnostic {
    let name = scope.body().value_name(value);
    let message = format!("{} has elements of type {element}, which {target} does not know", scope.name(value));
    let label = format!("not a type of {target}");
    Diagnostic::new(Code::TargetElementType, message, scope.location(ErrorSite::Value(value)))
        .with_snippets([declaration(element, name, label, true)])
}

//! Diagnostic code `nesting-too-deep`.

use crate::diagnostic::{Code, Diagnostic, Location};
use crate::program::MAX_NESTING;

super::code!("nesting-too-deep", Error, "graphs are nested too deep");

/// Graphs are nested too deep.
pub(crate) fn too_deep(location: Location) -> Diagnostic {
    let message = format!("graphs are nested more than {MAX_NESTING} deep");
    Diagnostic::new(Code::NestingTooDeep, message, location)
}

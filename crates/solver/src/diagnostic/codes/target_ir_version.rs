//! Diagnostic code `target-ir-version`.

use crate::diagnostic::{Code, Diagnostic, Location};

super::code!("target-ir-version", Error, "a target does not read the model's IR version");

/// The file has a newer IR version than the target reads.
pub(crate) fn target_ir_version(target: &str, found: i64, newest: i64) -> Diagnostic {
    let message = format!("the model has IR version {found}, but {target} reads versions up to {newest}");
    Diagnostic::new(Code::TargetIrVersion, message, Location::default()).with_help(format!(
        "set `ir_version` to {newest} if the model needs nothing newer, or export it again"
    ))
}

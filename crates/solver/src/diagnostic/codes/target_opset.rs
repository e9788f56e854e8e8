//! Diagnostic code `target-opset`.

use crate::diagnostic::{Code, Diagnostic, Location, opset_of};

super::code!("target-opset", Error, "a target does not accept the imported operator set");

/// The model, or a function of it, imports a newer version of a domain than the target accepts.
pub(crate) fn target_opset(target: &str, domain: &str, imported: i64, newest: i64) -> Diagnostic {
    let name = opset_of(domain);
    let message =
        format!("the model imports {name} {imported}, but {target} accepts versions up to {newest}");
    Diagnostic::new(Code::TargetOpset, message, Location::default())
        .with_help(format!("export the model with {name} {newest} or older"))
}

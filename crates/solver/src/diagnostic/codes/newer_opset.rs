//! Diagnostic code `newer-opset`.

use crate::diagnostic::{Code, Diagnostic, Location, quote};

super::code!("newer-opset", StrictError, "the model imports a newer operator set than is known");

/// `function` is the importing function; the model where it is `None`.
pub(crate) fn newer_opset(function: Option<&str>, domain: &str, imported: i64, newest: i64) -> Diagnostic {
    let subject = function.map_or_else(|| "the model".to_owned(), |name| format!("function {}", quote(name)));
    let set = match domain {
        "" => format!("opset {imported}"),
        domain => format!("version {imported} of domain {}", quote(domain)),
    };
    let message = format!("{subject} imports {set}, but the newest known is {newest}");
    Diagnostic::new(Code::NewerOpset, message, Location::default())
        .with_help(format!("operators are checked as of version {newest}; import it, or update typeloom"))
}

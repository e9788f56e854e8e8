//! Diagnostic code `newer-opset`.

use crate::diagnostic::{Code, Diagnostic, Location, quote};

super::code!("newer-opset", StrictError, "the model imports a newer operator set than is known");

/// `function` is the importing function; `None` means the model.
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

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn an_unknown_version_of_a_domain_is_reported() {
        let model =
            r#"<ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 99]> g (float x) => (y) { y = Neg(x) }"#;
        let expected = [
            "error[newer-opset]: the model imports version 99 of domain `ai.onnx.ml`, but the newest known is 5",
        ];
        assert_eq!(reports(model), expected);
    }
}

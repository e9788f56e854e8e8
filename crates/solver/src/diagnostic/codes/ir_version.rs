//! Diagnostic code `ir-version`.

use crate::diagnostic::{Code, Diagnostic, Location};

super::code!("ir-version", StrictError, "the model's IR version is missing or newer than is known");

pub(crate) fn ir_version(found: i64, newest: i64) -> Diagnostic {
    let (message, help) = if found < 1 {
        let message = match found {
            0 => "the model has no IR version".to_owned(),
            _ => format!("the model has IR version {found}"),
        };
        (message, format!("set `ir_version` to a version from 3 to {newest}"))
    } else {
        let message = format!("the model has IR version {found}, but the newest known is {newest}");
        (message, "export the model with an older version of ONNX, or update typeloom".to_owned())
    };
    Diagnostic::new(Code::IrVersion, message, Location::default()).with_help(help)
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_model_without_ir_version_is_reported() {
        let model = r#"<ir_version: 0, opset_import: ["": 21]> g (float x) => (y) { y = Neg(x) }"#;
        let expected = ["error[ir-version]: the model has no IR version"];
        assert_eq!(reports(model), expected);
    }
}

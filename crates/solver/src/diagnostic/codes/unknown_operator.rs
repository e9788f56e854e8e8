//! Diagnostic code `unknown-operator`.

use crate::diagnostic::{Code, Diagnostic, Fix, Mark, Part, Scope, quote};
use crate::program::StepId;

super::code!("unknown-operator", StrictError, "nothing defines the operator");

impl Scope<'_, '_> {
    /// No catalogue and no function of the model defines the operator.
    pub(crate) fn unknown_operator(&self, step: StepId, near: &[String], domain_unknown: bool) -> Diagnostic {
        let op = self.op(step);
        let version = self.operators.imported(op);
        let message = match (op.domain, domain_unknown, version) {
            (domain, true, _) => {
                format!("nothing defines domain {} of {}", quote(domain), quote(op.name))
            }
            ("", false, Some(version)) => {
                format!("there is no operator {} in opset {version}", quote(op.name))
            }
            ("", false, None) => format!("there is no operator {}", quote(op.name)),
            (domain, false, _) => {
                format!("there is no operator {} in domain {}", quote(op.name), quote(domain))
            }
        };
        let mark = Mark::primary(Part::Operator, "not known, so nothing is known of its outputs");
        let diagnostic = self.node_diagnostic(Code::UnknownOperator, step, message, &[mark]);
        if near.is_empty() && !op.domain.is_empty() {
            return diagnostic.with_help(format!(
                "add {} to the model as a function, or describe it to the checker",
                quote(&format!("{}.{}", op.domain, op.name))
            ));
        }
        diagnostic.with_suggestion(near, |to| Fix::RenameOperator { to })
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn an_operator_of_an_unknown_domain_is_reported() {
        let model =
            r#"<ir_version: 10, opset_import: ["": 21, "own": 1]> g (float x) => (y) { y = own.Twist(x) }"#;
        let expected = ["error[unknown-operator]: nothing defines domain `own` of `Twist`"];
        assert_eq!(reports(model), expected);
    }
}

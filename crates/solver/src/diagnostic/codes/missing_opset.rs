//! Diagnostic code `missing-opset`.

use crate::diagnostic::{Code, Diagnostic, Mark, Part, Scope, quote};
use crate::program::StepId;

super::code!("missing-opset", Error, "the model does not import the operator's domain");

impl Scope<'_, '_> {
    /// The model does not import the operator's domain.
    pub(crate) fn missing_opset(&self, step: StepId) -> Diagnostic {
        let op = self.op(step);
        let message = match op.domain {
            "" => format!("the model does not import the opset of {}", quote(op.name)),
            domain => {
                format!("the model does not import domain {} of {}", quote(domain), quote(op.name))
            }
        };
        let mark = Mark::primary(Part::Operator, "of which version?");
        self.node_diagnostic(Code::MissingOpset, step, message, &[mark]).with_help(format!(
            "add domain {} with its version to the model's opset imports",
            quote(op.domain)
        ))
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_domain_of_an_operator_is_imported() {
        let model = "g (float[2] x) => (y) { y = com.microsoft.Gelu(x) }";
        let expected = ["error[missing-opset]: the model does not import domain `com.microsoft` of `Gelu`"];
        assert_eq!(reports(model), expected);
    }
}

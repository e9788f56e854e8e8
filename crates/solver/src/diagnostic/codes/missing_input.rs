//! Diagnostic code `missing-input`.

use crate::diagnostic::{Code, Diagnostic, Scope};
use crate::program::StepId;
use crate::solve_error::Side;

super::code!("missing-input", Error, "a required input is left out");

impl Scope<'_, '_> {
    /// A required input is left out; in an older version it may be an attribute.
    pub(crate) fn missing_input(&mut self, step: StepId, at: usize, name: &str) -> Diagnostic {
        let diagnostic = self.missing_port(Code::MissingInput, step, Side::Inputs, at, name);
        self.with_attributes_as_inputs(step, &diagnostic).unwrap_or(diagnostic)
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_product_needs_two_operands() {
        let model = "g (float[2, 2] x) => (y) { y = MatMul(x) }";
        let expected = ["error[missing-input]: `MatMul` needs input `B`, which is left out"];
        assert_eq!(reports(model), expected);
    }
}

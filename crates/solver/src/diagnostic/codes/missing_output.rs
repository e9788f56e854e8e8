//! Diagnostic code `missing-output`.

use crate::diagnostic::{Code, Diagnostic, Scope};
use crate::program::StepId;
use crate::solve_error::Side;

super::code!("missing-output", Error, "a required output is left out");

impl Scope<'_, '_> {
    pub(crate) fn missing_output(&self, step: StepId, at: usize, name: &str) -> Diagnostic {
        self.missing_port(Code::MissingOutput, step, Side::Outputs, at, name)
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn an_operator_gives_its_required_outputs() {
        let model = "g (float[3] x) => (y) { y, scale = DynamicQuantizeLinear(x) }";
        let expected =
            ["error[missing-output]: `DynamicQuantizeLinear` needs output `y_zero_point`, which is left out"];
        assert_eq!(reports(model), expected);
    }
}

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

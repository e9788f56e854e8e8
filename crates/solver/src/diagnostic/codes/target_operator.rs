//! Diagnostic code `target-operator`.

use crate::diagnostic::{Code, Diagnostic, Scope};
use crate::program::StepId;

super::code!("target-operator", Error, "a target does not have an operator");

impl Scope<'_, '_> {
    /// The target does not have the operator in the imported version.
    pub(crate) fn target_operator(&self, target: &str, step: StepId, reason: &str) -> Diagnostic {
        let message = format!("{target} does not run {}: {reason}", self.op_text(step));
        self.at_operator(Code::TargetOperator, step, message, reason.to_owned())
    }
}

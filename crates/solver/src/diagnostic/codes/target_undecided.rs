//! Diagnostic code `target-undecided`.

use crate::diagnostic::{Code, Diagnostic, Scope};
use crate::program::StepId;

super::code!("target-undecided", Warning, "it is undecided whether a target runs a node");

impl Scope<'_, '_> {
    /// The verdict depends on something that the model does not contain, or that is not modelled.
    pub(crate) fn target_undecided(&self, target: &str, step: StepId, reason: &str) -> Diagnostic {
        let message = format!("it is undecided whether {target} runs {}: {reason}", self.op_text(step));
        self.at_operator(Code::TargetUndecided, step, message, "undecided".to_owned())
    }
}

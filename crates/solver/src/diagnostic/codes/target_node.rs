//! Diagnostic code `target-node`.

use super::target_fallback::measured;
use crate::diagnostic::{Code, Diagnostic, Scope};
use crate::program::StepId;

super::code!("target-node", Error, "a target does not run a node, by measurements");

impl Scope<'_, '_> {
    /// Nodes with these properties did not run when they were measured.
    pub(crate) fn target_node(&self, target: &str, step: StepId, reason: &str, source: &str) -> Diagnostic {
        let message = format!("{target} does not run {}", self.op_text(step));
        self.at_operator(Code::TargetNode, step, message, "does not run".to_owned())
            .with_notes(vec![measured(source, reason)])
    }
}

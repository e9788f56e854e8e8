//! Diagnostic code `target-fallback`.

use crate::diagnostic::{Code, Diagnostic, Scope};
use crate::program::StepId;

super::code!("target-fallback", Warning, "a target runs a node on the CPU instead of the device");

impl Scope<'_, '_> {
    /// The device does not take a node; the runtime runs it on the CPU.
    pub(crate) fn target_fallback(
        &self,
        target: &str,
        step: StepId,
        reason: &str,
        source: &str,
    ) -> Diagnostic {
        let message = format!("{target} runs {} on the CPU", self.op_text(step));
        self.at_operator(Code::TargetFallback, step, message, "on the CPU".to_owned())
            .with_notes(vec![measured(source, reason)])
    }
}

/// The measurements that decide about a node.
pub(super) fn measured(source: &str, reason: &str) -> String {
    format!("measured by {source} for nodes with {reason}")
}

//! Diagnostic code `target-attribute`.

use crate::diagnostic::{Code, Diagnostic, Mark, Part, Scope, quote};
use crate::program::StepId;

super::code!("target-attribute", Error, "a target rejects an attribute");

impl Scope<'_, '_> {
    /// The target does not have the attribute, or rejects its value.
    pub(crate) fn target_attribute(
        &self,
        target: &str,
        step: StepId,
        name: &str,
        value: Option<&str>,
    ) -> Diagnostic {
        let (op, quoted) = (self.op_text(step), quote(name));
        let (message, label) = match value {
            Some(value) => {
                (format!("{target} does not run {op} with {value}"), format!("rejected by {target}"))
            }
            None => (format!("{op} has no attribute {quoted} in {target}"), format!("unknown to {target}")),
        };
        self.node_diagnostic(
            Code::TargetAttribute,
            step,
            message,
            &[Mark::primary(Part::Attribute(name), label)],
        )
    }
}

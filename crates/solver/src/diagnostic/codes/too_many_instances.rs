//! Diagnostic code `too-many-instances`.

use crate::diagnostic::{Code, Diagnostic, Mark, Part, Scope};
use crate::program::StepId;

super::code!(
    "too-many-instances",
    StrictError,
    "a function is called with more different types than are solved"
);

impl Scope<'_, '_> {
    /// A function is called with more different types and shapes than are solved.
    pub(crate) fn too_many_instances(&self, step: StepId, most: usize) -> Diagnostic {
        let message = format!(
            "function {} is called with more than {most} different types and shapes",
            self.op_text(step)
        );
        let mark = Mark::primary(Part::Operator, "from this call on, nothing is known of the shapes");
        self.node_diagnostic(Code::TooManyInstances, step, message, &[mark])
            .with_notes(["the body is solved again for each combination of argument types".to_owned()])
            .with_help(
                "inline the function, or call a copy of it under another name from here on; \
                 `--permissive` accepts the unknown shapes",
            )
    }
}

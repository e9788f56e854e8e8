//! Diagnostic code `target-kernel`.

use crate::diagnostic::text::list;
use crate::diagnostic::{Code, Diagnostic, Mark, Part, Scope};
use crate::program::StepId;
use crate::rule::Port;

super::code!("target-kernel", Error, "a target has no kernel for the types of a node");

impl Scope<'_, '_> {
    /// The target has the operator, but no kernel for the types of this node.
    pub(crate) fn target_kernel(
        &self,
        target: &str,
        step: StepId,
        since: i64,
        (port, found): (Option<Port>, &str),
        supported: &[String],
    ) -> Diagnostic {
        let op = self.op_text(step);
        let message = match port {
            Some(port) => {
                format!("{target} has no kernel for {op} with {} of type {found}", self.port_text(step, port))
            }
            None => format!("{target} has no kernel for {op} of version {since}"),
        };
        let mark = match port {
            Some(port) => Mark::primary(self.part(port), found),
            None => Mark::primary(Part::Operator, format!("version {since}")),
        };
        let diagnostic = self.node_diagnostic(Code::TargetKernel, step, message, &[mark]);
        match supported {
            [] => diagnostic,
            types => diagnostic.with_notes([format!("kernels exist for {}", list(types, "and"))]),
        }
    }
}

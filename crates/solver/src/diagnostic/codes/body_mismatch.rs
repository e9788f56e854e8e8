//! Diagnostic code `body-mismatch`.

use crate::diagnostic::{Code, Diagnostic, Mark, Part, Scope};
use crate::program::{GraphId, StepId};

super::code!("body-mismatch", Error, "a nested graph does not fit the node it belongs to");

impl Scope<'_, '_> {
    /// A nested graph does not fit its node.
    pub(crate) fn body_differs(&self, step: StepId, graph: GraphId, message: &str) -> Diagnostic {
        let owner = self.body().graph(graph).owner;
        let message = format!("{} of {} does not fit: {message}", self.graph_text(graph), self.op_text(step));
        let part = owner.map_or(Part::Operator, |owner| Part::AttributeName(owner.attribute));
        self.node_diagnostic(Code::BodyMismatch, step, message, &[Mark::primary(part, "")])
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_loop_body_has_the_iteration_and_the_condition_as_inputs() {
        let model = "g (int64 n, bool go, float x) => (y) { y = Loop (n, go, x) < body = b (int64 i, bool c) => (c) { } > }";
        let expected = [
            "error[body-mismatch]: `body` of `Loop` does not fit: the graph has 2 inputs, but the node needs 3",
        ];
        assert_eq!(reports(model), expected);
    }
}

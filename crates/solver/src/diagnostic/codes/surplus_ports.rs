//! Diagnostic code `surplus-ports`.

use crate::diagnostic::{Code, Diagnostic, Scope, count, surplus_marks};
use crate::program::StepId;
use crate::signature::Arity;
use crate::solve_error::Side;

super::code!("surplus-ports", Error, "a node has more inputs or outputs than its operator");

impl Scope<'_, '_> {
    /// More inputs or outputs than the operator has.
    pub(crate) fn surplus_ports(&self, step: StepId, side: Side, given: usize, most: usize) -> Diagnostic {
        let verb = side.pick("takes", "gives");
        let limit = if self.all_required(step, side) { "" } else { "at most " };
        let message = format!(
            "{} {verb} {limit}{}, but this node has {given}",
            self.op_text(step),
            count(most, side.noun())
        );
        let diagnostic = self
            .node_diagnostic(Code::SurplusPorts, step, message, &surplus_marks(side, given, most))
            .with_notes(self.ports_note(step));
        self.with_fitting_version(step, side, given, diagnostic)
    }

    fn all_required(&self, step: StepId, side: Side) -> bool {
        let Some(schema) = self.schema(step) else { return true };
        let formals = side.pick(&schema.inputs, &schema.outputs);
        formals.iter().all(|formal| formal.arity == Arity::Required)
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn an_operator_has_as_many_outputs_as_it_declares() {
        let model = "g (float x) => (y) { y, z = Neg(x) }";
        let expected = ["error[surplus-ports]: `Neg` gives 1 output, but this node has 2"];
        assert_eq!(reports(model), expected);
    }
}

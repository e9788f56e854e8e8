//! Diagnostic code `type-mismatch`.

use crate::diagnostic::{Code, Diagnostic, Scope};
use crate::program::StepId;
use crate::rule::Port;

super::code!(
    "type-mismatch",
    Error,
    "one kind of type is used where another is needed, such as a sequence for a tensor"
);

impl Scope<'_, '_> {
    /// A rule needs another kind of type than a port has.
    pub(crate) fn wrong_kind(&mut self, step: StepId, port: Port, expected: &str) -> Diagnostic {
        let found = self.port_type(step, port);
        let shown = self.show(&found);
        let (op, name) = (self.op_text(step), self.port_text(step, port));
        let message = format!("{op} needs {expected}, but {name} is {shown}");
        let mark = self.mark(step, port, &shown, true);
        self.node_diagnostic(Code::TypeMismatch, step, message, &[mark])
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_sequence_operator_takes_no_tensor() {
        let model = "g (float[2] x) => (n) { n = SequenceLength(x) }";
        let expected = [
            "error[type-mismatch]: `SequenceLength` takes a sequence of float, uint8, int8, uint16, int16, int32, int64, string or 7 more for `input_sequence`, but `x` is float[2]",
        ];
        assert_eq!(reports(model), expected);
    }
}

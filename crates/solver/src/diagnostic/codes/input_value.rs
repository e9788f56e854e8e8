//! Diagnostic code `input-value`.

use crate::diagnostic::{Code, Diagnostic, Mark, Scope};
use crate::program::StepId;
use crate::rule::Port;

super::code!("input-value", Error, "the operator cannot use the value of a constant input");

impl Scope<'_, '_> {
    /// A constant input has a value that the operator cannot use.
    pub(crate) fn input_value(&mut self, step: StepId, port: Port, message: &str) -> Diagnostic {
        let text = format!(
            "the value of {} does not fit {}: it {message}",
            self.port_text(step, port),
            self.op_text(step)
        );
        let origin = self.value(step, port).map(|value| self.origin_text(value)).unwrap_or_default();
        let mark = Mark { part: self.part(port), text: origin, primary: true };
        self.node_diagnostic(Code::InputValue, step, text, &[mark])
    }

    /// The input that the operator declares under this name, if the node has it.
    pub(crate) fn input_named(&self, step: StepId, name: &str) -> Option<Port> {
        let schema = self.schema(step)?;
        let at = schema.inputs.iter().position(|formal| &*formal.name == name)?;
        self.value(step, Port::In(at)).map(|_| Port::In(at))
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_repeat_is_not_negative() {
        let model = "g (float[2] x) => (y) <int64[1] times = {-1}> { y = Tile(x, times) }";
        let expected = [
            "error[input-value]: the value of `times` does not fit `Tile`: it has a negative number of repeats",
        ];
        assert_eq!(reports(model), expected);
    }
}

//! Diagnostic code `call-arity`.

use crate::diagnostic::{Code, Diagnostic, Mark, Part, Scope, count, quote, surplus_marks};
use crate::program::StepId;
use crate::solve_error::Side;

super::code!("call-arity", Error, "a function is called with too many or too few inputs or outputs");

impl Scope<'_, '_> {
    /// A function is called with more inputs or outputs than it has.
    pub(crate) fn call_arity(&self, step: StepId, side: Side, given: usize, most: usize) -> Diagnostic {
        let verb = side.pick("takes", "gives");
        let message = format!(
            "function {} {verb} at most {}, but this node has {given}",
            self.op_text(step),
            count(most, side.noun())
        );
        self.node_diagnostic(Code::CallArity, step, message, &surplus_marks(side, given, most))
    }

    /// A function is called with fewer outputs than it has.
    pub(crate) fn call_outputs(&self, step: StepId, given: usize, has: usize) -> Diagnostic {
        let message = format!(
            "function {} gives {}, but this node has {given}",
            self.op_text(step),
            count(has, "output")
        );
        let mark = Mark::primary(Part::Operator, format!("{} missing", count(has - given, "output")));
        self.node_diagnostic(Code::CallArity, step, message, &[mark])
            .with_help("list every output of the function; an empty name leaves one out")
    }

    /// A function is called without an input that its body needs.
    pub(crate) fn call_input(
        &self,
        step: StepId,
        input: usize,
        name: &str,
        reader: Option<&str>,
    ) -> Diagnostic {
        let need = match reader {
            Some(reader) => format!("{} in it needs", quote(reader)),
            None => "its output needs".to_owned(),
        };
        let message =
            format!("function {} is called without input {}, which {need}", self.op_text(step), quote(name));
        let mark = Mark::primary(Part::Operator, format!("input #{input}, {}, is missing", quote(name)));
        self.node_diagnostic(Code::CallArity, step, message, &[mark])
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_call_has_the_inputs_of_the_function() {
        let model = r#"<ir_version: 10, opset_import: ["": 21, "f": 1]> g (float x) => (y) { y = f.Id(x, x, x) } <domain: "f", opset_import: ["": 21]> Id (a) => (b) { b = Identity(a) }"#;
        let expected = ["error[call-arity]: function `f.Id` takes at most 1 input, but this node has 3"];
        assert_eq!(reports(model), expected);
    }
}

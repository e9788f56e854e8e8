//! Diagnostic code `element-type-mismatch`.

use crate::diagnostic::{Code, Diagnostic, Scope, best_cast, is_tensor};
use crate::program::StepId;
use crate::rule::Port;
use crate::solution::Type;

super::code!("element-type-mismatch", Error, "element types that must agree differ");

impl Scope<'_, '_> {
    /// Two ports must have one type, but do not.
    pub(crate) fn types_differ(
        &mut self,
        step: StepId,
        left: (Port, &Type),
        right: (Port, &Type),
    ) -> Diagnostic {
        let cast = self.contradicting_input(step, left, right).or_else(|| best_cast(left, right));
        let code = if is_tensor(left.1) && is_tensor(right.1) {
            Code::ElementTypeMismatch
        } else {
            Code::TypeMismatch
        };
        let (mut a, mut b) = (self.show_elem(left.1), self.show_elem(right.1));
        if code == Code::TypeMismatch || a == b {
            (a, b) = (self.show(left.1), self.show(right.1));
        }
        let need = if code == Code::ElementTypeMismatch { "one element type" } else { "one type" };
        let message = format!(
            "{} needs {need}, but {} is {a} and {} is {b}",
            self.op_text(step),
            self.port_text(step, left.0),
            self.port_text(step, right.0)
        );
        let left_is_culprit = cast.is_some_and(|(port, _)| port == left.0);
        let marks =
            [self.mark(step, left.0, &a, left_is_culprit), self.mark(step, right.0, &b, !left_is_culprit)];
        let diagnostic = self.node_diagnostic(code, step, message, &marks);
        match cast {
            Some((port, to)) => self.with_cast(diagnostic, step, port, to, None),
            None => diagnostic,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn operands_have_one_element_type() {
        let model = "g (float x, double y) => (z) { z = Mul(x, y) }";
        let expected = [
            "error[element-type-mismatch]: `Mul` needs one element type, but `x` is float and `y` is double",
        ];
        assert_eq!(reports(model), expected);
    }
}

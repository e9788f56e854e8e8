//! Diagnostic code `shape-mismatch`.

use typeloom_dim::DimId;

use crate::diagnostic::{Align, Code, Diagnostic, Row, Scope, list};
use crate::program::StepId;
use crate::rule::Port;
use crate::solution::Type;

super::code!("shape-mismatch", Error, "shapes do not fit together");

impl Scope<'_, '_> {
    /// Shapes do not fit in another way.
    pub(crate) fn shapes_differ(&mut self, step: StepId, ports: &[Port], message: &str) -> Diagnostic {
        let names: Vec<String> = ports.iter().map(|port| self.port_text(step, *port)).collect();
        let subject = if ports.len() == 1 { "the shape" } else { "the shapes" };
        let verb = if ports.len() == 1 { "does" } else { "do" };
        let message =
            format!("{subject} of {} {verb} not fit {}: {message}", list(&names, "and"), self.op_text(step));
        let marks = self.shape_marks(step, ports);
        let mut rows = Vec::new();
        for port in ports {
            let Type::Tensor(tensor) = self.port_type(step, *port) else { continue };
            let Some(dims) = tensor.shape else { continue };
            rows.push(Row { name: self.port_text(step, *port), dims, marked: Vec::new() });
        }
        if let [first, second] = &mut rows[..] {
            self.mark_differences(first, second);
        }
        let shapes = if rows.len() > 1 { self.rows(&rows, Align::First) } else { None };
        self.node_diagnostic(Code::ShapeMismatch, step, message, &marks).with_notes(shapes)
    }

    /// The shape at a port is known to be another than the rule computes.
    pub(crate) fn shape_contradicts(
        &mut self,
        step: StepId,
        port: Port,
        (known, computed): (&[DimId], &[DimId]),
        message: &str,
    ) -> Diagnostic {
        let (name, op) = (self.port_text(step, port), self.op_text(step));
        let message = format!("the shape of {name} does not fit {op}: {message}");
        let marks = self.shape_marks(step, &[port]);
        let row =
            |name: &str, dims: &[DimId]| Row { name: name.to_owned(), dims: dims.into(), marked: Vec::new() };
        let mut rows = [row("known", known), row("needed", computed)];
        let [first, second] = &mut rows;
        self.mark_differences(first, second);
        let shapes = self.rows(&rows, Align::First);
        self.node_diagnostic(Code::ShapeMismatch, step, message, &marks).with_notes(shapes)
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_bound_is_a_single_number() {
        let model = r#"g (float[2, 2] x, float[1, 2] high) => (y) { y = Clip(x, "", high) }"#;
        let expected = [
            "error[shape-mismatch]: the shape of `high` does not fit `Clip`: a bound must be a single number",
        ];
        assert_eq!(reports(model), expected);
    }
}

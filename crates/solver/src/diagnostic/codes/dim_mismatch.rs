//! Diagnostic code `dim-mismatch`.

use crate::diagnostic::{Align, Code, Diagnostic, Mark, Scope};
use crate::program::StepId;
use crate::rule::{Extent, ExtentRelation};

super::code!("dim-mismatch", Error, "dims that must be equal differ");

impl Scope<'_, '_> {
    /// Two dims must be equal, and are not.
    pub(crate) fn dims_differ(
        &mut self,
        step: StepId,
        left: &Extent,
        right: &Extent,
        relation: ExtentRelation,
    ) -> Diagnostic {
        let op = self.op_text(step);
        let (a, b) = (self.dim_quoted(left.dim), self.dim_quoted(right.dim));
        let is_same_port = left.port == right.port && (left.axis.is_none() || right.axis.is_none());
        let message = if is_same_port {
            let (site, other) = if left.axis.is_some() { (left, &b) } else { (right, &a) };
            let found = if left.axis.is_some() { &a } else { &b };
            format!("{op} needs {} to be {other}, but it is {found}", self.extent_text(step, site))
        } else {
            format!(
                "{op} needs equal dims, but {} is {a} and {} is {b}",
                self.extent_text(step, left),
                self.extent_text(step, right)
            )
        };
        let ports = if left.port == right.port { vec![right.port] } else { vec![left.port, right.port] };
        let mut marks: Vec<Mark<'_>> = self.shape_marks(step, &ports);
        for extent in [left, right] {
            if extent.axis.is_some() {
                self.mark_lineage(step, extent.port, extent.dim, &mut marks);
            }
        }
        let subject = if is_same_port { "this dim" } else { "these dims" };
        let align = Align::of(relation);
        let reason = match self.shapes_note(step, &[left, right], align) {
            Some(shapes) => format!("{subject} {relation}:\n{shapes}"),
            None => format!("{subject} {relation}"),
        };
        self.node_diagnostic(Code::DimMismatch, step, message, &marks).with_notes([reason])
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn contracted_dims_are_equal() {
        let model = "g (float[2, 3] a, float[4, 5] b) => (c) { c = MatMul(a, b) }";
        let expected =
            ["error[dim-mismatch]: `MatMul` needs equal dims, but axis 1 of `a` is 3 and axis 0 of `b` is 4"];
        assert_eq!(reports(model), expected);
    }
}

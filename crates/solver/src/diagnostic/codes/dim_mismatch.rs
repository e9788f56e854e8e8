//! Diagnostic code `dim-mismatch`.

use crate::diagnostic::{Align, Code, Diagnostic, Mark, Scope};
use crate::program::StepId;
use crate::rule::{Extent, ExtentRelation};

super::code!("dim-mismatch", Error, "dims that must be equal differ");

/// Whether one of the extents is a dim that no axis has, such as a constant.
fn is_one_sided(left: &Extent, right: &Extent) -> bool {
    left.port == right.port && (left.axis.is_none() || right.axis.is_none())
}

/// The subject of a sentence that a relation completes.
pub(crate) fn subject(left: &Extent, right: &Extent, relation: ExtentRelation) -> &'static str {
    match (left.axis, right.axis) {
        _ if relation.text.starts_with("is ") => "this dim",
        (None, None) => "these",
        _ if is_one_sided(left, right) => "these",
        _ => "these dims",
    }
}

impl Scope<'_, '_> {
    /// Two dims must be equal, or the first at most the second, and are not.
    pub(crate) fn dims_differ(
        &mut self,
        step: StepId,
        left: &Extent,
        right: &Extent,
        relation: ExtentRelation,
    ) -> Diagnostic {
        let op = self.op_text(step);
        let (a, b) = (self.dim_quoted(left.dim), self.dim_quoted(right.dim));
        let is_bound = relation.is_upper_bound;
        let message = if is_one_sided(left, right) {
            let is_left = left.axis.is_some();
            let (site, found, other) = if is_left { (left, &a, &b) } else { (right, &b, &a) };
            let bound = match (is_bound, is_left) {
                (false, _) => "",
                (true, true) => "at most ",
                (true, false) => "at least ",
            };
            format!("{op} needs {} to be {bound}{other}, but it is {found}", self.extent_text(step, site))
        } else {
            let (left, right) = (self.extent_text(step, left), self.extent_text(step, right));
            if is_bound {
                format!("{op} needs {left} to be at most {right}, but they are {a} and {b}")
            } else {
                format!("{op} needs equal dims, but {left} is {a} and {right} is {b}")
            }
        };
        let ports = if left.port == right.port { vec![right.port] } else { vec![left.port, right.port] };
        let mut marks: Vec<Mark<'_>> = self.shape_marks(step, &ports);
        for extent in [left, right] {
            if extent.axis.is_some() {
                self.mark_lineage(step, extent.port, extent.dim, &mut marks);
            }
        }
        let subject = subject(left, right, relation);
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

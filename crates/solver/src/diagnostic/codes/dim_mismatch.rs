//! Diagnostic code `dim-mismatch`.

use typeloom_dim::Decision;

use crate::diagnostic::{Align, Code, Diagnostic, Fix, Mark, Safety, Scope};
use crate::program::StepId;
use crate::rule::{Extent, ExtentRelation, Port};
use crate::signature::AttributeDefault;

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
        let diagnostic = self.node_diagnostic(Code::DimMismatch, step, message, &marks).with_notes([reason]);
        self.with_axis(diagnostic, step, left, right)
    }

    /// Adds the only axis that fits, if the operator takes the axis of the data at which the extents differ
    /// from its attribute `axis`.
    fn with_axis(
        &mut self,
        diagnostic: Diagnostic,
        step: StepId,
        left: &Extent,
        right: &Extent,
    ) -> Diagnostic {
        let data = Port::In(0);
        let other = match (left.port == data, right.port == data) {
            (true, false) => right,
            (false, true) => left,
            _ => return diagnostic,
        };
        let of_data = if left.port == data { left } else { right };
        let Some(shape) = self.port_type(step, data).tensor().and_then(|tensor| tensor.shape.clone()) else {
            return diagnostic;
        };
        let Some((axis, is_given)) = self.axis_attribute(step, shape.len()) else { return diagnostic };
        if of_data.axis != Some(axis) || other.axis.is_none() {
            return diagnostic;
        }
        let fits = |axis: &usize| self.core.dims.compare(shape[*axis], other.dim) == Decision::Equal;
        let fitting: Vec<usize> = (0..shape.len()).filter(fits).collect();
        let [only] = fitting[..] else { return diagnostic };
        let (data, extent) = (self.port_text(step, data), self.dim_quoted(other.dim));
        let help = format!("set `axis` to {only}, the only axis of {data} with the extent {extent}");
        let fix =
            Fix::SetAttribute { name: "axis".to_owned(), value: i64::try_from(only).unwrap_or(i64::MAX) };
        // A default that does not fit was not chosen.
        let safety = if is_given { Safety::Unsafe } else { Safety::Safe };
        diagnostic.with_help(help).with_fix(fix, safety)
    }

    /// The axis in the attribute `axis` of a node, and whether the node has the attribute.
    fn axis_attribute(&self, step: StepId, rank: usize) -> Option<(usize, bool)> {
        let declared = self.schema(step)?.attribute("axis")?;
        let given = self.given_attributes(step).into_iter().find(|attribute| attribute.name == "axis");
        let axis = match (&given, &declared.default) {
            (Some(attribute), _) => attribute.i.unwrap_or(0),
            (None, Some(AttributeDefault::Int(axis))) => *axis,
            (None, _) => return None,
        };
        Some((typeloom_types::shape::position(axis, rank)?, given.is_some()))
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

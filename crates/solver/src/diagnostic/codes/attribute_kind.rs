//! Diagnostic code `attribute-kind`.

use crate::diagnostic::{Code, Diagnostic, Mark, Part, Scope, article, quote};
use crate::program::StepId;
use crate::signature::AttributeKind;

super::code!("attribute-kind", Error, "an attribute has the wrong kind of value");

impl Scope<'_, '_> {
    /// An attribute has the wrong kind of value.
    pub(crate) fn attribute_kind(
        &self,
        step: StepId,
        name: &str,
        found: Option<AttributeKind>,
        expected: AttributeKind,
    ) -> Diagnostic {
        let found =
            found.map_or_else(|| "has no value".to_owned(), |kind| format!("is {}", with_article(kind)));
        let expected = with_article(expected);
        let message =
            format!("attribute {} of {} must be {expected}, but it {found}", quote(name), self.op_text(step));
        let mark = Mark::primary(Part::Attribute(name), format!("must be {expected}"));
        self.node_diagnostic(Code::AttributeKind, step, message, &[mark])
    }
}

fn with_article(kind: AttributeKind) -> String {
    format!("{} {}", article(kind.name()), kind.name())
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_float_is_no_axis() {
        let model = "g (float[2, 3] x) => (y) { y = Flatten <axis = 0.5> (x) }";
        let expected =
            ["error[attribute-kind]: attribute `axis` of `Flatten` must be an int, but it is a float"];
        assert_eq!(reports(model), expected);
    }
}

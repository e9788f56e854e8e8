//! Diagnostic code `attribute-value`.

use crate::diagnostic::{Code, Diagnostic, Mark, Part, Scope, did_you_mean, list, quote};
use crate::program::StepId;
use crate::signature::Choices;
use typeloom_types::suggest::nearest;

super::code!("attribute-value", Error, "the operator cannot use the value of an attribute");

impl Scope<'_, '_> {
    /// The operator cannot use the value of an attribute.
    pub(crate) fn attribute_value(&self, step: StepId, name: &str, message: &str) -> Diagnostic {
        let text = format!("attribute {} of {} {message}", quote(name), self.op_text(step));
        let mark = Mark::primary(Part::Attribute(name), "");
        self.node_diagnostic(Code::AttributeValue, step, text, &[mark])
    }

    /// The value of a string attribute is not one of the allowed values.
    pub(crate) fn attribute_choice(
        &self,
        step: StepId,
        name: &str,
        found: &str,
        choices: Choices,
    ) -> Diagnostic {
        let values: Vec<String> =
            choices.values.iter().filter(|value| !value.is_empty()).map(|value| quote(value)).collect();
        let text = format!(
            "attribute {} of {} is {}, but must be {}",
            quote(name),
            self.op_text(step),
            quote(found),
            list(&values, "or")
        );
        let mark = Mark::primary(Part::Attribute(name), "not a value of this attribute");
        let diagnostic = self.node_diagnostic(Code::AttributeValue, step, text, &[mark]);
        let near = nearest(found, choices.values.iter().copied().filter(|value| !value.is_empty()));
        match did_you_mean(&near) {
            Some(help) => diagnostic.with_help(help),
            None => diagnostic,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn an_axis_is_one_of_the_tensor() {
        let model = "g (float[2, 3] x) => (y) { y = Softmax <axis = 5> (x) }";
        let expected =
            ["error[attribute-value]: attribute `axis` of `Softmax` is 5, outside [-2, 2) for 2 axes"];
        assert_eq!(reports(model), expected);
    }
}

//! Diagnostic code `unknown-attribute`.

use crate::diagnostic::{Code, Diagnostic, Fix, Mark, Part, Safety, Scope, quote};
use crate::program::StepId;

super::code!("unknown-attribute", Error, "the operator has no such attribute");

impl Scope<'_, '_> {
    /// The operator has no such attribute.
    pub(crate) fn unknown_attribute(&mut self, step: StepId, name: &str, near: &[String]) -> Diagnostic {
        let version = self.schema(step).map(|schema| format!(" in opset {}", schema.since_version));
        let op = self.op_text(step);
        let message = format!("{op} has no attribute {}{}", quote(name), version.unwrap_or_default());
        let mark = Mark::primary(Part::AttributeName(name), "not known");
        let diagnostic = self
            .node_diagnostic(Code::UnknownAttribute, step, message, &[mark])
            .with_notes(self.attributes_note(step));
        if let Some(diagnostic) = self.with_attributes_as_inputs(step, &diagnostic) {
            return diagnostic;
        }
        if let Some(diagnostic) = self.with_version_of_attribute(step, name, &diagnostic) {
            return diagnostic;
        }
        if near.is_empty() {
            let fix = Fix::RemoveAttribute { name: name.to_owned() };
            return diagnostic.with_help(format!("remove {}", quote(name))).with_fix(fix, Safety::Unsafe);
        }
        diagnostic.with_suggestion(near, |to| Fix::RenameAttribute { from: name.to_owned(), to })
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_misspelt_attribute_is_reported() {
        let model = "g (float[2, 3] x) => (y) { y = Gemm <alhpa = 1.0> (x, x) }";
        let expected = ["error[unknown-attribute]: `Gemm` has no attribute `alhpa` in opset 13"];
        assert_eq!(reports(model), expected);
    }
}

//! Diagnostic code `missing-attribute`.

use crate::diagnostic::{Code, Diagnostic, Mark, Part, Scope, list, quote};
use crate::operators::OpKind;
use crate::program::StepId;
use crate::signature::AttributeKind;

super::code!("missing-attribute", Error, "a required attribute is left out");

impl Scope<'_, '_> {
    /// A required attribute is left out.
    pub(crate) fn missing_attribute(&self, step: StepId, name: &str, kind: AttributeKind) -> Diagnostic {
        // A function's attributes have no kinds.
        let kind = match self.op(step).kind {
            OpKind::Function(_) => String::new(),
            OpKind::Schema(_) | OpKind::Declared(_) | OpKind::Missing(_) => format!(" ({})", kind.name()),
        };
        let op = self.op_text(step);
        let message = format!("{op} needs attribute {}{kind}, which is left out", quote(name));
        let mark = Mark::primary(Part::Operator, format!("attribute {} is missing", quote(name)));
        self.node_diagnostic(Code::MissingAttribute, step, message, &[mark])
            .with_notes(self.attributes_note(step))
    }

    /// The attributes of the operator.
    pub(crate) fn attributes_note(&self, step: StepId) -> Option<String> {
        let schema = self.schema(step)?;
        let names: Vec<String> = schema.attributes.iter().map(|attribute| quote(&attribute.name)).collect();
        Some(match names.len() {
            0 => format!("{} has no attributes", quote(&schema.name)),
            1 => format!("{} has attribute {}", quote(&schema.name), names[0]),
            _ => format!("{} has attributes {}", quote(&schema.name), list(&names, "and")),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_cast_needs_its_target() {
        let model = "g (float x) => (y) { y = Cast(x) }";
        let expected = ["error[missing-attribute]: `Cast` needs attribute `to` (int), which is left out"];
        assert_eq!(reports(model), expected);
    }
}

//! Diagnostic code `newer-operator`.

use crate::diagnostic::{Code, Diagnostic, Mark, Part, Scope, opset_of, quote};
use crate::program::StepId;

super::code!("newer-operator", Error, "the operator is newer than the imported operator set");

impl Scope<'_, '_> {
    /// The operator is newer than the imported operator set.
    pub(crate) fn newer_operator(&self, step: StepId, since: u32, imported: i64) -> Diagnostic {
        let op = self.op(step);
        let name = opset_of(op.domain);
        let message =
            format!("{} exists from {name} {since} on, but the model imports {imported}", quote(op.name));
        let mark = Mark::primary(Part::Operator, format!("new in {name} {since}"));
        let diagnostic = self.node_diagnostic(Code::NewerOperator, step, message, &[mark]);
        self.with_import(
            diagnostic.with_help(format!("import {name} {since} or newer")),
            step,
            i64::from(since),
        )
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn an_operator_is_not_newer_than_the_opset() {
        let model = r#"<ir_version: 8, opset_import: ["": 10]> g (float x) => (y) { y = Round(x) }"#;
        let expected = ["error[newer-operator]: `Round` exists from opset 11 on, but the model imports 10"];
        assert_eq!(reports(model), expected);
    }
}

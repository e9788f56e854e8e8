//! Diagnostic code `deprecated-operator`.

use crate::diagnostic::{Code, Diagnostic, Fix, Mark, Part, Safety, Scope, opset_of, quote};
use crate::program::StepId;

super::code!("deprecated-operator", Error, "the operator was withdrawn from the operator set");

impl Scope<'_, '_> {
    /// The operator was withdrawn.
    pub(crate) fn deprecated_operator(&self, step: StepId, since: u32) -> Diagnostic {
        let op = self.op(step);
        let name = opset_of(op.domain);
        let imported =
            self.operators.imported(op).map(|version| format!(", and the model imports {version}"));
        let message =
            format!("{} was withdrawn in {name} {since}{}", quote(op.name), imported.unwrap_or_default());
        let mark = Mark::primary(Part::Operator, format!("withdrawn in {name} {since}"));
        let diagnostic = self.node_diagnostic(Code::DeprecatedOperator, step, message, &[mark]);
        let version = self.usable_version(step);
        let replacement = self.operators.replacement(op);
        let help = match (replacement, version) {
            (Some(to), Some(version)) => {
                format!("use {}, which replaces it, or import {name} {version}", quote(to))
            }
            (Some(to), None) => format!("use {}, which replaces it", quote(to)),
            (None, Some(version)) => format!("import {name} {version}"),
            (None, None) => return diagnostic,
        };
        let diagnostic = diagnostic.with_help(help);
        match (replacement, version) {
            (Some(to), _) if self.operators.has_ports_of(op, since, to) => {
                diagnostic.with_fix(Fix::RenameOperator { to: to.to_owned() }, Safety::Safe)
            }
            (_, Some(version)) => self.with_import(diagnostic, step, version),
            (_, None) => diagnostic,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_withdrawn_operator_is_reported() {
        let model = "g (float[2, 3] x, int64[2, 3] at) => (y) { y = Scatter(x, at, x) }";
        let expected =
            ["error[deprecated-operator]: `Scatter` was withdrawn in opset 11, and the model imports 21"];
        assert_eq!(reports(model), expected);
    }
}

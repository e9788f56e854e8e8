//! Diagnostic code `forced-equality`.

use typeloom_dim::DimId;

use crate::diagnostic::pytorch::ONE_NAME;
use crate::diagnostic::{Code, Diagnostic, Scope};
use crate::solution::Equation;
use crate::solve_error::ErrorSite;

super::code!("forced-equality", Warning, "two different symbols can only be equal");

impl Scope<'_, '_> {
    /// Two symbols can only be equal.
    pub(crate) fn forced_equality(
        &mut self,
        site: ErrorSite,
        left: DimId,
        right: DimId,
        equation: &Equation,
    ) -> Diagnostic {
        let (a, b) = (self.dim_quoted(left), self.dim_quoted(right));
        let message = format!("{a} and {b} are different symbols, but they can only be equal");
        let diagnostic = Diagnostic::new(Code::ForcedEquality, message, self.location(site));
        let diagnostic =
            self.equation_diagnostic(diagnostic, site, equation, &format!("makes {a} equal to {b}"));
        diagnostic
            .with_notes(self.declared_note(left))
            .with_notes(self.declared_note(right))
            .with_notes(self.rule_of(site, equation))
            .with_help(format!("give both dims one name if they are meant to be equal: {ONE_NAME}"))
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn two_symbols_that_can_only_be_equal_are_reported() {
        let model = "g (float[A, K] a, float[L, B] b) => (c) { c = MatMul(a, b) }";
        let expected =
            ["warning[forced-equality]: `K` and `L` are different symbols, but they can only be equal"];
        assert_eq!(reports(model), expected);
    }
}

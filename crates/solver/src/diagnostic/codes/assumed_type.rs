//! Diagnostic code `assumed-type`.

use crate::diagnostic::{Code, Diagnostic, Scope};
use crate::program::ValueId;
use crate::solution::Type;
use crate::solve_error::ErrorSite;

super::code!("assumed-type", Warning, "a declared type that nothing confirms or refutes");

impl Scope<'_, '_> {
    /// A declared shape that the graph neither confirms nor refutes.
    pub(crate) fn assumed_type(
        &mut self,
        site: ErrorSite,
        value: ValueId,
        (declared, derived): (&Type, &Type),
    ) -> Diagnostic {
        let (name, claimed, found) = (self.name(value), self.show(declared), self.show(derived));
        let message =
            format!("the declared type of {name} is assumed: {claimed} is declared, {found} is proven");
        Diagnostic::new(Code::AssumedType, message, self.location(site))
            .with_snippets(self.output_snippet(site, value, format!("{found} is proven")))
            .with_snippets(self.declared_snippet(value))
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_declared_shape_that_the_operator_cannot_prove_is_assumed() {
        let model = "g (float[4] x) => (float[2] y) { y = Unique(x) }";
        let expected = [
            "warning[assumed-type]: the declared type of `y` is assumed: float[2] is declared, float[?] is proven",
        ];
        assert_eq!(reports(model), expected);
    }
}

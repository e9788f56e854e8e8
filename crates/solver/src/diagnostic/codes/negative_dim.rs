//! Diagnostic code `negative-dim`.

use crate::diagnostic::{Code, Diagnostic, Fix, Safety, Scope, declaration};
use crate::program::{DeclarationKind, ValueId};
use crate::solve_error::ErrorSite;

super::code!("negative-dim", Error, "a declared dim is negative");

impl Scope<'_, '_> {
    /// A declared extent is negative.
    pub(crate) fn negative_dim(
        &mut self,
        site: ErrorSite,
        value: Option<ValueId>,
        declared_in: Option<DeclarationKind>,
        axis: usize,
        extent: i64,
    ) -> Diagnostic {
        let at = self.location(site);
        let name = value.map_or_else(|| "a value".to_owned(), |value| self.value_text(value));
        let message = format!("axis {axis} of {name} has the negative extent {extent}");
        let snippet = value.and_then(|value| {
            let ty = self.declared_text(value)?;
            let label = format!("axis {axis} is {extent}");
            Some(declaration(&ty, self.body().value_name(value), label, true))
        });
        let diagnostic = Diagnostic::new(Code::NegativeDim, message, at).with_snippets(snippet);
        if declared_in.is_none() {
            return diagnostic;
        }
        diagnostic
            .with_help("leave the extent unknown, as `typeloom fix` does, or write a symbol such as `batch`")
            .with_fix(Fix::DropDims, Safety::Safe)
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn an_extent_of_an_output_is_not_negative() {
        let model = "g (float[2] x) => (float[-2] y) { y = Neg(x) }";
        let expected = ["error[negative-dim]: axis 0 of `y` has the negative extent -2"];
        assert_eq!(reports(model), expected);
    }
}

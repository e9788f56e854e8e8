//! Diagnostic code `default-contradiction`.

use crate::diagnostic::{Code, Diagnostic, Fix, Role, Safety, Scope, declaration};
use crate::program::{DeclarationKind, ValueId};
use crate::solution::Type;
use crate::solve_error::ErrorSite;

super::code!("default-contradiction", Error, "an initializer contradicts the declared type of its input");

impl Scope<'_, '_> {
    /// An initializer contradicts the declared type of its input.
    pub(crate) fn default_contradicts(
        &mut self,
        site: ErrorSite,
        value: Option<ValueId>,
        (declared, found): (&Type, &Type),
    ) -> Diagnostic {
        let name = value.map_or_else(|| "a value".to_owned(), |value| self.name(value));
        // The solved type of the input has the declared shape; the initializer contains its own.
        let own = value.and_then(|value| self.initializer_text(value));
        let (expected, shown) = (self.show(declared), own.unwrap_or_else(|| self.show(found)));
        let message =
            format!("initializer {name} is {shown}, but graph input {name} is declared as {expected}");
        let snippets = value.map(|value| {
            let text = self.body().value_name(value);
            let other = self.declaration_in(DeclarationKind::Input, value, &expected);
            [declaration(&shown, text, "the initializer, which is its default".to_owned(), true), other]
        });
        let mut at = self.location(site);
        if let Some(value) = value {
            at.value = self.location_of_value(value, Role::Initializer).value;
        }
        Diagnostic::new(Code::DefaultContradiction, message, at)
            .with_snippets(snippets.into_iter().flatten())
            .with_notes(self.two_shapes(("declared", declared), ("default", found)))
            .with_help("declare the input with the type of its initializer, as `typeloom fix` does")
            .with_fix(Fix::CorrectDeclarations, Safety::Safe)
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_default_has_the_element_type_of_its_input() {
        let model = "g (float[1] x) => (y) <int64[1] x = {1}> { y = Identity(x) }";
        let expected = [
            "error[default-contradiction]: initializer `x` is int64[1], but graph input `x` is declared as float[1]",
        ];
        assert_eq!(reports(model), expected);
    }
}

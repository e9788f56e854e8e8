//! Diagnostic code `seed-contradiction`.

use crate::diagnostic::{Code, Diagnostic, Scope, declaration};
use crate::program::ValueId;
use crate::solution::Type;
use crate::solve_error::ErrorSite;

super::code!("seed-contradiction", Error, "a type given by the caller contradicts the model");

impl Scope<'_, '_> {
    /// A type given by the caller contradicts the model.
    pub(crate) fn seed_contradicts(
        &mut self,
        site: ErrorSite,
        value: Option<ValueId>,
        (seed, found): (&Type, &Type),
    ) -> Diagnostic {
        let (given, shown) = (self.show(seed), self.show(found));
        let subject = value.map_or_else(|| "a value".to_owned(), |value| self.value_text(value));
        let message = format!("the seed of {subject} is {given}, but its type in the model is {shown}");
        let snippet = value.map(|value| {
            declaration(&shown, self.body().value_name(value), format!("given as {given}"), true)
        });
        Diagnostic::new(Code::SeedContradiction, message, self.location(site))
            .with_snippets(snippet)
            .with_notes(self.two_shapes(("given", seed), ("model", found)))
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::{SMALL, checked};
    use crate::model::{Options, Seed};

    #[test]
    fn a_given_type_that_contradicts_the_declared_type_is_an_error() {
        let bytes = typeloom_onnx::text::model_bytes(SMALL).unwrap();
        let seeds = vec![("x".to_owned(), Seed::parse("int64[seq, past]").unwrap())];
        let found = checked(&bytes, Options { seeds, ..Options::default() }).diagnostics();
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        let message =
            "the seed of graph input `x` is int64[seq, past], but its type in the model is float[seq, past]";
        assert_eq!(found, [format!("error[seed-contradiction]: {message}")]);
    }
}

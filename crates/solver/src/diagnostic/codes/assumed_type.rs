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

    #[test]
    fn the_declared_and_the_proven_type_are_those_of_the_model() {
        let assumed = |model: &str| -> Vec<String> {
            let found = reports(model).into_iter().filter(|line| line.contains("[assumed-type]"));
            found
                .filter_map(|line| line.split_once("is assumed: ").map(|(_, types)| types.to_owned()))
                .collect()
        };
        // The other axis of the same declaration is false for most N.
        let model = "g (float[N, 4] x) => (float[8, 2] y) { y = Unique <axis = 1> (x) }";
        assert_eq!(assumed(model), ["float[8, 2] is declared, float[N, ?] is proven"]);
        // The second type follows from the first assumption in part.
        let model = "g (float[4] x) => (float[2] y, float[5] z) {
            y = Unique(x)  w = Unique(x)  z = Concat <axis = 0> (y, w)
        }";
        let expected =
            ["float[2] is declared, float[?] is proven", "float[5] is declared, float[? + ?] is proven"];
        assert_eq!(assumed(model), expected);
    }
}

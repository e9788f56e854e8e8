//! Diagnostic code `empty-shape`.

use crate::diagnostic::{Code, Diagnostic, Fix, Safety, Scope, declaration};
use crate::program::{DeclarationKind, ValueId};
use crate::solve_error::{Axes, ErrorSite};

super::code!("empty-shape", StrictError, "a value with axes is declared as a scalar");

impl Scope<'_, '_> {
    /// A value with axes is declared as a scalar.
    pub(crate) fn empty_shape(
        &mut self,
        site: ErrorSite,
        value: ValueId,
        declared_in: DeclarationKind,
        shown: &Axes,
    ) -> Diagnostic {
        let list = self.list_text(declared_in, self.body().value(value).graph);
        let found = match shown {
            Axes::Inferred(inferred) => format!("it is {}", self.show(inferred)),
            Axes::Needed(step) => format!("{} needs axes", self.node_text(*step)),
        };
        let message = format!("{} is declared without axes (`shape {{}}`), but {found}", self.name(value));
        let text = self.declared_text(value).unwrap_or_default();
        let snippet =
            declaration(&text, self.body().value_name(value), format!("declared {list}: a scalar"), true);
        Diagnostic::new(Code::EmptyShape, message, self.location(site))
            .with_snippets([snippet])
            .with_help("drop the declared shape, as `typeloom fix` does; ONNX writes an unknown shape by no shape at all")
            .with_fix(Fix::DropShapes, Safety::Safe)
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_matrix_is_not_declared_as_a_scalar() {
        let model = "g (float[2, 2] x) => (float y) { y = MatMul(x, x) }";
        let expected =
            ["error[empty-shape]: `y` is declared without axes (`shape {}`), but it is float[2, 2]"];
        assert_eq!(reports(model), expected);
    }
}

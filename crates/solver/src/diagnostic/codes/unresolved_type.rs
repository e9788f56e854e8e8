//! Diagnostic code `unresolved-type`.

use crate::diagnostic::{Code, Diagnostic, Role, Scope, declaration, element_types};
use crate::elem::ElemSet;
use crate::program::ValueId;
use crate::solution::Type;
use crate::solve_error::ErrorSite;

super::code!("unresolved-type", Error, "nothing determines the type of a value");

impl Scope<'_, '_> {
    /// Nothing determines the type of a value.
    pub(crate) fn unresolved(
        &self,
        site: ErrorSite,
        value: ValueId,
        known: &Type,
        possible: Option<ElemSet>,
    ) -> Diagnostic {
        let subject = self.value_text(value);
        let what = if known.tensor().is_some() { "element type" } else { "type" };
        let message = format!("nothing determines the {what} of {subject}");
        let universe = self.core.types.universe();
        let mut notes = Vec::new();
        match known {
            Type::Unknown(None) | Type::Error => {}
            Type::Unknown(Some(_)) => notes.push(format!("it is known to be some {}", self.show(known))),
            Type::Tensor(_)
            | Type::Sparse(_)
            | Type::Scalar(_)
            | Type::Container(..)
            | Type::Composite(_)
            | Type::Leaf(_) => {
                if let Some(possible) = possible {
                    notes.push(format!("it could still be {}", element_types(universe, possible)));
                }
            }
        }
        let name = self.body().value_name(value);
        let snippet = match self.maker(value) {
            Some(_) if site.step().is_some() => self.output_snippet(site, value, "of which type?"),
            Some(_) | None => Some(declaration("", name, "of which type?".to_owned(), true)),
        };
        let list = if self.role(value) == Role::Input { "" } else { " in value_info" };
        let help = format!("declare the type of {subject}{list}, or seed it");
        Diagnostic::new(Code::UnresolvedType, message, self.location(site))
            .with_snippets(snippet)
            .with_notes(notes)
            .with_help(help)
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn an_undeclared_input_has_no_type() {
        let model = "g (x) => (y) { y = Identity(x) }";
        let expected = ["error[unresolved-type]: nothing determines the type of graph input `x`"];
        assert_eq!(reports(model), expected);
    }
}

//! Diagnostic code `unresolved-type`.

use crate::diagnostic::{Code, Diagnostic, Role, Scope, declaration, element_types};
use crate::elem::{Elem, ElemSet};
use crate::program::ValueId;
use crate::solution::Type;
use crate::solve_error::ErrorSite;
use crate::universe::Universe;

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
        let diagnostic = Diagnostic::new(Code::UnresolvedType, message, self.location(site))
            .with_snippets(snippet)
            .with_notes(notes)
            .with_help(help);
        Diagnostic { proposed_type: Some(proposed(universe, known, possible)), ..diagnostic }
    }
}

/// A declaration that would resolve a type: of a composite, one with the known children; otherwise a tensor
/// of the first possible element type among floats, 64-bit integers and all others.
fn proposed(universe: &Universe, known: &Type, possible: Option<ElemSet>) -> String {
    if let Type::Composite(children) = known {
        let text = |child: &Type| proposed(universe, child, child.tensor().map(|tensor| tensor.elem));
        return match children.children.is_empty() {
            true => "composite{name: float[..]}".to_owned(),
            false => children.text(text),
        };
    }
    let possible = possible.filter(|set| !set.is_empty()).unwrap_or(ElemSet::of(Elem::FLOAT));
    let first = [Elem::FLOAT, Elem::INT64].into_iter().find(|elem| possible.contains(*elem));
    let name = first.or_else(|| possible.iter().next()).map(|elem| universe.elem_name(elem).to_owned());
    format!("{}[..]", name.unwrap_or_default())
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

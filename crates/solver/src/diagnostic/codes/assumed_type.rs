//! Diagnostic code `assumed-type`.

use crate::diagnostic::{Code, Diagnostic, Mark, Scope};
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
        let mut snippets = Vec::new();
        if let ErrorSite::Step(step) = site {
            let mark = Mark::primary(self.output_part(step, value), format!("{found} is proven"));
            snippets.extend(self.snippet(step, &[mark]));
        }
        snippets.extend(self.declared_snippet(value));
        Diagnostic::new(Code::AssumedType, message, self.location(site)).with_snippets(snippets)
    }
}

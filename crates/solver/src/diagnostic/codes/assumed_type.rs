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

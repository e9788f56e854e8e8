//! Diagnostic code `limit-reached`.

use crate::diagnostic::{Code, Diagnostic, Scope};
use crate::program::ValueId;
use crate::solve_error::{ErrorSite, Limit};

super::code!("limit-reached", Warning, "a limit of the checker hides a part of a type");

impl Scope<'_, '_> {
    /// A limit hides a part of the type of a value.
    pub(crate) fn limit_reached(&mut self, site: ErrorSite, value: ValueId, limit: Limit) -> Diagnostic {
        let subject = self.value_text(value);
        let ty = self.type_of(value);
        let message = format!("{subject} is {}, because {}", self.show(&ty), limit.reason());
        let snippet =
            self.maker(value).and_then(|_| self.output_snippet(site, value, "not known because of a limit"));
        Diagnostic::new(Code::LimitReached, message, self.location(site)).with_snippets(snippet).with_help(
            format!("the limits are listed in docs/limits.md; to go on, seed the type of {subject}"),
        )
    }
}

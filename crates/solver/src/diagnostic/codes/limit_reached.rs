//! Diagnostic code `limit-reached`.

use crate::diagnostic::{Code, Diagnostic, Mark, Scope};
use crate::program::{Origin, ValueId};
use crate::solve_error::{ErrorSite, Limit};

super::code!("limit-reached", Warning, "a limit of the checker hides a part of a type");

impl Scope<'_, '_> {
    /// A limit hides a part of the type of a value.
    pub(crate) fn limit_reached(&mut self, site: ErrorSite, value: ValueId, limit: Limit) -> Diagnostic {
        let subject = self.value_text(value);
        let ty = self.type_of(value);
        let message = format!("{subject} is {}, because {}", self.show(&ty), limit.reason());
        let snippet = match (site, self.body().value(value).origin) {
            (ErrorSite::Step(step), Origin::Step(_)) => {
                let mark = Mark::primary(self.output_part(step, value), "not known because of a limit");
                self.snippet(step, &[mark])
            }
            (_, _) => None,
        };
        Diagnostic::new(Code::LimitReached, message, self.location(site)).with_snippets(snippet).with_help(
            format!("the limits are listed in docs/limits.md; to go on, seed the type of {subject}"),
        )
    }
}

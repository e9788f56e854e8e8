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
        let message = match limit {
            Limit::Proofs => format!("a condition of {subject} is undecided, because {}", limit.reason()),
            Limit::Constant { .. }
            | Limit::Expression
            | Limit::Widenings { .. }
            | Limit::Iterations { .. }
            | Limit::Cases { .. } => {
                format!("{subject} is {}, because {}", self.show(&ty), limit.reason())
            }
        };
        let label = match limit {
            Limit::Proofs => "undecided because of a limit",
            Limit::Constant { .. }
            | Limit::Expression
            | Limit::Widenings { .. }
            | Limit::Iterations { .. }
            | Limit::Cases { .. } => "not known because of a limit",
        };
        let snippet = self.maker(value).and_then(|_| self.output_snippet(site, value, label));
        Diagnostic::new(Code::LimitReached, message, self.location(site)).with_snippets(snippet).with_help(
            format!("the limits are listed in docs/limits.md; to go on, seed the type of {subject}"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::tests::{SMALL, with_scope};

    #[test]
    fn a_limit_that_hides_a_part_of_a_type_is_a_warning_with_the_reason() {
        let diagnostic = with_scope(SMALL, |scope| {
            scope.limit_reached(ErrorSite::Body, ValueId::new(0), Limit::Constant { most: 9 })
        });
        let message =
            "graph input `x` is float[seq, past], because a constant of more than 9 elements is not followed";
        assert_eq!(diagnostic.to_string(), format!("warning[limit-reached]: {message}"));
    }
}

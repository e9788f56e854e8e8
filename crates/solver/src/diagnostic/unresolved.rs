//! Values whose type nothing determines, and those of which a limit hides a part.

use super::node::{Mark, declaration};
use super::scope::Scope;
use super::words::elems;
use super::{Code, Diagnostic};
use crate::elem::ElemSet;
use crate::program::{Origin, ValueId};
use crate::solution::Type;
use crate::solve_error::{ErrorSite, Limit};

impl Scope<'_, '_> {
    /// A limit hides a part of the type of a value.
    pub(super) fn limit_reached(&mut self, site: ErrorSite, value: ValueId, limit: Limit) -> Diagnostic {
        let word = self.value_word(value);
        let ty = self.type_of(value);
        let message = format!("{word} is {}, because {}", self.show(&ty), limit.reason());
        let snippet = match (site, self.body().value(value).origin) {
            (ErrorSite::Step(step), Origin::Step(_)) => {
                let mark = Mark::primary(self.output_part(step, value), "not known because of a limit");
                self.snippet(step, &[mark])
            }
            (_, _) => None,
        };
        Diagnostic::new(Code::LimitReached, message, self.location(site))
            .with_snippets(snippet)
            .with_help(format!("the limits are listed in docs/limits.md; to go on, seed the type of {word}"))
    }

    /// Nothing determines the type of a value.
    pub(super) fn unresolved(
        &self,
        site: ErrorSite,
        value: ValueId,
        known: &Type,
        possible: Option<ElemSet>,
    ) -> Diagnostic {
        let word = self.value_word(value);
        let what = if known.tensor().is_some() { "element type" } else { "type" };
        let message = format!("nothing determines the {what} of {word}");
        let universe = self.core.types.universe();
        let mut notes = Vec::new();
        match known {
            Type::Unknown(None) | Type::Error => {}
            Type::Unknown(Some(_)) => notes.push(format!("it is known to be some {}", self.show(known))),
            Type::Tensor(_)
            | Type::Sparse(_)
            | Type::Scalar(_)
            | Type::Sequence(_)
            | Type::Optional(_)
            | Type::Map(..)
            | Type::Leaf(_) => {
                if let Some(possible) = possible {
                    notes.push(format!("it could still be {}", elems(universe, possible)));
                }
            }
        }
        let name = self.body().value_name(value);
        let snippet = match (site, self.body().value(value).origin) {
            (ErrorSite::Step(step), Origin::Step(_)) => {
                self.snippet(step, &[Mark::primary(self.output_part(step, value), "of which type?")])
            }
            (_, _) => Some(declaration("", name, "of which type?".to_owned(), true)),
        };
        let help = match self.body().value(value).origin {
            Origin::Input | Origin::InputWithDefault(_) => format!("declare the type of {word}, or seed it"),
            Origin::Step(_) | Origin::Initializer(_) | Origin::Undefined => {
                format!("declare the type of {word} in value_info, or seed it")
            }
        };
        Diagnostic::new(Code::UnresolvedType, message, self.location(site))
            .with_snippets(snippet)
            .with_notes(notes)
            .with_help(help)
    }
}

//! Symbols of dims that are declared free but are not.

use super::node::{Mark, Part};
use super::scope::Scope;
use super::{Code, Diagnostic};
use crate::dim::DimId;
use crate::fault;

impl Scope<'_, '_> {
    /// A symbol can only be one number.
    pub(super) fn forced_symbol(
        &self,
        place: fault::Place,
        symbol: DimId,
        value: i64,
        rule: &str,
    ) -> Diagnostic {
        let name = self.dim(symbol);
        let message = format!("{name} is declared free, but it can only be {value}");
        let diagnostic = Diagnostic::new(Code::ForcedSymbol, message, self.place(place));
        self.at_rule(diagnostic, place, rule, &format!("makes {name} {value}"))
            .with_help(format!("declare the dim as {value}, or export the model without the constant"))
    }

    /// Two symbols can only be equal.
    pub(super) fn forced_equality(
        &self,
        place: fault::Place,
        left: DimId,
        right: DimId,
        rule: &str,
    ) -> Diagnostic {
        let (a, b) = (self.dim(left), self.dim(right));
        let message = format!("{a} and {b} are declared apart, but they can only be equal");
        let diagnostic = Diagnostic::new(Code::ForcedEquality, message, self.place(place));
        self.at_rule(diagnostic, place, rule, &format!("makes {a} equal to {b}"))
            .with_help("give both dims one name, if that is what is meant")
    }

    fn at_rule(&self, diagnostic: Diagnostic, place: fault::Place, rule: &str, words: &str) -> Diagnostic {
        match place {
            fault::Place::Step(step) => diagnostic
                .with_snippets(self.snippet(step, &[Mark::primary(Part::Operator, words)]))
                .with_notes(self.rule_note(step, rule)),
            fault::Place::Body | fault::Place::Graph(_) | fault::Place::Value(_) => diagnostic,
        }
    }
}

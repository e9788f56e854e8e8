//! Text of equations between dims and of the nodes that require them.

use typeloom_dim::{Condition, DimId};

use super::text::quote_whole;
use super::{Align, Diagnostic, Mark, Part, Scope, list, quote, subject};
use crate::rule::Port;
use crate::solution::{Equation, EquationSource};
use crate::solve_error::ErrorSite;

/// Maximum length of an expression or condition within a sentence, in characters.
pub(super) const MAX_INLINE: usize = 200;

/// Maximum length of a side of a long condition, in characters.
const MAX_SIDE: usize = 40;

impl Scope<'_, '_> {
    /// The node with the two sides of an equation, and the equation itself.
    pub(super) fn equation_diagnostic(
        &mut self,
        diagnostic: Diagnostic,
        site: ErrorSite,
        equation: &Equation,
        label: &str,
    ) -> Diagnostic {
        let ErrorSite::Step(step) = site else { return diagnostic };
        let op = self.op_text(step);
        let condition = equation.condition();
        let text = self.conditions_text(&[condition]);
        let EquationSource::Ports { left, right, relation } = equation.source else {
            let inside = match equation.source {
                EquationSource::Call => format!("a node inside {op} needs {text}"),
                EquationSource::Ports { .. } | EquationSource::Declared(_) => format!("{op} needs {text}"),
            };
            return diagnostic
                .with_snippets(self.snippet(step, &[Mark::primary(Part::Operator, label)]))
                .with_notes([inside]);
        };
        let ports: Vec<Port> =
            if left.port == right.port { vec![right.port] } else { vec![left.port, right.port] };
        let mut marks = vec![Mark::primary(Part::Operator, label)];
        marks.extend(self.shape_marks(step, &ports).into_iter().map(|mark| Mark { primary: false, ..mark }));
        let align = Align::of(relation);
        let need = match self.shapes_note(step, &[&left, &right], align) {
            Some(shapes) => {
                format!(
                    "{op} needs {text}, because {} {relation}:\n{shapes}",
                    subject(&left, &right, relation)
                )
            }
            None => format!("{op} needs {text}, because {} {relation}", subject(&left, &right, relation)),
        };
        diagnostic.with_snippets(self.snippet(step, &marks)).with_notes([need])
    }

    pub(super) fn rule_of(&self, site: ErrorSite, equation: &Equation) -> Vec<String> {
        match (site, equation.source) {
            (ErrorSite::Step(_), EquationSource::Call) => vec![format!("rule {}", equation.rule)],
            (ErrorSite::Step(step), EquationSource::Ports { .. } | EquationSource::Declared(_)) => {
                self.rule_note(step, equation.rule)
            }
            (ErrorSite::Body | ErrorSite::Graph(_) | ErrorSite::Value(_), _) => Vec::new(),
        }
    }

    /// The conjunction of conditions, in backticks and in full: `28 <= N <= 41 and N is divisible by 2`. The
    /// sides of a long one are named, see [`Scope::named_texts`].
    pub(super) fn conditions_text(&self, conditions: &[Condition]) -> String {
        let text = self.core.dims.conditions_text(conditions, |text| text);
        let shown = match text.chars().count() > MAX_INLINE {
            true => self.core.dims.conditions_text(conditions, |side| self.short(side, MAX_SIDE)),
            false => text,
        };
        quote_whole(&shown)
    }

    /// A text, or the name of a long one.
    pub(super) fn short(&self, text: String, max: usize) -> String {
        if text.chars().count() <= max {
            return text;
        }
        let mut named = self.named.borrow_mut();
        if let Some((name, _)) = named.iter().find(|(_, known)| *known == text) {
            return name.clone();
        }
        let taken = |name: &String| self.core.dims.has_symbol(name) || named.iter().any(|(it, _)| it == name);
        let letters = ('A'..='Z').map(String::from);
        let numbered = (1..).map(|number| format!("A{number}"));
        let name = letters.chain(numbered).find(|name| !taken(name)).unwrap_or_default();
        named.push((name.clone(), text));
        name
    }

    /// The texts that the message names, one note each.
    pub(super) fn named_texts(&self) -> Vec<String> {
        let named = self.named.take();
        named.iter().map(|(name, text)| format!("`{name}` is {}", quote_whole(text))).collect()
    }

    /// A binding as text: `batch = 2 and seq = 3`.
    pub(super) fn binding(&self, binding: &[(DimId, i64)]) -> String {
        let parts: Vec<String> = binding
            .iter()
            .map(|(symbol, value)| quote(&format!("{} = {value}", self.core.dims.display(*symbol))))
            .collect();
        list(&parts, "and")
    }
}

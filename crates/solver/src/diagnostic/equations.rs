//! Text of equations between dims and of the nodes that require them.

use super::{Align, Diagnostic, Mark, Part, Scope, list, quote, subject};
use crate::dim::DimId;
use crate::rule::Port;
use crate::solution::{Equation, EquationSource};
use crate::solve_error::ErrorSite;

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
        let text = quote(&self.core.dims.display_condition(condition).to_string());
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

    /// A binding as text: `batch = 2 and seq = 3`.
    pub(super) fn binding(&self, binding: &[(DimId, i64)]) -> String {
        let parts: Vec<String> = binding
            .iter()
            .map(|(symbol, value)| quote(&format!("{} = {value}", self.core.dims.display(*symbol))))
            .collect();
        list(&parts, "and")
    }
}

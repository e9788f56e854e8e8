//! Diagnostic code `forced-symbol`.

use crate::diagnostic::{Code, Diagnostic, Scope, list};
use crate::dim::DimId;
use crate::program::{StepId, ValueId};
use crate::rule::Extent;
use crate::solution::{Equation, EquationSource};
use crate::solve_error::ErrorSite;
use crate::state::constants::Data;

super::code!("forced-symbol", Error, "a dim that is declared free has finitely many admissible values");

/// The maximum number of nodes that are searched for the origin of a constant.
const MAX_STEPS: usize = 64;

impl Scope<'_, '_> {
    /// A symbol has finitely many admissible values.
    pub(crate) fn forced_symbol(
        &mut self,
        site: ErrorSite,
        (symbol, values): (DimId, &[i64]),
        equation: &Equation,
        by_constant: bool,
    ) -> Diagnostic {
        let name = self.dim_quoted(symbol);
        let numbers: Vec<String> = values.iter().map(ToString::to_string).collect();
        let numbers = list(&numbers, "or");
        let message = format!("{name} is declared free, but it can only be {numbers}");
        let last = values.last().copied().unwrap_or_default();
        if let EquationSource::Declared(value) = equation.source {
            return self.forced_by_declaration(site, message, value, symbol, last);
        }
        let diagnostic = Diagnostic::new(Code::ForcedSymbol, message, self.location(site));
        let origin = self.constant_note(equation, last);
        let diagnostic =
            self.equation_diagnostic(diagnostic, site, equation, &format!("makes {name} {numbers}"));
        diagnostic
            .with_notes(origin)
            .with_notes(self.declared_note(symbol))
            .with_notes(self.rule_of(site, equation))
            .with_help(match by_constant {
                _ if last == 0 => "no other extent satisfies this: one of the two sides is wrong".to_owned(),
                true => format!("declare the dim as {last}, or export the model without the constant"),
                false => format!("declare the dim as {last}, or both with the symbol"),
            })
    }

    /// A declared extent that holds for one value of a symbol only.
    fn forced_by_declaration(
        &mut self,
        site: ErrorSite,
        message: String,
        value: ValueId,
        symbol: DimId,
        extent: i64,
    ) -> Diagnostic {
        let found = self.type_of(value);
        let found = self.show(&found);
        let name = self.dim_quoted(symbol);
        Diagnostic::new(Code::ForcedSymbol, message, self.location(site))
            .with_snippets(self.output_snippet(site, value, format!("inferred as {found}")))
            .with_snippets(self.declared_snippet(value))
            .with_notes([format!(
                "the declared type of {} holds only where {name} is {extent}",
                self.name(value)
            )])
            .with_notes(self.declared_note(symbol))
            .with_help(format!("correct the declared type, or declare the dim as {extent}"))
    }

    /// The value of the model that contains the only admissible number of a symbol.
    fn constant_note(&self, equation: &Equation, wanted: i64) -> Option<String> {
        let EquationSource::Ports { left, right, .. } = equation.source else { return None };
        if !self.explains() {
            return None;
        }
        let direct = [left, right].into_iter().filter_map(|side| self.core.dims.as_constant(side.dim));
        let numbers: Vec<i64> = std::iter::once(wanted).chain(direct).collect();
        for number in numbers {
            for side in [right, left] {
                if let Some(note) = self.origin_of(equation.step, side, number) {
                    return Some(note);
                }
            }
        }
        None
    }

    fn origin_of(&self, step: StepId, side: Extent, number: i64) -> Option<String> {
        let value = self.value(step, side.port)?;
        if let Some(axis) = side.axis {
            let is_it = self.core.dims.as_constant(side.dim) == Some(number);
            return is_it.then(|| format!("the {number} is axis {axis} of {}", self.source_text(value)));
        }
        if !self.holds(value, number) {
            return None;
        }
        let body = self.body();
        let mut at = value;
        for _ in 0..MAX_STEPS {
            let Some(maker) = self.maker(at) else { break };
            let inputs = body.inputs(body.first_step(maker)).iter().flatten().copied();
            match inputs.into_iter().find(|input| self.holds(*input, number)) {
                Some(input) => at = input,
                None => break,
            }
        }
        Some(format!("the {number} is in {}", self.source_text(at)))
    }

    /// Whether a value is known to have the number among its elements.
    fn holds(&self, value: ValueId, number: i64) -> bool {
        let ints = self.core.data_of(self.frame, value).and_then(Data::as_ints);
        ints.is_some_and(|ints| {
            ints.items.iter().any(|item| self.core.dims.as_constant(*item) == Some(number))
        })
    }

    /// A value with the node that defines it.
    fn source_text(&self, value: ValueId) -> String {
        match self.maker(value) {
            Some(step) => format!("{}, {}", self.name(value), self.made_by(step)),
            None => self.value_text(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_weight_determines_a_symbol() {
        let model = "g (float[batch, width] x) => (y) <float[2, 1] w = {1.0, 2.0}> { y = MatMul(x, w) }";
        let expected = ["error[forced-symbol]: `width` is declared free, but it can only be 2"];
        assert_eq!(reports(model), expected);
    }
}

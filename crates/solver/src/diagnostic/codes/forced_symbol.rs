//! Diagnostic code `forced-symbol`.
//!
//! A symbol in the type of an input promises that the caller chooses the extent. If the graph works for
//! finitely many values only, the promise is false:
//!
//! ```text
//! g (float[batch, width] x) => (y) <float[2, 1] w = {1.0, 2.0}> { y = MatMul (x, w) }
//! `width` is declared free, but it can only be 2
//! ```
//!
//! [`crate::analysis::conditions`] finds the values. This file explains them: the equation of the node, the
//! origin of the constant, the input that declares the symbol, and a repair. The origin is searched backward
//! from the ports of the equation, along values that are known to contain the number ([`Scope::origin_of`]).
//! The help contains only values that the rest of the model admits, too (`fitting`).
//!
//! Several symbols can have finitely many values together, as in `h*w = 400`. Then the report gives the
//! equation, because each single value of a symbol may be right ([`Scope::forced_symbols`]).
//!
//! **Invariant:** the severity depends on the solve error and not only on the code: if no constant of the
//! graph is involved, the report can be a warning (see `describe`).
//!
//! **Limits:** the search for a constant follows at most [`MAX_STEPS`] nodes. An arithmetic progression is
//! described by its ends. Of other sets, at most [`MAX_LISTED`] values are listed; a larger set is described
//! by its ends, or as the divisors of a number up to [`MAX_DIVIDED`].

use typeloom_dim::{Condition, DimId, progression, symbols_of};
use typeloom_types::plural::counted;

use crate::diagnostic::{Code, Diagnostic, Scope, list, quote};
use crate::program::{StepId, ValueId};
use crate::rule::Extent;
use crate::solution::{Equation, EquationSource};
use crate::solve_error::ErrorSite;
use crate::state::constants::Data;

super::code!("forced-symbol", Error, "a dim that is declared free has finitely many admissible values");

/// The repair of the model itself.
const WITHOUT: &str = "export the model without the constant";

/// The maximum number of nodes that are searched for the origin of a constant.
const MAX_STEPS: usize = 64;

/// Maximum number of values that are listed.
const MAX_LISTED: usize = 8;

/// Numbers as a list of alternatives, or as a description of many.
fn numbers(values: &[i64]) -> String {
    let list = || list(&values.iter().map(i64::to_string).collect::<Vec<_>>(), "or");
    let (&[first, .., last], Some(step)) = (values, progression(values)) else {
        return match values {
            [.., last] if values.len() > MAX_LISTED && are_all_divisors(values) => {
                format!("a divisor of {last}")
            }
            [first, .., last] if values.len() > MAX_LISTED => {
                format!("one of {} between {first} and {last}", counted(values.len(), "number"))
            }
            _ => list(),
        };
    };
    match step {
        1 => format!("a number between {first} and {last}"),
        2 if first % 2 == 0 => format!("an even number between {first} and {last}"),
        2 => format!("an odd number between {first} and {last}"),
        _ => format!("one of {first}, {} and so on up to {last}", first + step),
    }
}

/// Whether these are the divisors of the last one.
fn are_all_divisors(values: &[i64]) -> bool {
    let Some(&number) = values.last().filter(|number| **number <= MAX_DIVIDED) else { return false };
    (1..=number).filter(|divisor| number % divisor == 0).eq(values.iter().copied())
}

/// Maximum number whose divisors are compared with a list.
const MAX_DIVIDED: i64 = 1 << 16;

impl Scope<'_, '_> {
    /// A symbol has finitely many admissible values. `fitting` are those that the rest of the model admits
    /// too.
    pub(crate) fn forced_symbol(
        &mut self,
        site: ErrorSite,
        symbol: DimId,
        (values, fitting): (&[i64], &[i64]),
        equation: &Equation,
        by_constant: bool,
    ) -> Diagnostic {
        let name = self.dim_quoted(symbol);
        let values_text = numbers(values);
        let message = format!("{name} is declared free, but it can only be {values_text}");
        if let EquationSource::Declared(value) = equation.source {
            return self.forced_by_declaration(
                site,
                message,
                (value, equation.left),
                symbol,
                (values, fitting),
            );
        }
        let diagnostic = Diagnostic::new(Code::ForcedSymbol, message, self.location(site));
        let origin = self.constant_note(equation, values.last().copied());
        let diagnostic =
            self.equation_diagnostic(diagnostic, site, equation, &format!("makes {name} {values_text}"));
        let expression = self.declared_expression(equation, symbol);
        let other = match (&expression, by_constant) {
            (Some((declared, input, _)), _) => format!("correct {declared} in the type of {input}"),
            (None, true) => WITHOUT.to_owned(),
            (None, false) => "both with the symbol".to_owned(),
        };
        diagnostic
            .with_notes(origin)
            .with_notes(expression.map(|(declared, input, axis)| {
                format!("{declared} is declared at axis {axis} of graph input {input}")
            }))
            .with_notes(self.declared_note(symbol))
            .with_notes(self.rule_of(site, equation))
            .with_help(match fitting {
                [0] => "no other extent satisfies this: one of the two sides is wrong".to_owned(),
                _ => format!("declare {name} as {}, or {other}", numbers(fitting)),
            })
    }

    /// Several symbols have finitely many admissible values together. `fitting` are their values, if the rest
    /// of the model leaves one for each.
    pub(crate) fn forced_symbols(
        &mut self,
        site: ErrorSite,
        condition: Condition,
        fitting: &[(DimId, i64)],
        equation: &Equation,
        by_constant: bool,
    ) -> Diagnostic {
        let text = self.conditions_text(&[condition]);
        let symbols = symbols_of(&self.core.dims, condition);
        let names: Vec<String> = symbols.iter().map(|symbol| self.dim_quoted(*symbol)).collect();
        let names = list(&names, "and");
        let message = format!("{names} are declared free, but the model runs only where {text}");
        let diagnostic = Diagnostic::new(Code::ForcedSymbol, message, self.location(site));
        let origin = self.constant_note(equation, None);
        let diagnostic = self.equation_diagnostic(diagnostic, site, equation, &format!("needs {text}"));
        let declared: Vec<String> = symbols.iter().filter_map(|symbol| self.declared_note(*symbol)).collect();
        let proposal = match fitting {
            [] => format!("declare {names} as numbers with {text}"),
            _ => {
                let values = fitting.iter();
                let values = values.map(|(symbol, value)| format!("{} as {value}", self.dim_quoted(*symbol)));
                format!("declare {}", list(&values.collect::<Vec<_>>(), "and"))
            }
        };
        let other = if by_constant { WITHOUT } else { "both with the same symbols" };
        diagnostic
            .with_notes(origin)
            .with_notes(declared)
            .with_notes(self.rule_of(site, equation))
            .with_help(format!("{proposal}, or {other}"))
    }

    /// A declared extent that holds for few values of a symbol only.
    fn forced_by_declaration(
        &mut self,
        site: ErrorSite,
        message: String,
        (value, derived): (ValueId, DimId),
        symbol: DimId,
        (values, fitting): (&[i64], &[i64]),
    ) -> Diagnostic {
        let found = self.type_of(value);
        let found = self.show(&found);
        let label = self.inferred_extent_text(value, derived, &found);
        let name = self.dim_quoted(symbol);
        Diagnostic::new(Code::ForcedSymbol, message, self.location(site))
            .with_snippets(self.output_snippet(site, value, label))
            .with_snippets(self.declared_snippet(value))
            .with_notes([format!(
                "the declared type of {} holds only where {name} is {}",
                self.name(value),
                numbers(values)
            )])
            .with_notes(self.declared_note(symbol))
            .with_help(format!("correct the declared type, or declare {name} as {}", numbers(fitting)))
    }

    /// A side of an equation that a graph input declares as an expression of other symbols, as `past + 1`:
    /// the expression, the input and the axis.
    fn declared_expression(&mut self, equation: &Equation, symbol: DimId) -> Option<(String, String, usize)> {
        let sides = [equation.left, equation.right];
        let (axis, input, dim) = self.declared_at(|dims, dim| {
            let symbols = dims.symbols_of(dim);
            sides.contains(&dim)
                && dims.as_symbol(dim).is_none()
                && !symbols.is_empty()
                && !symbols.contains(&symbol)
        })?;
        Some((self.dim_quoted(dim), self.name(input), axis))
    }

    /// The value of the model that contains the only admissible number of a symbol.
    fn constant_note(&self, equation: &Equation, wanted: Option<i64>) -> Option<String> {
        let EquationSource::Ports { left, right, .. } = equation.source else { return None };
        if !self.explains() {
            return None;
        }
        let direct = [left, right].into_iter().filter_map(|side| self.core.dims.as_constant(side.dim));
        let numbers: Vec<i64> = wanted.into_iter().chain(direct).collect();
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
            let factors = self.factors(value, number)?;
            return Some(format!("the {number} is {factors} of {}", self.source_text(value)));
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

    /// The product of the elements of a value, if it is a number.
    fn factors(&self, value: ValueId, number: i64) -> Option<String> {
        let ints = self.core.data_of(self.frame, value).and_then(Data::as_ints)?;
        let items = ints.items.iter().map(|item| self.core.dims.as_constant(*item));
        let items: Vec<i64> = items.collect::<Option<_>>()?;
        let product = items.iter().try_fold(1_i64, |product, item| product.checked_mul(*item))?;
        let texts: Vec<String> = items.iter().map(i64::to_string).collect();
        (product == number && texts.len() > 1).then(|| quote(&texts.join("*")))
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
    use crate::diagnostic::tests::{help, reports};

    #[test]
    fn the_equation_of_several_symbols_is_reported_with_any_number_of_solutions() {
        for (target, number) in [("2, 3, 4", 6), ("7, 1, 4", 7), ("48, 244, 4", 11712)] {
            let model =
                format!("g (float[a, b, 4] x) => (y) <int64[3] s = {{{target}}}> {{ y = Reshape(x, s) }}");
            let expected = format!(
                "error[forced-symbol]: `a` and `b` are declared free, but the model runs only where `a*b = {number}`"
            );
            assert_eq!(reports(&model), [expected]);
        }
        let sum = "g (float[a, 4] x, float[b, 4] z) => (y) <int64[2] s = {50, 4}> {
            c = Concat <axis = 0> (x, z)  y = Reshape(c, s)
        }";
        let expected = [
            "error[forced-symbol]: `a` and `b` are declared free, but the model runs only where `a + b = 50`",
        ];
        assert_eq!(reports(sum), expected);
    }

    #[test]
    fn an_expression_in_the_declaration_of_an_input_is_the_origin() {
        let model = "<ir_version: 10, opset_import: [\"\": 21]>
            g (float[seq, \"seq + past\"] scores, float[1, \"past + 1\"] mask) => (y) { y = Add(scores, mask) }";
        assert_eq!(help(model), "declare `seq` as 1, or correct `past + 1` in the type of `mask`");
    }

    #[test]
    fn a_weight_determines_a_symbol() {
        let model = "g (float[batch, width] x) => (y) <float[2, 1] w = {1.0, 2.0}> { y = MatMul(x, w) }";
        let expected = ["error[forced-symbol]: `width` is declared free, but it can only be 2"];
        assert_eq!(reports(model), expected);
    }

    #[test]
    fn many_values_are_described() {
        let described = |values: &[i64]| super::numbers(values);
        assert_eq!(described(&[2, 3]), "2 or 3");
        assert_eq!(described(&[28, 29, 30, 31]), "a number between 28 and 31");
        assert_eq!(described(&[2, 4, 6]), "an even number between 2 and 6");
        assert_eq!(described(&[1, 4, 7, 10]), "one of 1, 4 and so on up to 10");
        assert_eq!(described(&[1, 2, 4, 8]), "1, 2, 4 or 8");
        assert_eq!(described(&[1, 2, 3, 4, 6, 9, 12, 18, 36]), "a divisor of 36");
        assert_eq!(described(&[1, 2, 3, 5, 6, 9, 12, 18, 36]), "one of 9 numbers between 1 and 36");
    }
}

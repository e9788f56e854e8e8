//! Diagnostic code `restricted-symbol`.

use typeloom_dim::{Condition, DimId, Relation};

use crate::diagnostic::pytorch::ONE_NAME;
use crate::diagnostic::{Code, Diagnostic, Scope, declaration};
use crate::program::ValueId;
use crate::solution::Equation;
use crate::solve_error::ErrorSite;

super::code!("restricted-symbol", Warning, "the model runs for some values of a symbol only");

impl Scope<'_, '_> {
    /// The graph runs for some bindings of symbols only.
    pub(crate) fn restricted_symbol(
        &mut self,
        site: ErrorSite,
        conditions: &[Condition],
        equation: &Equation,
        binding: &[(DimId, i64)],
    ) -> Diagnostic {
        let message = format!("the model runs only where {}", self.conditions_text(conditions));
        let diagnostic = Diagnostic::new(Code::RestrictedSymbol, message, self.location(site));
        let declared: Vec<String> =
            binding.iter().filter_map(|(symbol, _)| self.declared_note(*symbol)).collect();
        let failing = format!("it fails with {}", self.binding(binding));
        let help = self.restriction_help(conditions, equation);
        let diagnostic = self
            .equation_diagnostic(diagnostic, site, equation, "restricts the symbols")
            .with_notes([failing])
            .with_notes(declared)
            .with_notes(self.rule_of(site, equation));
        match help {
            Some(help) => diagnostic.with_help(help),
            None => diagnostic,
        }
    }

    /// The repair, where the cause is known: two names of one extent, or a constant.
    fn restriction_help(&mut self, conditions: &[Condition], equation: &Equation) -> Option<String> {
        let dims = &self.core.dims;
        let is_of_names = |condition: &Condition| {
            let relates =
                matches!(condition.relation, Relation::Equal | Relation::OneOrEqual | Relation::Broadcast);
            relates && [condition.left, condition.right].iter().all(|side| dims.as_symbol(*side).is_some())
        };
        if conditions.iter().all(is_of_names) {
            return Some(format!("give both dims one name if they are meant to be equal: {ONE_NAME}"));
        }
        let has_number =
            |it: &Condition| [it.left, it.right].iter().any(|side| dims.as_constant(*side).is_some());
        if !conditions.iter().any(has_number) {
            return None;
        }
        match self.without_constant(equation, None) {
            cause if cause.is_empty() => None,
            cause => Some(format!("for other values, export the model without the constant{cause}")),
        }
    }

    /// An unknown extent of an input has one admissible value.
    pub(crate) fn narrowed_input(
        &mut self,
        site: ErrorSite,
        value: ValueId,
        axis: usize,
        extent: i64,
    ) -> Diagnostic {
        let name = self.value_text(value);
        let message = format!("axis {axis} of {name} has no declared extent, but it can only be {extent}");
        let snippet = self.declared_text(value).map(|text| {
            let label = format!("axis {axis} can only be {extent}");
            declaration(&text, self.body().value_name(value), label, true)
        });
        Diagnostic::new(Code::RestrictedSymbol, message, self.location(site))
            .with_snippets(snippet)
            .with_help(format!("declare the extent as {extent}"))
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::{help, reports};

    #[test]
    fn a_condition_on_symbols_is_reported() {
        let model = "g (float[N] x) => (y) <int64[2] to = {2, -1}> { y = Reshape(x, to) }";
        let expected = ["warning[restricted-symbol]: the model runs only where `N is divisible by 2`"];
        assert_eq!(reports(model), expected);
    }

    #[test]
    fn the_help_names_the_cause() {
        let head = "<ir_version: 10, opset_import: [\"\": 21]>";
        let two_names = "g (float[N, 4] x, float[M, 4] y) => (z) { z = Add(x, y) }";
        let expected = "give both dims one name if they are meant to be equal: in PyTorch, one name in \
                        `dynamic_axes`, or one `Dim` in `dynamic_shapes`";
        assert_eq!(help(&format!("{head} {two_names}")), expected);
        // `x.view(-1, 7, 4)`
        let view = "g (float[batch, seq, 4] x) => (y) <int64[3] to = {-1, 7, 4}> { y = Reshape(x, to) }";
        let expected = "for other values, export the model without the constant: in PyTorch, write `x.shape[i]` \
                        in `view` or `reshape`, and neither a number nor `int(x.shape[i])`";
        assert_eq!(help(&format!("{head} {view}")), expected);
    }

    #[test]
    fn conditions_of_one_symbol_are_joined() {
        let model = "g (float[N] x) => (y, z) <int64[2] two = {2, -1}, int64[2] three = {3, -1}> {
          y = Reshape(x, two)
          z = Reshape(x, three)
        }";
        let expected = ["warning[restricted-symbol]: the model runs only where `N is divisible by 6`"];
        assert_eq!(reports(model), expected);
    }

    #[test]
    fn a_bound_is_a_warning_for_any_operator() {
        let model = "g (float[N, 2] x) => (y) <int64[1] low = {0}, float[16, 2] table = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}> {
          length = Shape <start = 0, end = 1> (x)
          rows = Slice(table, low, length, low)
          y = Add(x, rows)
        }";
        let expected = ["warning[restricted-symbol]: the model runs only where `N <= 16`"];
        assert_eq!(reports(model), expected);
    }

    #[test]
    fn values_between_two_bounds_are_one_warning() {
        let model = "g (float[N] x) => (y) <int64[1] four = {4}, float[3] c = {1.0, 1.0, 1.0}> {
          n = Shape(x)  q = Div(n, four)  r = ConstantOfShape(q)  z = Concat <axis = 0> (r, c)
          e = Concat <axis = 0> (c, c)  y = Add(z, e)
        }";
        let expected = ["warning[restricted-symbol]: the model runs only where `12 <= N <= 15`"];
        assert_eq!(reports(model), expected);
    }

    #[test]
    fn a_long_condition_is_stated_in_full() {
        let symbols = |name: &str, rank| (0..rank).map(|at| format!("{name}_{at}_of_the_model")).collect();
        let (a, b): (Vec<String>, Vec<String>) = (symbols("first", 6), symbols("other", 7));
        let model = format!(
            "<ir_version: 10, opset_import: [\"\": 21]> g (float[{}] x, float[{}] z) => (y) {{
                s = Shape(z)  y = Reshape(x, s)
            }}",
            a.join(", "),
            b.join(", ")
        );
        let bytes = typeloom_onnx::text::model_bytes(&model).unwrap();
        let mut checked = typeloom_ops::check::check(&bytes, &Default::default()).unwrap();
        let found = checked.diagnostics();
        let [only] = &found[..] else { panic!("{found:?}") };
        assert_eq!(only.message, "the model runs only where `A = B`");
        let named = |name: &str, symbols: &[String]| format!("`{name}` is `{}`", symbols.join("*"));
        for note in [named("A", &a), named("B", &b)] {
            assert!(only.notes.contains(&note), "{note}: {:?}", only.notes);
        }
    }
}

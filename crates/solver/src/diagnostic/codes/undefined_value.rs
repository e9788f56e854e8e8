//! Diagnostic code `undefined-value`.

use crate::diagnostic::{Code, Diagnostic, Fix, Mark, Part, Scope};
use crate::program::{GraphId, Origin, StepId, ValueId};
use typeloom_types::suggest::nearest;

super::code!("undefined-value", Error, "a node reads a value that nothing defines");

/// Minimum length of a name for which another one is suggested.
const MIN_LENGTH: usize = 3;

impl<'a> Scope<'_, 'a> {
    /// A node reads a name that nothing defines.
    pub(crate) fn undefined_value(&self, step: StepId, value: ValueId, input: usize) -> Diagnostic {
        let name = self.name(value);
        let message = format!("{} reads {name}, which nothing defines", self.op_text(step));
        let mark = Mark::primary(Part::Input(input), "not defined");
        let diagnostic = self.node_diagnostic(Code::UndefinedValue, step, message, &[mark]);
        let near = if self.explains() { self.names_like_at(step, value) } else { Vec::new() };
        diagnostic.with_suggestion(&near, |to| Fix::RenameInput { input, to })
    }

    /// Names that are visible at a node and that `value` could be a misspelling of.
    fn names_like_at(&self, step: StepId, value: ValueId) -> Vec<String> {
        let body = self.body();
        let graphs: Vec<GraphId> = body.enclosing(body.step(step).graph).collect();
        let seen = |other: ValueId| {
            let record = body.value(other);
            graphs.contains(&record.graph)
                && match record.origin {
                    Origin::Step(maker) => maker < step,
                    Origin::Input | Origin::InputWithDefault(_) | Origin::Initializer(_) => true,
                    Origin::Undefined => false,
                }
        };
        self.names_like(value, seen)
    }

    /// Names of values for which `seen` holds and that `value` could be a misspelling of.
    pub(crate) fn names_like(&self, value: ValueId, seen: impl Fn(ValueId) -> bool) -> Vec<String> {
        let body = self.body();
        let name: &'a str = body.value_name(value);
        // Every other name is one edit from a name of one or two letters.
        if name.len() < MIN_LENGTH {
            return Vec::new();
        }
        let names = body.values().filter(|other| seen(*other));
        nearest(name, names.map(|other| body.value_name(other)).filter(|other| *other != name))
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_name_that_nothing_defines_is_reported() {
        let model = "g (float input) => (y) { y = Neg(inptu) }";
        let expected = ["error[undefined-value]: `Neg` reads `inptu`, which nothing defines"];
        assert_eq!(reports(model), expected);
    }
}

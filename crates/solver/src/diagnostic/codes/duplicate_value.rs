//! Diagnostic code `duplicate-value`.

use crate::diagnostic::{Code, Diagnostic, Fix, Mark, Part, Safety, Scope};
use crate::program::{Origin, StepId, ValueId};
use crate::solve_error::ErrorSite;

super::code!("duplicate-value", Error, "a value is defined twice");

impl Scope<'_, '_> {
    /// A name is defined twice in one graph.
    pub(crate) fn duplicate_value(
        &self,
        site: ErrorSite,
        first: ValueId,
        output: Option<usize>,
    ) -> Diagnostic {
        let name = self.name(first);
        let record = self.body().value(first);
        let mut notes = Vec::new();
        let mut snippets = Vec::new();
        let by_name = |step: StepId| {
            let outputs = self.body().outputs(self.body().last_step(step));
            outputs
                .iter()
                .position(|made| made.is_some_and(|made| self.body().value(made).name == record.name))
        };
        if let ErrorSite::Step(step) = site {
            let part = output.map_or(Part::Operator, Part::Output);
            snippets.extend(self.snippet(step, &[Mark::primary(part, "defined again")]));
            if let Origin::Step(maker) = record.origin
                && self.body().first_step(maker) != self.body().first_step(step)
            {
                let part = by_name(maker).map_or(Part::Operator, Part::Output);
                snippets.extend(self.other_snippet(maker, &[Mark::context(part, "first defined here")]));
            }
        }
        match record.origin {
            Origin::Step(_) => {}
            Origin::Input | Origin::InputWithDefault(_) | Origin::Initializer(_) => {
                notes.push(format!("{name} is already {}", self.value_text(first)));
            }
            Origin::Undefined => {}
        }
        let message = format!("{name} is defined twice");
        let diagnostic = Diagnostic::new(Code::DuplicateValue, message, self.location(site))
            .with_snippets(snippets)
            .with_notes(notes);
        match output {
            Some(_) => diagnostic.with_help("give one of the two another name"),
            None => diagnostic
                .with_help("drop one of the two, as `typeloom fix` does if they are equal")
                .with_fix(Fix::DropRepetitions, Safety::Safe),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_node_does_not_define_an_input_again() {
        let model = "g (float x) => (x) { x = Neg(x) }";
        let expected = ["error[duplicate-value]: `x` is defined twice"];
        assert_eq!(reports(model), expected);
    }
}

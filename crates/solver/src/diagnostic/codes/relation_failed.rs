//! Diagnostic code `relation-failed`.

use typeloom_types::relation::{PortRef, RelationError};

use crate::diagnostic::{Code, Diagnostic, Mark, Scope, clip};
use crate::program::StepId;
use crate::rule::Port;

super::code!("relation-failed", Error, "a relation that a custom operator declares does not hold");

/// Maximum length of a message of a relation, in characters.
const MAX_CHARS: usize = 400;

impl Scope<'_, '_> {
    /// A custom relation of a declared operator does not hold.
    pub(crate) fn relation_failed(&mut self, step: StepId, failure: &RelationError) -> Diagnostic {
        let RelationError { message, ports, expected, found } = failure;
        let text = format!("{} does not take these types: {}", self.op_text(step), clip(message, MAX_CHARS));
        let last = ports.len().saturating_sub(1);
        let mut marks: Vec<Mark<'_>> = Vec::new();
        for (at, port) in ports.iter().enumerate() {
            let port = match port {
                PortRef::Input(at) | PortRef::InputsFrom(at) => Port::In(*at),
                PortRef::Output(at) | PortRef::OutputsFrom(at) => Port::Out(*at),
            };
            let ty = self.port_type(step, port);
            let shown = self.show(&ty);
            let Mark { part, text, primary } = self.mark(step, port, &shown, at == last);
            marks.push(Mark { part, text, primary });
        }
        let sides = format!("expected {}, found {}", clip(expected, MAX_CHARS), clip(found, MAX_CHARS));
        self.node_diagnostic(Code::RelationFailed, step, text, &marks)
            .with_notes((!expected.is_empty() || !found.is_empty()).then_some(sides))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::tests::{SMALL, with_scope};

    #[test]
    fn a_relation_of_a_declared_operator_states_its_own_message() {
        let failure = RelationError {
            message: "the width must be even".to_owned(),
            ports: vec![PortRef::Input(0)],
            expected: "an even width".to_owned(),
            found: "7".to_owned(),
        };
        let diagnostic = with_scope(SMALL, |scope| scope.relation_failed(StepId::new(0), &failure));
        assert_eq!(diagnostic.message, "`Pass` does not take these types: the width must be even");
        assert_eq!(diagnostic.notes, ["expected an even width, found 7"]);
        assert_eq!(diagnostic.snippets[0].labels[0].text, "float[seq, past], from graph input `x`");
    }
}

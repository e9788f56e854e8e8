//! Relations that plainly declared operators bring with them.

use typeloom_types::relation::{PortRef, RelationError};

use super::node::Mark;
use super::scope::Scope;
use super::words::plain;
use super::{Code, Diagnostic};
use crate::program::StepId;
use crate::rule::Port;

/// The most characters of what a relation says that are shown.
const MAX_CHARS: usize = 400;

impl Scope<'_, '_> {
    /// A custom relation of a declared operator does not hold.
    pub(super) fn relation_failed(
        &mut self,
        step: StepId,
        relation: &str,
        failure: &RelationError,
    ) -> Diagnostic {
        let RelationError { message, ports, expected, found } = failure;
        let words =
            format!("{} does not take these types: {}", self.op_word(step), plain(message, MAX_CHARS));
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
        let sides = format!("expected {}, found {}", plain(expected, MAX_CHARS), plain(found, MAX_CHARS));
        Diagnostic::new(Code::RelationFailed, words, self.location_of_step(step))
            .with_snippets(self.snippet(step, &marks))
            .with_notes((!expected.is_empty() || !found.is_empty()).then_some(sides))
            .with_notes(self.rule_note(step, relation))
    }
}

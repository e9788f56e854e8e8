//! Inputs and outputs that are missing, too many, or of a value that cannot be used.

use super::node::{Mark, Part};
use super::scope::Scope;
use super::words::{count, tick};
use super::{Code, Diagnostic};
use crate::program::StepId;
use crate::rule::Port;
use crate::signature::{Arity, Formal};
use crate::solve_error::Side;

/// The most ports of a signature that are listed.
const MAX_PORTS: usize = 16;

impl Scope<'_, '_> {
    /// A required port is left out.
    pub(super) fn missing_port(&self, step: StepId, port: Port, name: &str) -> Diagnostic {
        let (code, side, at) = match port {
            Port::In(at) | Port::BodyIn(_, at) => (Code::MissingInput, "input", at),
            Port::Out(at) | Port::BodyOut(_, at) => (Code::MissingOutput, "output", at),
        };
        let message = format!("{} needs {side} {}, which is left out", self.op_word(step), tick(name));
        let mark = Mark::primary(Part::Operator, format!("{side} #{at}, {}, is missing", tick(name)));
        Diagnostic::new(code, message, self.location_of_step(step))
            .with_snippets(self.snippet(step, &[mark]))
            .with_notes(self.ports_note(step))
    }

    /// More inputs or outputs than the operator has.
    pub(super) fn surplus_ports(&self, step: StepId, side: Side, given: usize, most: usize) -> Diagnostic {
        let verb = match side {
            Side::Inputs => "takes",
            Side::Outputs => "gives",
        };
        let limit = if self.all_required(step, side) { "" } else { "at most " };
        let message = format!(
            "{} {verb} {limit}{}, but this node has {given}",
            self.op_word(step),
            count(most, noun(side))
        );
        Diagnostic::new(Code::SurplusPorts, message, self.location_of_step(step))
            .with_snippets(self.snippet(step, &surplus(side, given, most)))
            .with_notes(self.ports_note(step))
    }

    /// A constant input has a value that the operator cannot use.
    pub(super) fn input_value(
        &mut self,
        step: StepId,
        port: Port,
        message: &str,
        notes: Vec<String>,
    ) -> Diagnostic {
        let words = format!(
            "the value of {} does not fit {}: it {message}",
            self.port_word(step, port),
            self.op_word(step)
        );
        let origin = self.value(step, port).map(|value| self.origin_words(value)).unwrap_or_default();
        let mark = Mark { part: self.part(port), text: origin, primary: true };
        Diagnostic::new(Code::InputValue, words, self.location_of_step(step))
            .with_snippets(self.snippet(step, &[mark]))
            .with_notes(notes)
    }

    /// The input that the operator declares under this name, where the node has it.
    pub(super) fn input_named(&self, step: StepId, name: &str) -> Option<Port> {
        let schema = self.schema(step)?;
        let at = schema.inputs.iter().position(|formal| &*formal.name == name)?;
        self.value(step, Port::In(at)).map(|_| Port::In(at))
    }

    fn all_required(&self, step: StepId, side: Side) -> bool {
        let Some(schema) = self.schema(step) else { return true };
        let formals = match side {
            Side::Inputs => &schema.inputs,
            Side::Outputs => &schema.outputs,
        };
        formals.iter().all(|formal| formal.arity == Arity::Required)
    }

    /// What the operator takes and gives.
    fn ports_note(&self, step: StepId) -> Option<String> {
        let schema = self.schema(step)?;
        let side = |formals: &[Formal]| {
            let mut names: Vec<String> = formals.iter().take(MAX_PORTS).map(port_text).collect();
            if formals.len() > MAX_PORTS {
                names.push("…".to_owned());
            }
            names.join(", ")
        };
        Some(format!(
            "{} is declared as ({}) -> ({}) in opset {}",
            tick(&schema.name),
            side(&schema.inputs),
            side(&schema.outputs),
            schema.since_version
        ))
    }
}

/// `X`, `X?` for an optional port, `X...` for one that repeats.
fn port_text(formal: &Formal) -> String {
    match formal.arity {
        Arity::Required => formal.name.to_string(),
        Arity::Optional => format!("{}?", formal.name),
        Arity::Variadic { .. } => format!("{}...", formal.name),
    }
}

pub(super) fn noun(side: Side) -> &'static str {
    match side {
        Side::Inputs => "input",
        Side::Outputs => "output",
    }
}

/// Marks on the ports from position `most` on; a long list is marked at its ends.
pub(super) fn surplus<'n>(side: Side, given: usize, most: usize) -> Vec<Mark<'n>> {
    let part = |at| match side {
        Side::Inputs => Part::Input(at),
        Side::Outputs => Part::Output(at),
    };
    let mut marks = vec![Mark::primary(part(most), "too many")];
    if given > most + 1 {
        marks.push(Mark::primary(part(given - 1), ""));
    }
    marks
}

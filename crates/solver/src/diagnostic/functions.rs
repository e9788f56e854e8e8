//! Calls of the model's own functions.

use super::node::{Mark, Part};
use super::ports::{noun, surplus};
use super::scope::Scope;
use super::words::{arrows, count, tick};
use super::{Code, Diagnostic, Severity};
use crate::engine::call::{Caller, Instance};
use crate::model::Mode;
use crate::program::StepId;
use crate::solve_error::Side;

impl Scope<'_, '_> {
    /// A function is called with more inputs or outputs than it has.
    pub(super) fn call_arity(&self, step: StepId, side: Side, given: usize, most: usize) -> Diagnostic {
        let verb = match side {
            Side::Inputs => "takes",
            Side::Outputs => "gives",
        };
        let message = format!(
            "function {} {verb} at most {}, but this node has {given}",
            self.op_word(step),
            count(most, noun(side))
        );
        Diagnostic::new(Code::CallArity, message, self.location_of_step(step))
            .with_snippets(self.snippet(step, &surplus(side, given, most)))
    }

    /// A function is called with fewer outputs than it has.
    pub(super) fn call_outputs(&self, step: StepId, given: usize, has: usize) -> Diagnostic {
        let message = format!(
            "function {} gives {}, but this node has {given}",
            self.op_word(step),
            count(has, noun(Side::Outputs))
        );
        let mark =
            Mark::primary(Part::Operator, format!("{} missing", count(has - given, noun(Side::Outputs))));
        Diagnostic::new(Code::CallArity, message, self.location_of_step(step))
            .with_snippets(self.snippet(step, &[mark]))
            .with_help("list every output of the function; an empty name leaves one out")
    }

    /// A function is called without an input that its body needs.
    pub(super) fn call_input(
        &self,
        step: StepId,
        input: usize,
        name: &str,
        reader: Option<&str>,
    ) -> Diagnostic {
        let need = match reader {
            Some(reader) => format!("{} in it needs", tick(reader)),
            None => "its output needs".to_owned(),
        };
        let message =
            format!("function {} is called without input {}, which {need}", self.op_word(step), tick(name));
        let mark = Mark::primary(Part::Operator, format!("input #{input}, {}, is missing", tick(name)));
        Diagnostic::new(Code::CallArity, message, self.location_of_step(step))
            .with_snippets(self.snippet(step, &[mark]))
    }

    /// A function is called with more different types and shapes than are solved.
    pub(super) fn too_many_instances(&self, step: StepId, most: usize, mode: Mode) -> Diagnostic {
        let message = format!(
            "function {} is called with more than {most} different types and shapes",
            self.op_word(step)
        );
        let mark = Mark::primary(Part::Operator, "from this call on, nothing is known of the shapes");
        let mut diagnostic = Diagnostic::new(Code::TooManyInstances, message, self.location_of_step(step))
            .with_snippets(self.snippet(step, &[mark]))
            .with_notes(["the body is solved again for each combination of argument types".to_owned()])
            .with_help(
                "inline the function, or call a copy of it under another name from here on; \
                 `--permissive` accepts the unknown shapes",
            );
        if mode == Mode::Permissive {
            diagnostic.severity = Severity::Warning;
        }
        diagnostic
    }

    /// A function calls itself.
    pub(super) fn recursive_function(&self, step: StepId, path: &[String], hidden: usize) -> Diagnostic {
        let names: Vec<String> = path.iter().map(|name| tick(name)).collect();
        let message = format!("function {} calls itself: {}", self.op_word(step), arrows(&names, hidden));
        Diagnostic::new(Code::RecursiveFunction, message, self.location_of_step(step))
            .with_snippets(
                self.snippet(step, &[Mark::primary(Part::Operator, "this call comes back to itself")]),
            )
            .with_help("a function cannot call itself, directly or through others; use Loop instead")
    }

    /// Which calls led to the body, the innermost first.
    pub(super) fn call_notes(&self, instance: &Instance<'_>) -> Vec<String> {
        let Instance { calls, hidden, function: _, frame: _, entry: _ } = instance;
        let mut notes: Vec<String> = calls
            .iter()
            .rev()
            .map(|call: &Caller<'_>| {
                let name = match call.node.name().unwrap_or_default() {
                    "" => {
                        format!("node #{} ({})", call.position, tick(call.node.op_type().unwrap_or_default()))
                    }
                    name => format!("node {} (#{})", tick(name), call.position),
                };
                match call.function {
                    Some(function) => {
                        format!("called by {name} in function {}", tick(&self.function_name(function)))
                    }
                    None => format!("called by {name}"),
                }
            })
            .collect();
        if *hidden > 0 {
            notes.push(format!("and {hidden} more calls"));
        }
        notes
    }
}

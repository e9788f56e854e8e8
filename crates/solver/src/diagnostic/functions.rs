//! Calls of the model's own functions.

use super::node::{Mark, Part};
use super::ports::{noun, surplus};
use super::scope::Scope;
use super::words::{arrows, count, tick};
use super::{Code, Diagnostic};
use crate::call::{Caller, Instance};
use crate::fault::Side;
use crate::program::StepId;

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
        Diagnostic::new(Code::CallArity, message, self.place_of_step(step))
            .with_snippets(self.snippet(step, &surplus(side, given, most)))
    }

    /// A function calls itself.
    pub(super) fn recursive_function(&self, step: StepId, path: &[String], hidden: usize) -> Diagnostic {
        let names: Vec<String> = path.iter().map(|name| tick(name)).collect();
        let message = format!("function {} calls itself: {}", self.op_word(step), arrows(&names, hidden));
        Diagnostic::new(Code::RecursiveFunction, message, self.place_of_step(step))
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

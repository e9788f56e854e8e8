//! Notes on the calls that lead to the body of a function.

use super::scope::Content;
use super::{Scope, quote};
use crate::engine::call::{Caller, Instance};

impl Scope<'_, '_> {
    /// The calls that lead to a body, the innermost first.
    pub(super) fn call_notes(&self, instance: &Instance<'_>) -> Vec<String> {
        let Instance { calls, hidden, function: _, frame: _, entry: _ } = instance;
        if self.content < Content::Snippets {
            return Vec::new();
        }
        let mut notes: Vec<String> = calls
            .iter()
            .rev()
            .map(|call: &Caller<'_>| {
                let name = match call.node.name().unwrap_or_default() {
                    "" => {
                        format!(
                            "node #{} ({})",
                            call.position,
                            quote(call.node.op_type().unwrap_or_default())
                        )
                    }
                    name => format!("node {} (#{})", quote(name), call.position),
                };
                match call.function {
                    Some(function) => {
                        format!("called by {name} in function {}", quote(&self.function_name(function)))
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

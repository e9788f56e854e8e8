//! Text and labels about the ports of a node, shared by the codes for missing and surplus ports.

use super::{Code, Diagnostic, Mark, Part, Scope, quote};
use crate::program::StepId;
use crate::signature::{Arity, Formal};
use crate::solve_error::Side;

/// Maximum number of listed ports of a signature.
const MAX_PORTS: usize = 16;

impl Scope<'_, '_> {
    /// A required port is left out.
    pub(super) fn missing_port(
        &self,
        code: Code,
        step: StepId,
        side: Side,
        at: usize,
        name: &str,
    ) -> Diagnostic {
        let (side, name) = (side.noun(), quote(name));
        let message = format!("{} needs {side} {name}, which is left out", self.op_text(step));
        let mark = Mark::primary(Part::Operator, format!("{side} #{at}, {name}, is missing"));
        self.node_diagnostic(code, step, message, &[mark]).with_notes(self.ports_note(step))
    }

    /// The declared inputs and outputs of the operator.
    pub(super) fn ports_note(&self, step: StepId) -> Option<String> {
        let schema = self.schema(step)?;
        let side = |formals: &[Formal]| {
            let mut names: Vec<String> = formals.iter().take(MAX_PORTS).map(formal_text).collect();
            if formals.len() > MAX_PORTS {
                names.push("…".to_owned());
            }
            names.join(", ")
        };
        Some(format!(
            "{} is declared as ({}) -> ({}) in opset {}",
            quote(&schema.name),
            side(&schema.inputs),
            side(&schema.outputs),
            schema.since_version
        ))
    }
}

/// `X`, `X?` for an optional port, `X...` for a variadic one.
fn formal_text(formal: &Formal) -> String {
    match formal.arity {
        Arity::Required => formal.name.to_string(),
        Arity::Optional => format!("{}?", formal.name),
        Arity::Variadic { .. } => format!("{}...", formal.name),
    }
}

/// Marks on the first and the last of `given` ports from position `most` on.
pub(super) fn surplus_marks<'n>(side: Side, given: usize, most: usize) -> Vec<Mark<'n>> {
    let part = |at| side.pick(Part::Input(at), Part::Output(at));
    let mut marks = vec![Mark::primary(part(most), "too many")];
    if given > most + 1 {
        marks.push(Mark::primary(part(given - 1), ""));
    }
    marks
}

//! Diagnostic code `too-many-instances`.

use crate::diagnostic::{Code, Diagnostic, Mark, Part, Scope};
use crate::program::StepId;

super::code!(
    "too-many-instances",
    StrictError,
    "a function is called with more different types than are solved"
);

impl Scope<'_, '_> {
    /// A function is called with more different types and shapes than are solved.
    pub(crate) fn too_many_instances(&self, step: StepId, most: usize) -> Diagnostic {
        let message = format!(
            "function {} is called with more than {most} different types and shapes",
            self.op_text(step)
        );
        let mark = Mark::primary(Part::Operator, "from this call on, nothing is known of the shapes");
        self.node_diagnostic(Code::TooManyInstances, step, message, &[mark])
            .with_notes(["the body is solved again for each combination of argument types".to_owned()])
            .with_help(
                "inline the function, or call a copy of it under another name from here on; \
                 `--permissive` accepts the unknown shapes",
            )
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use crate::diagnostic::tests::reports;
    use crate::engine::call::MAX_INSTANCES;

    #[test]
    fn a_function_is_solved_for_a_limited_number_of_shapes() {
        let (mut inputs, mut calls) = (String::new(), String::new());
        for at in 0..=MAX_INSTANCES {
            let _ = write!(inputs, "{}float[{}] x{at}", if at == 0 { "" } else { ", " }, at + 1);
            let _ = write!(calls, "y{at} = f.Twice(x{at}) ");
        }
        let model = format!(
            "<ir_version: 10, opset_import: [\"\": 21, \"f\": 1]> g ({inputs}) => (y0) {{ {calls} }}
             <domain: \"f\", opset_import: [\"\": 21]> Twice (a) => (b) {{ b = Relu(a) }}"
        );
        assert_eq!(
            reports(&model),
            [
                "error[too-many-instances]: function `f.Twice` is called with more than 256 different types and shapes"
            ]
        );
    }
}

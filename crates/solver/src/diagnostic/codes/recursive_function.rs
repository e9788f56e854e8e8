//! Diagnostic code `recursive-function`.

use crate::diagnostic::{Code, Diagnostic, Mark, Part, Scope, arrow_list, quote};
use crate::program::StepId;

super::code!("recursive-function", Error, "a function calls itself");

impl Scope<'_, '_> {
    /// A function calls itself.
    pub(crate) fn recursive_function(&self, step: StepId, path: &[String], hidden: usize) -> Diagnostic {
        let names: Vec<String> = path.iter().map(|name| quote(name)).collect();
        let message = format!("function {} calls itself: {}", self.op_text(step), arrow_list(&names, hidden));
        self.node_diagnostic(
            Code::RecursiveFunction,
            step,
            message,
            &[Mark::primary(Part::Operator, "this call comes back to itself")],
        )
        .with_help("a function cannot call itself, directly or through others; use Loop instead")
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_function_does_not_call_itself() {
        let model = r#"<ir_version: 10, opset_import: ["": 21, "f": 1]> g (float x) => (y) { y = f.Self(x) } <domain: "f", opset_import: ["": 21, "f": 1]> Self (a) => (b) { b = f.Self(a) }"#;
        let expected = ["error[recursive-function]: function `f.Self` calls itself: `Self` -> `Self`"];
        assert_eq!(reports(model), expected);
    }
}

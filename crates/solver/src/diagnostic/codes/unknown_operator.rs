//! Diagnostic code `unknown-operator`.

use crate::diagnostic::text::did_you_mean;
use crate::diagnostic::{Code, Diagnostic, Fix, Mark, Part, Scope, quote};
use crate::program::StepId;

super::code!("unknown-operator", StrictError, "nothing defines the operator");

/// The way to add an operator.
const DESCRIBE: &str = "describe it in an operator file (`--ops FILE`, `Operators` in Python and Rust)";

impl Scope<'_, '_> {
    /// No catalogue and no function of the model defines the operator.
    pub(crate) fn unknown_operator(
        &mut self,
        step: StepId,
        near: &[String],
        domain_unknown: bool,
    ) -> Diagnostic {
        let op = self.op(step);
        let version = self.operators.imported(op);
        let message = match (op.domain, domain_unknown, version) {
            (domain, true, _) => {
                format!("nothing defines domain {} of {}", quote(domain), quote(op.name))
            }
            ("", false, Some(version)) => {
                format!("there is no operator {} in opset {version}", quote(op.name))
            }
            ("", false, None) => format!("there is no operator {}", quote(op.name)),
            (domain, false, _) => {
                format!("there is no operator {} in domain {}", quote(op.name), quote(domain))
            }
        };
        let mark = Mark::primary(Part::Operator, "not known, so nothing is known of its outputs");
        let diagnostic = self.node_diagnostic(Code::UnknownOperator, step, message, &[mark]);
        if domain_unknown && let Some(question) = did_you_mean(near) {
            let diagnostic = diagnostic.with_help(question);
            return diagnostic.with_help_lines(&format!("or {DESCRIBE}"));
        }
        if near.is_empty() {
            let function = match op.domain {
                "" => String::new(),
                domain => {
                    format!("add {} to the model as a function, or ", quote(&format!("{domain}.{}", op.name)))
                }
            };
            let description = if self.explains() { self.description(step) } else { None };
            let help = format!("{function}{DESCRIBE}");
            return match description {
                Some(lines) => diagnostic.with_help(help + " that begins:").with_help_lines(&lines),
                None => diagnostic.with_help(help),
            };
        }
        let diagnostic = diagnostic.with_suggestion(near, |to| Fix::RenameOperator { to });
        diagnostic.with_help_lines(&format!("or {DESCRIBE}"))
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::{help, reports};

    #[test]
    fn an_operator_of_an_unknown_domain_is_reported() {
        let model =
            r#"<ir_version: 10, opset_import: ["": 21, "own": 1]> g (float x) => (y) { y = own.Twist(x) }"#;
        let expected = ["error[unknown-operator]: nothing defines domain `own` of `Twist`"];
        assert_eq!(reports(model), expected);
    }

    #[test]
    fn a_similar_domain_is_suggested() {
        let model = r#"<ir_version: 10, opset_import: ["": 21, "org.exmaple": 1, "org.example": 1]>
            g (float x) => (y) { y = org.exmaple.Twist(x) }
            <domain: "org.example", opset_import: ["": 21]> Twist (a) => (b) { b = Neg(a) }"#;
        assert_eq!(
            reports(model),
            ["error[unknown-operator]: nothing defines domain `org.exmaple` of `Twist`"]
        );
        let help = help(model);
        assert!(help.starts_with("did you mean `org.example`?\nor describe it"), "{help}");
    }

    #[test]
    fn the_help_describes_the_ports_and_attributes_of_the_node() {
        let model = r#"<ir_version: 10, opset_import: ["": 21, "own": 3]>
            g (int8[2] a, float b) => (float16[2] y) { y, z = own.Twist <turns = 2, names = ["q"]> (a, , b) }"#;
        let help = help(model);
        let (advice, description) = help.split_once('\n').expect("the help has lines");
        assert!(advice.contains("`own.Twist`") && advice.contains("`--ops FILE`"), "{advice}");
        assert_eq!(
            description,
            "typeloom-operators 1\ndomain own 3\nop Twist 1\n  in x1 tensor(int8)\n  in x2 tensor(float) optional\n  \
             in x3 tensor(float) optional\n  out y1 tensor(float16)\n  out y2 tensor(int8)\n  attr turns int\n  \
             attr names strings"
        );
    }

    #[test]
    fn an_operator_with_similar_names_can_be_described_too() {
        let model = r#"<ir_version: 10, opset_import: ["": 21]> g (float x) => (y) { y = Rellu(x) }"#;
        let help = help(model);
        assert!(
            help.ends_with(
                "\nor describe it in an operator file (`--ops FILE`, `Operators` in Python and Rust)"
            ),
            "{help}"
        );
    }

    #[test]
    fn a_name_that_the_format_cannot_contain_is_not_described() {
        let model = r#"<ir_version: 10, opset_import: ["": 21, "own": 1]>
            g (float x) => (y) { y = own."Twist #1"(x) }"#;
        let help = help(model);
        assert!(help.ends_with("(`--ops FILE`, `Operators` in Python and Rust)"), "{help}");
    }
}

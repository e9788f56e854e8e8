//! Operators that nothing defines, or not in the imported operator set.

use super::node::{Mark, Part};
use super::scope::Scope;
use super::words::{count, list, tick};
use super::{Code, Diagnostic, Fix, Severity};
use crate::model::Mode;
use crate::program::StepId;

impl Scope<'_, '_> {
    /// No catalogue and no function of the model defines the operator.
    pub(super) fn unknown_operator(
        &self,
        step: StepId,
        near: &[String],
        domain_unknown: bool,
        mode: Mode,
    ) -> Diagnostic {
        let op = self.op(step);
        let version = self.operators.imported(op);
        let message = match (op.domain, domain_unknown, version) {
            (domain, true, _) => {
                format!("nothing defines domain {}, which {} is from", tick(domain), tick(op.name))
            }
            ("", false, Some(version)) => {
                format!("there is no operator {} in opset {version}", tick(op.name))
            }
            ("", false, None) => format!("there is no operator {}", tick(op.name)),
            (domain, false, _) => {
                format!("there is no operator {} in domain {}", tick(op.name), tick(domain))
            }
        };
        let mark = Mark::primary(Part::Operator, "not known, so nothing is known of its outputs");
        let mut diagnostic = Diagnostic::new(Code::UnknownOperator, message, self.location_of_step(step))
            .with_snippets(self.snippet(step, &[mark]));
        if mode == Mode::Permissive {
            diagnostic.severity = Severity::Warning;
        }
        match near {
            [] if op.domain.is_empty() => diagnostic,
            [] => diagnostic.with_help(format!(
                "add {} to the model as a function, or describe it to the checker",
                tick(&format!("{}.{}", op.domain, op.name))
            )),
            [to, ..] => {
                let names: Vec<String> = near.iter().map(|name| tick(name)).collect();
                diagnostic
                    .with_help(format!("did you mean {}?", list(&names, "or")))
                    .with_fix(Fix::RenameOperator { to: to.clone() })
            }
        }
    }

    /// The operator is newer than the imported operator set.
    pub(super) fn newer_operator(&self, step: StepId, since: u32, imported: i64) -> Diagnostic {
        let op = self.op(step);
        let name = domain_word(op.domain);
        let message =
            format!("{} exists from {name} {since} on, but the model imports {imported}", tick(op.name));
        let mark = Mark::primary(Part::Operator, format!("new in {name} {since}"));
        Diagnostic::new(Code::NewerOperator, message, self.location_of_step(step))
            .with_snippets(self.snippet(step, &[mark]))
            .with_help(format!("import {name} {since} or newer"))
            .with_fix(Fix::ImportOpset { domain: op.domain.to_owned(), version: i64::from(since) })
    }

    /// The operator was withdrawn.
    pub(super) fn deprecated_operator(&self, step: StepId, since: u32) -> Diagnostic {
        let op = self.op(step);
        let name = domain_word(op.domain);
        let imported =
            self.operators.imported(op).map(|version| format!(", and the model imports {version}"));
        let message =
            format!("{} was withdrawn in {name} {since}{}", tick(op.name), imported.unwrap_or_default());
        let mark = Mark::primary(Part::Operator, format!("withdrawn in {name} {since}"));
        let before = i64::from(since) - 1;
        Diagnostic::new(Code::DeprecatedOperator, message, self.location_of_step(step))
            .with_snippets(self.snippet(step, &[mark]))
            .with_help(format!("use the operator that replaces it, or import {name} {before}"))
    }

    /// Nodes of one graph have the same name.
    pub(super) fn duplicate_node_name(
        &self,
        step: StepId,
        name: &str,
        nodes: usize,
        first: StepId,
    ) -> Diagnostic {
        let message = format!("{} of the graph are named {}", count(nodes, "node"), tick(name));
        let again = self.snippet(step, &[Mark::primary(Part::Operator, "named again")]);
        let before = self.other_snippet(first, &[Mark::context(Part::Operator, "named first")]);
        Diagnostic::new(Code::DuplicateNodeName, message, self.location_of_step(step))
            .with_snippets(again)
            .with_snippets(before)
            .with_notes(["ONNX Runtime does not load a model with two nodes of one name".to_owned()])
            .with_help("give each node a name of its own, or none")
    }

    /// The model does not import the operator's domain.
    pub(super) fn missing_opset(&self, step: StepId) -> Diagnostic {
        let op = self.op(step);
        let message = match op.domain {
            "" => format!("the model does not say which opset {} is from", tick(op.name)),
            domain => {
                format!("the model does not import domain {}, which {} is from", tick(domain), tick(op.name))
            }
        };
        let mark = Mark::primary(Part::Operator, "of which version?");
        Diagnostic::new(Code::MissingOpset, message, self.location_of_step(step))
            .with_snippets(self.snippet(step, &[mark]))
            .with_help(format!(
                "add domain {} with its version to the model's opset imports",
                tick(op.domain)
            ))
    }
}

/// How the versions of a domain are called.
fn domain_word(domain: &str) -> String {
    if domain.is_empty() { "opset".to_owned() } else { format!("{domain} opset") }
}

//! Attributes that are missing, unknown, of the wrong kind or of a value that cannot be used.

use super::node::{Mark, Part};
use super::scope::Scope;
use super::words::{article, list, tick};
use super::{Code, Diagnostic, Fix};
use crate::catalogue::OpKind;
use crate::program::StepId;
use crate::signature::{AttributeKind, Choices};
use crate::suggest::nearest;

impl Scope<'_, '_> {
    /// A required attribute is left out.
    pub(super) fn missing_attribute(&self, step: StepId, name: &str, kind: AttributeKind) -> Diagnostic {
        // A function's attributes have no kinds.
        let kind = match self.op(step).kind {
            OpKind::Function(_) => String::new(),
            OpKind::Schema(_) | OpKind::Declared(_) | OpKind::Missing(_) => format!(" ({})", kind.name()),
        };
        let op = self.op_word(step);
        let message = format!("{op} needs attribute {}{kind}, which is left out", tick(name));
        let mark = Mark::primary(Part::Operator, format!("attribute {} is missing", tick(name)));
        Diagnostic::new(Code::MissingAttribute, message, self.location_of_step(step))
            .with_snippets(self.snippet(step, &[mark]))
            .with_notes(self.attributes_note(step))
    }

    /// The operator has no such attribute.
    pub(super) fn unknown_attribute(&self, step: StepId, name: &str, near: &[String]) -> Diagnostic {
        let version = self.schema(step).map(|schema| format!(" in opset {}", schema.since_version));
        let op = self.op_word(step);
        let message = format!("{op} has no attribute {}{}", tick(name), version.unwrap_or_default());
        let mark = Mark::primary(Part::AttributeName(name), "not known");
        let diagnostic = Diagnostic::new(Code::UnknownAttribute, message, self.location_of_step(step))
            .with_snippets(self.snippet(step, &[mark]))
            .with_notes(self.attributes_note(step));
        match near {
            [] => diagnostic
                .with_help(format!("remove {}", tick(name)))
                .with_fix(Fix::RemoveAttribute { name: name.to_owned() }),
            [to, ..] => {
                let names: Vec<String> = near.iter().map(|name| tick(name)).collect();
                diagnostic
                    .with_help(format!("did you mean {}?", list(&names, "or")))
                    .with_fix(Fix::RenameAttribute { from: name.to_owned(), to: to.clone() })
            }
        }
    }

    /// An attribute has the wrong kind of value.
    pub(super) fn attribute_kind(
        &self,
        step: StepId,
        name: &str,
        found: Option<AttributeKind>,
        expected: AttributeKind,
    ) -> Diagnostic {
        let found =
            found.map_or_else(|| "has no value".to_owned(), |kind| format!("is {}", with_article(kind)));
        let expected = with_article(expected);
        let message =
            format!("attribute {} of {} must be {expected}, but it {found}", tick(name), self.op_word(step));
        let mark = Mark::primary(Part::Attribute(name), format!("must be {expected}"));
        Diagnostic::new(Code::AttributeKind, message, self.location_of_step(step))
            .with_snippets(self.snippet(step, &[mark]))
    }

    /// The operator cannot use the value of an attribute.
    pub(super) fn attribute_value(
        &self,
        step: StepId,
        name: &str,
        message: &str,
        notes: Vec<String>,
    ) -> Diagnostic {
        let words = format!("attribute {} of {} {message}", tick(name), self.op_word(step));
        let mark = Mark::primary(Part::Attribute(name), "");
        Diagnostic::new(Code::AttributeValue, words, self.location_of_step(step))
            .with_snippets(self.snippet(step, &[mark]))
            .with_notes(notes)
    }

    /// A string attribute has none of its values.
    pub(super) fn attribute_choice(
        &self,
        step: StepId,
        name: &str,
        found: &str,
        choices: Choices,
    ) -> Diagnostic {
        let values: Vec<String> =
            choices.values.iter().filter(|value| !value.is_empty()).map(|value| tick(value)).collect();
        let words = format!(
            "attribute {} of {} is {}, but must be {}",
            tick(name),
            self.op_word(step),
            tick(found),
            list(&values, "or")
        );
        let mark = Mark::primary(Part::Attribute(name), "not a value of this attribute");
        let diagnostic = Diagnostic::new(Code::AttributeValue, words, self.location_of_step(step))
            .with_snippets(self.snippet(step, &[mark]));
        let near = nearest(found, choices.values.iter().copied().filter(|value| !value.is_empty()));
        if near.is_empty() {
            return diagnostic;
        }
        let names: Vec<String> = near.iter().map(|name| tick(name)).collect();
        diagnostic.with_help(format!("did you mean {}?", list(&names, "or")))
    }

    /// Which attributes there are.
    fn attributes_note(&self, step: StepId) -> Option<String> {
        let schema = self.schema(step)?;
        let names: Vec<String> = schema.attributes.iter().map(|attribute| tick(&attribute.name)).collect();
        Some(match names.len() {
            0 => format!("{} has no attributes", tick(&schema.name)),
            1 => format!("{} has attribute {}", tick(&schema.name), names[0]),
            _ => format!("{} has attributes {}", tick(&schema.name), list(&names, "and")),
        })
    }
}

fn with_article(kind: AttributeKind) -> String {
    format!("{} {}", article(kind.name()), kind.name())
}

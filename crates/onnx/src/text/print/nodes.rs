//! Nodes, one per line.

use crate::messages::NodeProto;
use crate::text::lexer::is_identifier;
use crate::text::span::{AttributeSpans, NodeSpans, Span};

use super::attributes::shows_graphs;
use super::{Focus, Labels, Loss, Printer};

impl Printer<'_> {
    pub(super) fn node(&mut self, node: &NodeProto, focus: &Focus) -> NodeSpans {
        let NodeProto {
            input,
            output,
            name,
            op_type,
            attribute,
            doc_string,
            domain,
            overload,
            metadata_props,
            device_configurations,
            unknown_fields,
        } = node;
        self.check_unknown(unknown_fields);
        if !device_configurations.is_empty() {
            self.lose(Loss::DeviceConfiguration);
        }
        let (span, mut spans) = self.spanned(|printer| {
            let name = printer.label(name);
            let outputs = printer.ports(output, &focus.outputs);
            printer.push(if output.is_empty() { "= " } else { " = " });
            let operator = printer.span(|printer| {
                if let Some(domain) = domain.as_deref().filter(|domain| !domain.is_empty()) {
                    printer.qualified(domain);
                    printer.push(".");
                }
                printer.operator_part(op_type);
                if let Some(overload) = overload.as_deref().filter(|overload| !overload.is_empty()) {
                    printer.push(":");
                    printer.operator_part(overload);
                }
            });
            // Attributes with graphs take several lines, so they are printed after the inputs.
            let graphs = attribute.iter().any(shows_graphs);
            let mut attributes = Vec::new();
            if !graphs && !attribute.is_empty() {
                attributes = printer.attributes(node, focus);
                printer.push(" ");
            }
            printer.push("(");
            let inputs = printer.ports(input, &focus.inputs);
            printer.push(")");
            if graphs {
                attributes = printer.attributes(node, focus);
            }
            printer.annotation(doc_string, metadata_props);
            NodeSpans { span: Span::default(), name, operator, inputs, outputs, attributes }
        });
        spans.span = span;
        spans
    }

    fn label(&mut self, name: &str) -> Option<Span> {
        if name.is_empty() {
            return None;
        }
        match self.options.labels {
            Labels::Shown => {
                self.push("[");
                let span = self.name(name);
                self.push("] ");
                Some(span)
            }
            Labels::Hidden => {
                self.lose(Loss::Elided);
                None
            }
        }
    }

    /// An operator that is an identifier needs no quotes, even if it is a keyword of a type.
    fn operator_part(&mut self, part: &str) {
        self.bare_or_quoted(part, is_identifier(part));
    }

    fn ports(&mut self, names: &[String], focus: &[usize]) -> Vec<Span> {
        let limit = self.options.limits.ports;
        self.items(
            names.len(),
            limit,
            focus,
            |printer, index| printer.name(&names[index]),
            |span, run| run.map(move |_| span),
        )
    }

    fn attributes(&mut self, node: &NodeProto, focus: &Focus) -> Vec<AttributeSpans> {
        let attributes = &node.attribute;
        let limit = self.options.limits.attributes;
        self.push(" <");
        let spans = self.items(
            attributes.len(),
            limit,
            &focus.attributes,
            |printer, index| printer.attribute(&attributes[index]),
            |span, run| run.map(move |index| elided(attributes[index].name(), span)),
        );
        self.push(">");
        spans
    }
}

fn elided(key: &str, span: Span) -> AttributeSpans {
    AttributeSpans { key: key.into(), span, name: span, value: span, graphs: Vec::new() }
}

//! Graphs: a signature, initializers and types on one line each, and nodes.

use crate::messages::{GraphProto, NodeProto, TensorAnnotation, ValueInfoProto};
use crate::text::span::{GraphSpans, NodeSpans, Span, ValueSpans};

use super::{Focus, Printer};

impl Printer<'_> {
    pub(super) fn graph(&mut self, graph: &GraphProto) -> GraphSpans {
        self.nested(|printer| printer.graph_here(graph))
    }

    fn graph_here(&mut self, graph: &GraphProto) -> GraphSpans {
        let GraphProto {
            node,
            name,
            initializer,
            doc_string,
            input,
            output,
            value_info,
            quantization_annotation,
            sparse_initializer,
            metadata_props,
            unknown_fields,
        } = graph;
        self.check_unknown(unknown_fields);
        let (span, mut spans) = self.spanned(|printer| {
            let name = printer.name(name.as_deref().unwrap_or_default());
            let quantization = (!quantization_annotation.is_empty())
                .then_some(|printer: &mut Self| printer.quantization(quantization_annotation));
            printer.annotation_with(doc_string, metadata_props, quantization);
            printer.push(" ");
            let inputs = printer.declared(input);
            printer.push(" => ");
            let outputs = printer.declared(output);
            printer.push(" ");
            let mut spans = GraphSpans { span: Span::default(), name, inputs, outputs, ..Default::default() };
            if !(initializer.is_empty() && sparse_initializer.is_empty() && value_info.is_empty()) {
                printer.push("<");
                printer.indent += 1;
                let mut first = true;
                spans.initializers = printer.entries(initializer, &mut first, Self::initializer);
                spans.sparse_initializers =
                    printer.entries(sparse_initializer, &mut first, Self::sparse_initializer);
                spans.value_infos = printer.entries(value_info, &mut first, Self::value_info);
                printer.indent -= 1;
                printer.line();
                printer.push("> ");
            }
            spans.nodes = printer.nodes(node);
            spans
        });
        spans.span = span;
        spans
    }

    fn declared(&mut self, values: &[ValueInfoProto]) -> Vec<ValueSpans> {
        self.push("(");
        let spans = values
            .iter()
            .enumerate()
            .map(|(index, value)| {
                if index > 0 {
                    self.push(", ");
                }
                self.value_info(value)
            })
            .collect();
        self.push(")");
        spans
    }

    /// Entries of a header on one line each.
    pub(super) fn entries<T>(
        &mut self,
        entries: &[T],
        first: &mut bool,
        print: impl Fn(&mut Self, &T) -> ValueSpans,
    ) -> Vec<ValueSpans> {
        entries
            .iter()
            .map(|entry| {
                if !std::mem::replace(first, false) {
                    self.push(",");
                }
                self.line();
                print(self, entry)
            })
            .collect()
    }

    pub(super) fn nodes(&mut self, nodes: &[NodeProto]) -> Vec<NodeSpans> {
        if nodes.is_empty() {
            self.push("{}");
            return Vec::new();
        }
        self.push("{");
        self.indent += 1;
        let focus = Focus::default();
        let spans = nodes
            .iter()
            .map(|node| {
                self.line();
                self.node(node, &focus)
            })
            .collect();
        self.indent -= 1;
        self.line();
        self.push("}");
        spans
    }

    fn quantization(&mut self, annotations: &[TensorAnnotation]) {
        self.push("quantization_annotation: [");
        for (index, annotation) in annotations.iter().enumerate() {
            if index > 0 {
                self.push(", ");
            }
            let TensorAnnotation { tensor_name, quant_parameter_tensor_names, unknown_fields } = annotation;
            self.check_unknown(unknown_fields);
            self.string(tensor_name.as_deref().unwrap_or_default());
            self.push(": ");
            self.string_pairs(quant_parameter_tensor_names);
        }
        self.push("]");
    }
}

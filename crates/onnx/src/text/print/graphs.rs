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
            let name = printer.name(name);
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
                printer.block("<", "> ", |printer| {
                    let mut first = true;
                    spans.initializers = printer.entries(initializer, &mut first, Self::initializer);
                    spans.sparse_initializers =
                        printer.entries(sparse_initializer, &mut first, Self::sparse_initializer);
                    spans.value_infos = printer.entries(value_info, &mut first, Self::value_info);
                });
            }
            spans.nodes = printer.nodes(node);
            spans
        });
        spans.span = span;
        spans
    }

    fn declared(&mut self, values: &[ValueInfoProto]) -> Vec<ValueSpans> {
        self.enclosed("(", ")", |printer| printer.separated(values, usize::MAX, Self::value_info))
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
        let focus = Focus::default();
        let node = |printer: &mut Self, node: &NodeProto| {
            printer.line();
            printer.node(node, &focus)
        };
        self.block("{", "}", |printer| nodes.iter().map(|it| node(printer, it)).collect())
    }

    fn quantization(&mut self, annotations: &[TensorAnnotation]) {
        let print = |printer: &mut Self, annotation: &TensorAnnotation| {
            let TensorAnnotation { tensor_name, quant_parameter_tensor_names, unknown_fields } = annotation;
            printer.check_unknown(unknown_fields);
            printer.string(tensor_name);
            printer.push(": ");
            printer.string_pairs(quant_parameter_tensor_names);
        };
        self.enclosed("quantization_annotation: [", "]", |printer| {
            printer.separated(annotations, usize::MAX, print);
        });
    }
}

//! Models and functions: a header of keys, followed by a graph, or by a signature and a body.

use crate::messages::{
    FunctionProto, GraphProto, ModelProto, OperatorSetIdProto, StringStringEntryProto, Text, ValueInfoProto,
};
use crate::text::span::{FunctionSpans, ModelSpans, Span, ValueSpans};

use super::{Annotations, Loss, Printer};

/// The keys of a header printed so far.
struct Header {
    empty: bool,
}

impl Printer<'_> {
    pub(super) fn model(&mut self, model: &ModelProto) -> ModelSpans {
        let ModelProto {
            ir_version,
            producer_name,
            producer_version,
            domain,
            model_version,
            doc_string,
            graph,
            opset_import,
            metadata_props,
            training_info,
            functions,
            configuration,
            unknown_fields,
        } = model;
        self.check_unknown(unknown_fields);
        for (present, loss) in [
            (!training_info.is_empty(), Loss::TrainingInfo),
            (!configuration.is_empty(), Loss::DeviceConfiguration),
            (graph.is_none(), Loss::MissingGraph),
        ] {
            if present {
                self.lose(loss);
            }
        }
        let mut header = Header { empty: true };
        self.header_number(&mut header, "ir_version", *ir_version);
        let opset_imports = self.opset_imports(&mut header, opset_import);
        self.header_string(&mut header, "producer_name", producer_name);
        self.header_string(&mut header, "producer_version", producer_version);
        self.header_string(&mut header, "domain", domain);
        self.header_number(&mut header, "model_version", *model_version);
        self.header_documents(&mut header, doc_string, metadata_props);
        self.end_header(header);
        let nothing = GraphProto::default();
        let graph = self.graph(graph.as_ref().unwrap_or(&nothing));
        let functions = functions
            .iter()
            .map(|function| {
                self.line();
                self.function(function)
            })
            .collect();
        ModelSpans { opset_imports, graph, functions }
    }

    pub(super) fn function(&mut self, function: &FunctionProto) -> FunctionSpans {
        let FunctionProto {
            name,
            input,
            output,
            attribute,
            node,
            doc_string,
            opset_import,
            domain,
            attribute_proto,
            value_info,
            overload,
            metadata_props,
            unknown_fields,
        } = function;
        self.check_unknown(unknown_fields);
        let (span, mut spans) = self.spanned(|printer| {
            let mut header = Header { empty: true };
            printer.header_string(&mut header, "domain", domain);
            printer.header_string(&mut header, "overload", overload);
            printer.opset_imports(&mut header, opset_import);
            printer.header_documents(&mut header, doc_string, metadata_props);
            printer.end_header(header);
            let mut spans = FunctionSpans { name: printer.name(name), ..FunctionSpans::default() };
            if !(attribute.is_empty() && attribute_proto.is_empty()) {
                let mut separator = " <";
                for name in attribute {
                    printer.push(std::mem::replace(&mut separator, ", "));
                    spans.attributes.push(printer.name(name));
                }
                for default in attribute_proto {
                    printer.push(std::mem::replace(&mut separator, ", "));
                    spans.defaults.push(printer.attribute(default));
                }
                printer.push(">");
            }
            printer.push(" ");
            // The parser collects types of inputs, of outputs and of the list after them in this order. A
            // type is printed at its input or output only if that reproduces the order of the message.
            let mut types = &value_info[..];
            spans.inputs = printer.formals(input, &mut types, &mut spans.value_infos);
            printer.push(" => ");
            spans.outputs = printer.formals(output, &mut types, &mut spans.value_infos);
            printer.push(" ");
            if !types.is_empty() {
                printer.block("<", "> ", |printer| {
                    spans.value_infos.extend(printer.entries(types, &mut true, Self::value_info));
                });
            }
            spans.nodes = printer.nodes(node);
            spans
        });
        spans.span = span;
        spans
    }

    /// `(name, type name, ...)`; consumes the printed types from the start of `types`.
    fn formals(
        &mut self,
        names: &[String],
        types: &mut &[ValueInfoProto],
        printed: &mut Vec<ValueSpans>,
    ) -> Vec<Span> {
        let formal = |printer: &mut Self, name: &String| match types.split_first() {
            Some((value, rest)) if value.r#type.is_some() && value.name() == name => {
                *types = rest;
                let spans = printer.value_info(value);
                printed.push(spans);
                spans.name
            }
            Some(_) | None => printer.name(name),
        };
        self.enclosed("(", ")", |printer| printer.separated(names, usize::MAX, formal))
    }

    fn opset_imports(&mut self, header: &mut Header, imports: &[OperatorSetIdProto]) -> Vec<Span> {
        if imports.is_empty() {
            return Vec::new();
        }
        self.header_key(header, "opset_import");
        let print = |printer: &mut Self, import: &OperatorSetIdProto| {
            let OperatorSetIdProto { domain, version, unknown_fields } = import;
            printer.check_unknown(unknown_fields);
            printer.span(|printer| {
                printer.string(domain);
                printer.push(": ");
                printer.push_display(version.unwrap_or_default());
            })
        };
        self.enclosed("[", "]", |printer| printer.separated(imports, usize::MAX, print))
    }

    fn header_key(&mut self, header: &mut Header, key: &str) {
        if std::mem::replace(&mut header.empty, false) {
            self.push("<");
            self.indent += 1;
        } else {
            self.push(",");
        }
        self.line();
        self.push(key);
        self.push(": ");
    }

    fn header_number(&mut self, header: &mut Header, key: &str, value: Option<i64>) {
        if let Some(value) = value.filter(|&value| value != 0) {
            self.header_key(header, key);
            self.push_display(value);
        }
    }

    fn header_string(&mut self, header: &mut Header, key: &str, value: &Text) {
        if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
            self.header_key(header, key);
            self.string(value);
        }
    }

    fn header_documents(
        &mut self,
        header: &mut Header,
        doc_string: &Text,
        metadata_props: &[StringStringEntryProto],
    ) {
        let documented =
            doc_string.as_deref().is_some_and(|doc| !doc.is_empty()) || !metadata_props.is_empty();
        if documented && self.options.annotations == Annotations::Hidden {
            return self.lose(Loss::Elided);
        }
        self.header_string(header, "doc_string", doc_string);
        if !metadata_props.is_empty() {
            self.header_key(header, "metadata_props");
            self.string_pairs(metadata_props);
        }
    }

    fn end_header(&mut self, header: Header) {
        if !header.empty {
            self.indent -= 1;
            self.line();
            self.push(">");
            self.line();
        }
    }
}

//! Attributes. The type is printed if the value does not imply it, that is, for references and empty lists.

use typeloom_types::dtype::Dtype;

use crate::messages::attribute_proto::AttributeType;
use crate::messages::{AttributeProto, GraphProto};
use crate::text::names::{attribute_type_name, element_of};
use crate::text::span::{AttributeSpans, GraphSpans};

use super::options::Syntax;
use super::{Loss, Printer, Subgraphs};

impl Printer<'_> {
    pub(super) fn attribute(&mut self, attribute: &AttributeProto) -> AttributeSpans {
        self.check_unknown(&attribute.unknown_fields);
        let (span, (name, value, graphs)) = self.spanned(|printer| {
            let mut ty = printer.attribute_type(attribute);
            if shows_graphs(attribute) && printer.at_deepest() {
                ty = AttributeType::Undefined;
            }
            let name = printer.name(attribute.name());
            let reference = reference(attribute);
            let typed = match reference {
                Some(_) => ty != AttributeType::Undefined,
                None => ty == AttributeType::Undefined || is_empty_list(attribute, ty),
            };
            if typed {
                printer.push(": ");
                printer.push(attribute_type_name(ty));
            }
            printer.annotation(&attribute.doc_string, &[]);
            printer.push(" = ");
            let (value, graphs) = printer.spanned(|printer| match reference {
                Some(reference) => {
                    printer.push("@");
                    printer.name(reference);
                    Vec::new()
                }
                None => printer.value(attribute, ty),
            });
            (name, value, graphs)
        });
        AttributeSpans { key: attribute.name().into(), span, name, value, graphs }
    }

    /// The type by which the value is printed; records the parts that are lost.
    fn attribute_type(&mut self, attribute: &AttributeProto) -> AttributeType {
        let number = attribute.r#type.unwrap_or_default();
        if AttributeType::try_from(number).is_err() {
            self.lose(Loss::AttributeType(number));
        }
        let ty = effective_type(attribute);
        if ty != attribute.r#type() {
            self.lose(Loss::UntypedAttribute);
        }
        if attribute.filled().any(|field| reference(attribute).is_some() || field != ty) {
            self.lose(Loss::StrayAttributeValue);
        }
        ty
    }

    /// The element type whose number is the value of an attribute, for display.
    fn element_type_of(&self, attribute: &AttributeProto) -> Option<Dtype> {
        let is_type = matches!(attribute.name(), "to" | "dtype" | "output_dtype");
        let is_readable = self.options.syntax == Syntax::Readable && is_type;
        i32::try_from(attribute.i()).ok().filter(|_| is_readable).and_then(Dtype::from_onnx_number)
    }

    fn value(&mut self, attribute: &AttributeProto, ty: AttributeType) -> Vec<GraphSpans> {
        match ty {
            AttributeType::Undefined => self.push("[]"),
            AttributeType::Float => self.float(attribute.f()),
            AttributeType::Int => match self.element_type_of(attribute) {
                Some(dtype) => self.push(dtype.onnx_name()),
                None => self.push_display(attribute.i()),
            },
            AttributeType::String => self.byte_string(attribute.s()),
            AttributeType::Tensor => match &attribute.t {
                Some(tensor) => self.constant(tensor),
                None => self.missing("undefined = {}"),
            },
            AttributeType::SparseTensor => match &attribute.sparse_tensor {
                Some(sparse) => self.sparse_constant(sparse),
                None => self.missing("sparse_tensor(undefined) = (?, ?)"),
            },
            AttributeType::TypeProto => match &attribute.tp {
                Some(ty) => self.ty(ty),
                None => self.missing("?"),
            },
            AttributeType::Graph => match &attribute.g {
                Some(graph) => return self.subgraphs(std::slice::from_ref(&**graph)),
                None => self.missing("\"\" () => () {}"),
            },
            AttributeType::Floats => self.values(&attribute.floats, |printer, &value| printer.float(value)),
            AttributeType::Ints => self.values(&attribute.ints, |printer, value| printer.push_display(value)),
            AttributeType::Strings => self.values(&attribute.strings, |printer, it| printer.byte_string(it)),
            AttributeType::Tensors => self.values(&attribute.tensors, Self::constant),
            AttributeType::SparseTensors => self.values(&attribute.sparse_tensors, Self::sparse_constant),
            AttributeType::TypeProtos => self.values(&attribute.type_protos, Self::ty),
            AttributeType::Graphs => {
                return self.enclosed("[", "]", |printer| printer.subgraphs(&attribute.graphs));
            }
        }
        Vec::new()
    }

    fn missing(&mut self, stand_in: &str) {
        self.lose(Loss::MissingAttributeValue);
        self.push(stand_in);
    }

    fn subgraphs(&mut self, graphs: &[GraphProto]) -> Vec<GraphSpans> {
        match self.options.subgraphs {
            Subgraphs::Inline => self.separated(graphs, usize::MAX, Self::graph),
            Subgraphs::Elided => {
                self.separated(graphs, self.options.limits.list_elements, |printer, _| printer.elided());
                Vec::new()
            }
        }
    }

    fn elided(&mut self) {
        self.lose(Loss::Elided);
        self.push("{...}");
    }
}

/// Whether an attribute is printed with graphs.
pub(super) fn shows_graphs(attribute: &AttributeProto) -> bool {
    reference(attribute).is_none()
        && matches!(effective_type(attribute), AttributeType::Graph | AttributeType::Graphs)
}

fn reference(attribute: &AttributeProto) -> Option<&str> {
    attribute.ref_attr_name.as_deref().filter(|name| !name.is_empty())
}

fn effective_type(attribute: &AttributeProto) -> AttributeType {
    if reference(attribute).is_some() { attribute.r#type() } else { attribute.effective_type() }
}

fn is_empty_list(attribute: &AttributeProto, ty: AttributeType) -> bool {
    element_of(ty).is_some() && !attribute.filled().any(|field| field == ty)
}

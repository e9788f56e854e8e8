//! Types and typed names.

use typeloom_types::dtype::Dtype;

use crate::messages::tensor_shape_proto::{Dimension, dimension};
use crate::messages::type_proto::{self, Value};
use crate::messages::{SharedText, TensorShapeProto, Text, TypeProto, ValueInfoProto};
use crate::text::composite::{COMPOSITE, COMPOSITE_DOMAIN, CompositeText};
use crate::text::escape::is_unsafe;
use crate::text::lexer::is_identifier;
use crate::text::names::UNDEFINED;
use crate::text::parse::{is_canonical_dim, parse_composite};
use crate::text::span::ValueSpans;

use super::{Loss, Printer, Syntax};

impl Printer<'_> {
    pub(super) fn ty(&mut self, ty: &TypeProto) {
        let TypeProto { value, denotation, unknown_fields } = ty;
        self.check_unknown(unknown_fields);
        match value {
            None => self.push("?"),
            Some(Value::TensorType(type_proto::Tensor { elem_type, shape, unknown_fields })) => {
                self.check_unknown(unknown_fields);
                self.element_type(*elem_type);
                self.shape(shape.as_ref());
            }
            Some(Value::SequenceType(type_proto::Sequence { elem_type, unknown_fields })) => {
                self.check_unknown(unknown_fields);
                self.container("seq(", elem_type.as_deref());
            }
            Some(Value::OptionalType(type_proto::Optional { elem_type, unknown_fields })) => {
                self.check_unknown(unknown_fields);
                self.container("optional(", elem_type.as_deref());
            }
            Some(Value::MapType(type_proto::Map { key_type, value_type, unknown_fields })) => {
                self.check_unknown(unknown_fields);
                self.push("map(");
                self.element_type(*key_type);
                if value_type.is_some() {
                    self.push(", ");
                }
                self.container("", value_type.as_deref());
            }
            Some(Value::SparseTensorType(type_proto::SparseTensor { elem_type, shape, unknown_fields })) => {
                self.check_unknown(unknown_fields);
                self.push("sparse_tensor(");
                self.element_type(*elem_type);
                self.shape(shape.as_ref());
                self.push(")");
            }
            Some(Value::OpaqueType(type_proto::Opaque { domain, name, unknown_fields })) => {
                self.check_unknown(unknown_fields);
                self.opaque(domain, name);
            }
        }
        self.denotation(denotation);
    }

    fn container(&mut self, open: &str, inner: Option<&TypeProto>) {
        self.push(open);
        match inner {
            None => {}
            Some(inner) if inner.value.is_none() => self.ty(inner),
            Some(_) if self.at_deepest() => self.push("?"),
            Some(inner) => self.nested(|printer| printer.ty(inner)),
        }
        self.push(")");
    }

    fn opaque(&mut self, domain: &str, name: &str) {
        if self.is_composite(domain, name) {
            return self.push(name);
        }
        self.push("opaque(");
        if !domain.is_empty() {
            self.qualified(domain);
            self.push(", ");
        }
        if !(domain.is_empty() && name.is_empty()) {
            self.qualified(name);
        }
        self.push(")");
    }

    /// Whether an opaque type is printed as a composite: its name parses and can be shown as it is.
    fn is_composite(&self, domain: &str, name: &str) -> bool {
        domain == COMPOSITE_DOMAIN
            && name.starts_with(COMPOSITE)
            && !name.contains(is_unsafe)
            && parse_composite(name, self.depth).is_ok()
    }

    /// `composite{name: type, ...}`
    pub(super) fn composite(&mut self, composite: &CompositeText) {
        let CompositeText { children, is_open } = composite;
        self.push(COMPOSITE);
        self.push("{");
        for (at, (name, ty)) in children.iter().enumerate() {
            self.push(if at == 0 { "" } else { ", " });
            self.name(name);
            self.push(": ");
            if self.at_deepest() {
                self.push("?");
            } else {
                self.nested(|printer| printer.ty(ty));
            }
        }
        self.push(match (is_open, children.is_empty()) {
            (false, _) => "}",
            (true, true) => "..}",
            (true, false) => ", ..}",
        });
    }

    fn denotation(&mut self, denotation: &Text<SharedText>) {
        if let Some(denotation) = denotation.as_deref().filter(|denotation| !denotation.is_empty()) {
            self.push("@");
            self.string(denotation);
        }
    }

    pub(super) fn element_type(&mut self, number: Option<i32>) {
        let number = number.unwrap_or_default();
        let dtype = Dtype::from_onnx_number(number);
        if dtype.is_none() && number != 0 {
            self.lose(Loss::ElementType(number));
        }
        self.push(dtype.map_or(UNDEFINED, Dtype::onnx_name));
    }

    /// Nothing for a scalar. An unknown rank is `[]` for ONNX's parser and `[...]` for people.
    fn shape(&mut self, shape: Option<&TensorShapeProto>) {
        let Some(TensorShapeProto { dim, unknown_fields }) = shape else {
            return self.push(match self.options.syntax {
                Syntax::Exact => "[]",
                Syntax::Readable => "[...]",
            });
        };
        self.check_unknown(unknown_fields);
        self.bracketed(dim, Self::dim);
    }

    /// `[item, ...]`, or nothing for an empty list.
    fn bracketed<T>(&mut self, items: &[T], print: impl Fn(&mut Self, &T)) {
        if !items.is_empty() {
            self.values(items, print);
        }
    }

    fn dim(&mut self, dim: &Dimension) {
        let Dimension { value, denotation, unknown_fields } = dim;
        self.check_unknown(unknown_fields);
        match value {
            None => self.push("?"),
            Some(dimension::Value::DimValue(number)) => self.push_display(number),
            Some(dimension::Value::DimParam(name)) => {
                let bare = is_identifier(name)
                    || (self.options.syntax == Syntax::Readable && is_canonical_dim(name));
                self.bare_or_quoted(name, bare);
            }
        }
        self.denotation(denotation);
    }

    /// The dims of a constant.
    pub(super) fn extents(&mut self, dims: &[i64]) {
        self.bracketed(dims, |printer, dim| printer.push_display(dim));
    }

    /// `type name @{...}`
    pub(super) fn value_info(&mut self, value: &ValueInfoProto) -> ValueSpans {
        let ValueInfoProto { name, r#type, doc_string, metadata_props, unknown_fields } = value;
        self.check_unknown(unknown_fields);
        let (span, (ty, name)) = self.spanned(|printer| {
            let ty = r#type.as_ref().map(|ty| {
                let span = printer.span(|printer| printer.ty(ty));
                printer.push(" ");
                span
            });
            let name = printer.name(name);
            printer.annotation(doc_string, metadata_props);
            (ty, name)
        });
        ValueSpans { span, ty, name }
    }
}

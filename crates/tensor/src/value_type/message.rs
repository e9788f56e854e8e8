//! Value types as ONNX messages: the format of model files.
//!
//! **Invariant:** [`ValueType::fill`] never changes a declaration in a message. It adds undeclared facts that
//! are proved: a known element type, a rank, dims that are numbers or expressions over the model's symbols.

use std::sync::Arc;

use typeloom_onnx::messages::tensor_shape_proto::{Dimension, dimension};
use typeloom_onnx::messages::{SharedText, TensorShapeProto, Text, TypeProto, type_proto};
use typeloom_onnx::text::CompositeText;
use typeloom_types::dtype::Dtype;
use typeloom_types::lattice::lookup_denotation;

use super::{Composite, Dim, Element, ValueType};

/// Maximum nesting of containers; deeper types are unknown.
const MAX_NESTING: usize = 32;

/// The message in a variant of a type, which is created if the type has no value. Another variant ends the
/// function.
macro_rules! message {
    ($value:ident, $kind:ident($message:ident)) => {{
        let empty = || type_proto::Value::$kind(type_proto::$message::default());
        let type_proto::Value::$kind(message) = $value.get_or_insert_with(empty) else { return };
        message
    }};
}

impl ValueType {
    /// The type that a message declares. A denotation of a registered node counts; other denotations are
    /// ignored.
    #[must_use]
    pub fn from_message(message: &TypeProto) -> Self {
        Self::read(message, 0)
    }

    fn read(message: &TypeProto, depth: usize) -> Self {
        let inner = |inner: &Option<Box<TypeProto>>| {
            let inner = inner.as_deref().filter(|_| depth < MAX_NESTING);
            Arc::new(inner.map(|inner| Self::read(inner, depth + 1)).unwrap_or_default())
        };
        let denotation = message.denotation.as_deref().filter(|denotation| !denotation.is_empty());
        let node = denotation.and_then(lookup_denotation);
        let container = |element| Self { node: None, element, shape: None };
        match &message.value {
            Some(type_proto::Value::TensorType(tensor)) => {
                let dtype = tensor.elem_type.and_then(Dtype::from_onnx_number);
                let node = node.or(dtype.map(Dtype::type_node));
                Self { node, element: Element::Tensor(dtype), shape: tensor.shape.as_ref().map(dims) }
            }
            Some(type_proto::Value::SparseTensorType(tensor)) => {
                let dtype = tensor.elem_type.and_then(Dtype::from_onnx_number);
                Self { node: None, element: Element::Sparse(dtype), shape: tensor.shape.as_ref().map(dims) }
            }
            Some(type_proto::Value::SequenceType(sequence)) => {
                container(Element::Sequence(inner(&sequence.elem_type)))
            }
            Some(type_proto::Value::OptionalType(optional)) => {
                container(Element::Optional(inner(&optional.elem_type)))
            }
            Some(type_proto::Value::MapType(map)) => match map.key_type.and_then(Dtype::from_onnx_number) {
                Some(key) => container(Element::Map(key, inner(&map.value_type))),
                None => Self::default(),
            },
            Some(type_proto::Value::OpaqueType(opaque)) if depth < MAX_NESTING => {
                match CompositeText::of_opaque(opaque.domain(), opaque.name()) {
                    Some(CompositeText { children, is_open }) => {
                        let child = |(name, ty): (String, TypeProto)| (name, Self::read(&ty, depth + 1));
                        Self::composite(children.into_iter().map(child), is_open)
                    }
                    None => node.map(Self::of_node).unwrap_or_default(),
                }
            }
            Some(type_proto::Value::OpaqueType(_)) | None => node.map(Self::of_node).unwrap_or_default(),
        }
    }

    /// The type as compiled programs store it, with the denotation of its leaf.
    #[must_use]
    pub fn to_message(&self) -> TypeProto {
        let denotation = self.leaf().map(|node| node.denotation).filter(|denotation| !denotation.is_empty());
        let mut message =
            TypeProto { denotation: denotation.map(SharedText::from).into(), ..TypeProto::default() };
        self.fill(&mut message.value);
        // A leaf without an ONNX number can have a shape too.
        if let (None, Element::Tensor(None), Some(_)) = (&message.value, &self.element, &self.shape) {
            let mut tensor = type_proto::Tensor::default();
            fill_shape(&mut tensor.shape, self.shape.as_deref());
            message.value = Some(type_proto::Value::TensorType(tensor));
        }
        message
    }

    /// The message of a child of a composite. The denotation of a tensor of ONNX follows from its element
    /// type.
    fn to_child(&self) -> TypeProto {
        let mut message = self.to_message();
        if self.dtype().is_some_and(|dtype| self.node.is_none_or(|node| node.id == dtype.type_node().id)) {
            message.denotation = Text::default();
        }
        message
    }

    /// The type in ONNX's own terms, without a denotation; `None` if ONNX cannot express it or it is not
    /// concrete.
    #[must_use]
    pub fn to_onnx(&self) -> Option<TypeProto> {
        let mut message = TypeProto::default();
        self.fill(&mut message.value);
        let is_of_onnx = !matches!(message.value, Some(type_proto::Value::OpaqueType(_)) | None);
        (self.is_concrete() && is_of_onnx).then_some(message)
    }

    /// Adds undeclared facts to a message, from the outermost container inwards.
    pub fn fill(&self, value: &mut Option<type_proto::Value>) {
        let (mut value, mut ty) = (value, self);
        loop {
            let (message, inner) = match &ty.element {
                Element::Tensor(Some(dtype)) => {
                    let message = message!(value, TensorType(Tensor));
                    fill_dtype(&mut message.elem_type, *dtype);
                    return fill_shape(&mut message.shape, ty.shape.as_deref());
                }
                Element::Sparse(Some(dtype)) => {
                    let message = message!(value, SparseTensorType(SparseTensor));
                    fill_dtype(&mut message.elem_type, *dtype);
                    return fill_shape(&mut message.shape, ty.shape.as_deref());
                }
                Element::Composite(composite) => {
                    value.get_or_insert_with(|| type_proto::Value::OpaqueType(composite.to_opaque()));
                    return;
                }
                // ONNX has no structure for these.
                Element::Tensor(None) | Element::Sparse(None) | Element::Scalar(_) | Element::Opaque => {
                    return;
                }
                Element::Sequence(inner) => (&mut message!(value, SequenceType(Sequence)).elem_type, inner),
                Element::Optional(inner) => (&mut message!(value, OptionalType(Optional)).elem_type, inner),
                Element::Map(key, inner) => {
                    let message = message!(value, MapType(Map));
                    fill_dtype(&mut message.key_type, *key);
                    (&mut message.value_type, inner)
                }
            };
            value = &mut message.get_or_insert_default().value;
            ty = inner;
        }
    }
}

impl Composite<ValueType> {
    fn to_opaque(&self) -> type_proto::Opaque {
        let child = |(name, ty): &(Arc<str>, ValueType)| (name.to_string(), ty.to_child());
        let children = self.children.iter().map(child).collect();
        CompositeText { children, is_open: self.is_open }.to_opaque()
    }
}

fn dims(shape: &TensorShapeProto) -> Arc<[Dim]> {
    let dim = |message: &Dimension| match &message.value {
        Some(dimension::Value::DimValue(size)) => usize::try_from(*size).map_or(Dim::Unknown, Dim::Fixed),
        Some(dimension::Value::DimParam(text)) => Dim::parse(text),
        None => Dim::Unknown,
    };
    shape.dim.iter().map(dim).collect()
}

fn fill_dtype(message: &mut Option<i32>, dtype: Dtype) {
    // Zero is ONNX's `UNDEFINED`.
    if message.is_none_or(|number| number == 0) {
        *message = Some(dtype.onnx_number());
    }
}

fn fill_shape(message: &mut Option<TensorShapeProto>, shape: Option<&[Dim]>) {
    let Some(shape) = shape else { return };
    let unknown =
        || TensorShapeProto { dim: vec![Dimension::default(); shape.len()], ..TensorShapeProto::default() };
    let message = message.get_or_insert_with(unknown);
    if message.dim.len() != shape.len() {
        return;
    }
    for (message, dim) in message.dim.iter_mut().zip(shape) {
        let is_open = match &message.value {
            None => true,
            Some(dimension::Value::DimParam(name)) => name.trim().is_empty(),
            Some(dimension::Value::DimValue(_)) => false,
        };
        if is_open && let Some(value) = dim_value(dim) {
            message.value = Some(value);
        }
    }
}

impl Dim {
    /// The dim as ONNX writes it.
    #[must_use]
    pub fn to_message(&self) -> Option<dimension::Value> {
        dim_value(self)
    }
}

fn dim_value(dim: &Dim) -> Option<dimension::Value> {
    match dim {
        Dim::Unknown => None,
        Dim::Fixed(size) => i64::try_from(*size).ok().map(dimension::Value::DimValue),
        Dim::Symbol(_) | Dim::Expression(_) => {
            dim.as_text().map(|text| dimension::Value::DimParam(text.into()))
        }
    }
}

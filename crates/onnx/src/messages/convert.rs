//! Rust values as attributes, and tensors as messages.

use bytes::Bytes;
use typeloom_types::dtype::Dtype;

use super::attribute_proto::AttributeType;
use super::{
    AttributeProto, GraphProto, NodeProto, OperatorSetIdProto, SharedText, SparseTensorProto,
    StringStringEntryProto, TensorProto, TypeProto,
};

impl AttributeProto {
    /// An attribute with the value and the type of a Rust value.
    ///
    /// ```
    /// use typeloom_onnx::messages::AttributeProto;
    ///
    /// let (axis, alpha) = (AttributeProto::new("axis", -1), AttributeProto::new("alpha", 0.5));
    /// assert_eq!((axis.name(), axis.i(), alpha.f()), ("axis", -1, 0.5));
    /// assert_eq!(AttributeProto::new("perm", vec![1, 0]).ints, [1, 0]);
    /// ```
    #[must_use]
    pub fn new(name: &str, value: impl IntoAttribute) -> Self {
        value.into_attribute(name)
    }

    /// The declared type; without one, as in the oldest files, the type of the first field with a value.
    #[must_use]
    pub fn effective_type(&self) -> AttributeType {
        match self.r#type() {
            AttributeType::Undefined => self.filled().next().unwrap_or_default(),
            declared => declared,
        }
    }

    /// The types with non-empty value fields, singular types first.
    pub(crate) fn filled(&self) -> impl Iterator<Item = AttributeType> {
        // A field with the default value counts as absent, unless the attribute has no declared type: then
        // every present field implies a type.
        let untyped = self.r#type() == AttributeType::Undefined;
        let fields = [
            (AttributeType::Float, self.f.is_some_and(|f| untyped || f.to_bits() != 0)),
            (AttributeType::Int, self.i.is_some_and(|i| untyped || i != 0)),
            (AttributeType::String, self.s.as_ref().is_some_and(|s| untyped || !s.is_empty())),
            (AttributeType::Tensor, self.t.is_some()),
            (AttributeType::Graph, self.g.is_some()),
            (AttributeType::Floats, !self.floats.is_empty()),
            (AttributeType::Ints, !self.ints.is_empty()),
            (AttributeType::Strings, !self.strings.is_empty()),
            (AttributeType::Tensors, !self.tensors.is_empty()),
            (AttributeType::Graphs, !self.graphs.is_empty()),
            (AttributeType::SparseTensor, self.sparse_tensor.is_some()),
            (AttributeType::SparseTensors, !self.sparse_tensors.is_empty()),
            (AttributeType::TypeProto, self.tp.is_some()),
            (AttributeType::TypeProtos, !self.type_protos.is_empty()),
        ];
        fields.into_iter().filter(|(_, set)| *set).map(|(ty, _)| ty)
    }
}

/// A Rust value that can be stored in an attribute.
pub trait IntoAttribute {
    /// Returns an attribute with this name.
    fn into_attribute(self, name: &str) -> AttributeProto;
}

macro_rules! attributes {
    ($($ty:ty => $kind:ident, $field:ident: |$value:ident| $stored:expr;)*) => {
        $(
            impl IntoAttribute for $ty {
                fn into_attribute(self, name: &str) -> AttributeProto {
                    let $value = self;
                    AttributeProto {
                        name: name.into(),
                        r#type: Some(AttributeType::$kind as i32),
                        $field: $stored,
                        ..AttributeProto::default()
                    }
                }
            }
        )*
    };
}

attributes! {
    f32 => Float, f: |value| Some(value);
    i64 => Int, i: |value| Some(value);
    bool => Int, i: |value| Some(i64::from(value));
    // The number of an element type, as in the attribute `to` of `Cast`.
    Dtype => Int, i: |dtype| Some(i64::from(dtype.onnx_number()));
    String => String, s: |text| Some(Bytes::from(text));
    &str => String, s: |text| Some(Bytes::copy_from_slice(text.as_bytes()));
    Vec<f32> => Floats, floats: |values| values;
    Vec<i64> => Ints, ints: |values| values;
    &[i64] => Ints, ints: |values| values.to_vec();
    Vec<String> => Strings, strings: |texts| texts.into_iter().map(Bytes::from).collect();
    TensorProto => Tensor, t: |tensor| Some(Box::new(tensor));
    &TensorProto => Tensor, t: |tensor| Some(Box::new(tensor.clone()));
    SparseTensorProto => SparseTensor, sparse_tensor: |tensor| Some(Box::new(tensor));
    TypeProto => TypeProto, tp: |ty| Some(Box::new(ty));
    Vec<TypeProto> => TypeProtos, type_protos: |types| types;
    GraphProto => Graph, g: |graph| Some(Box::new(graph));
}

/// The import of a version of a domain.
#[must_use]
pub fn opset_import(domain: impl Into<String>, version: i64) -> OperatorSetIdProto {
    OperatorSetIdProto { domain: domain.into().into(), version: Some(version), ..Default::default() }
}

/// An entry of a list of metadata.
pub fn metadata_entry(key: impl Into<SharedText>, value: impl Into<SharedText>) -> StringStringEntryProto {
    StringStringEntryProto { key: key.into().into(), value: value.into().into(), ..Default::default() }
}

impl NodeProto {
    /// Whether the operator is of ONNX's own domain.
    #[must_use]
    pub fn is_onnx(&self) -> bool {
        crate::domain::is_onnx(self.domain())
    }

    /// The attribute with a name.
    #[must_use]
    pub fn find_attribute(&self, name: &str) -> Option<&AttributeProto> {
        self.attribute.iter().find(|attribute| attribute.name() == name)
    }
}

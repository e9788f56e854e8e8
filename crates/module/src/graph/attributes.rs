//! Rust values as attributes of nodes.

use bytes::Bytes;
use typeloom_onnx::messages::attribute_proto::AttributeType;
use typeloom_onnx::messages::{AttributeProto, GraphProto, SparseTensorProto, TensorProto, TypeProto};
use typeloom_types::dtype::Dtype;

/// A Rust value that can be stored in an attribute.
pub trait IntoAttribute {
    /// Returns an attribute with this name.
    fn into_attribute(self, name: &str) -> AttributeProto;
}

fn attribute(name: &str, kind: AttributeType) -> AttributeProto {
    AttributeProto { name: Some(name.to_owned()), r#type: Some(kind as i32), ..AttributeProto::default() }
}

impl IntoAttribute for f32 {
    fn into_attribute(self, name: &str) -> AttributeProto {
        AttributeProto { f: Some(self), ..attribute(name, AttributeType::Float) }
    }
}

impl IntoAttribute for i64 {
    fn into_attribute(self, name: &str) -> AttributeProto {
        AttributeProto { i: Some(self), ..attribute(name, AttributeType::Int) }
    }
}

/// Its ONNX number, as in the attribute `to` of `Cast`.
impl IntoAttribute for Dtype {
    fn into_attribute(self, name: &str) -> AttributeProto {
        i64::from(self.onnx_number()).into_attribute(name)
    }
}

impl IntoAttribute for String {
    fn into_attribute(self, name: &str) -> AttributeProto {
        AttributeProto { s: Some(Bytes::from(self)), ..attribute(name, AttributeType::String) }
    }
}

impl IntoAttribute for &str {
    fn into_attribute(self, name: &str) -> AttributeProto {
        self.to_owned().into_attribute(name)
    }
}

impl IntoAttribute for Vec<f32> {
    fn into_attribute(self, name: &str) -> AttributeProto {
        AttributeProto { floats: self, ..attribute(name, AttributeType::Floats) }
    }
}

impl IntoAttribute for Vec<i64> {
    fn into_attribute(self, name: &str) -> AttributeProto {
        AttributeProto { ints: self, ..attribute(name, AttributeType::Ints) }
    }
}

impl IntoAttribute for Vec<String> {
    fn into_attribute(self, name: &str) -> AttributeProto {
        let strings = self.into_iter().map(Bytes::from).collect();
        AttributeProto { strings, ..attribute(name, AttributeType::Strings) }
    }
}

impl IntoAttribute for TensorProto {
    fn into_attribute(self, name: &str) -> AttributeProto {
        AttributeProto { t: Some(Box::new(self)), ..attribute(name, AttributeType::Tensor) }
    }
}

impl IntoAttribute for SparseTensorProto {
    fn into_attribute(self, name: &str) -> AttributeProto {
        AttributeProto { sparse_tensor: Some(Box::new(self)), ..attribute(name, AttributeType::SparseTensor) }
    }
}

impl IntoAttribute for TypeProto {
    fn into_attribute(self, name: &str) -> AttributeProto {
        AttributeProto { tp: Some(Box::new(self)), ..attribute(name, AttributeType::TypeProto) }
    }
}

impl IntoAttribute for Vec<TypeProto> {
    fn into_attribute(self, name: &str) -> AttributeProto {
        AttributeProto { type_protos: self, ..attribute(name, AttributeType::TypeProtos) }
    }
}

impl IntoAttribute for GraphProto {
    fn into_attribute(self, name: &str) -> AttributeProto {
        AttributeProto { g: Some(Box::new(self)), ..attribute(name, AttributeType::Graph) }
    }
}

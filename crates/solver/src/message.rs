//! Solved types as ONNX messages.
//!
//! **Invariant:** what a message says already is never changed; only what it leaves open is filled in, and only with what
//! is proved: an element type that is settled, a rank, extents that are numbers or expressions over the model's symbols.

use typeloom_onnx::messages::tensor_shape_proto::{Dimension, dimension};
use typeloom_onnx::messages::{TensorShapeProto, TypeProto, type_proto};

use crate::dim::Dims;
use crate::elem::ElemSet;
use crate::solution::{TensorType, Type};

/// The type as a message; `None` where nothing is proved that ONNX could express.
#[must_use]
pub fn of(ty: &Type, dims: &Dims) -> Option<TypeProto> {
    let mut message = TypeProto::default();
    fill(&mut message.value, ty, dims);
    (ty.is_concrete() && message.value.is_some()).then_some(message)
}

/// Fills in the structure of a type, from the outside in.
pub fn fill(value: &mut Option<type_proto::Value>, ty: &Type, dims: &Dims) {
    let (mut value, mut ty) = (value, ty);
    loop {
        let inner = match ty {
            Type::Tensor(tensor) => {
                let Some(number) = onnx_number(tensor.elem) else { return };
                let empty = || type_proto::Value::TensorType(type_proto::Tensor::default());
                if let type_proto::Value::TensorType(message) = value.get_or_insert_with(empty) {
                    fill_elem(&mut message.elem_type, number);
                    fill_shape(&mut message.shape, tensor, dims);
                }
                return;
            }
            Type::Sparse(tensor) => {
                let Some(number) = onnx_number(tensor.elem) else { return };
                let empty = || type_proto::Value::SparseTensorType(type_proto::SparseTensor::default());
                if let type_proto::Value::SparseTensorType(message) = value.get_or_insert_with(empty) {
                    fill_elem(&mut message.elem_type, number);
                    fill_shape(&mut message.shape, tensor, dims);
                }
                return;
            }
            // ONNX has no structure for these: a denotation is all that can be said.
            Type::Scalar(_) | Type::Leaf(_) | Type::Unknown(_) | Type::Error => return,
            Type::Sequence(inner) => {
                let empty = || type_proto::Value::SequenceType(type_proto::Sequence::default());
                match value.get_or_insert_with(empty) {
                    type_proto::Value::SequenceType(message) => (&mut message.elem_type, inner),
                    _ => return,
                }
            }
            Type::Optional(inner) => {
                let empty = || type_proto::Value::OptionalType(type_proto::Optional::default());
                match value.get_or_insert_with(empty) {
                    type_proto::Value::OptionalType(message) => (&mut message.elem_type, inner),
                    _ => return,
                }
            }
            Type::Map(key, inner) => {
                let empty = || type_proto::Value::MapType(type_proto::Map::default());
                match value.get_or_insert_with(empty) {
                    type_proto::Value::MapType(message) => {
                        fill_elem(&mut message.key_type, i32::from(key.number()));
                        (&mut message.value_type, inner)
                    }
                    _ => return,
                }
            }
        };
        value = &mut inner.0.get_or_insert_default().value;
        ty = inner.1;
    }
}

/// ONNX's number of the one element type; element types that the tree adds have none.
#[must_use]
pub fn onnx_number(elem: ElemSet) -> Option<i32> {
    elem.single().filter(|elem| elem.onnx_name().is_some()).map(|elem| i32::from(elem.number()))
}

fn fill_elem(elem: &mut Option<i32>, number: i32) {
    // Zero is ONNX's `UNDEFINED`.
    if elem.is_none_or(|elem| elem == 0) {
        *elem = Some(number);
    }
}

fn fill_shape(shape: &mut Option<TensorShapeProto>, tensor: &TensorType, dims: &Dims) {
    let Some(solved) = &tensor.shape else { return };
    let unknown =
        || TensorShapeProto { dim: vec![Dimension::default(); solved.len()], ..TensorShapeProto::default() };
    let shape = shape.get_or_insert_with(unknown);
    if shape.dim.len() != solved.len() {
        return;
    }
    for (message, dim) in shape.dim.iter_mut().zip(solved) {
        let open = match &message.value {
            None => true,
            Some(dimension::Value::DimParam(name)) => name.trim().is_empty(),
            Some(dimension::Value::DimValue(_)) => false,
        };
        if open && let Some(value) = dim_value(*dim, dims) {
            message.value = Some(value);
        }
    }
}

fn dim_value(dim: crate::dim::DimId, dims: &Dims) -> Option<dimension::Value> {
    match dims.as_constant(dim) {
        Some(extent) => Some(dimension::Value::DimValue(extent)),
        None if dims.is_anonymous(dim) => None,
        None => Some(dimension::Value::DimParam(dims.display(dim).to_string())),
    }
}

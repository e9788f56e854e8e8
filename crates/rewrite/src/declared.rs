//! Edits of declared types.

use typeloom_onnx::messages::type_proto::Value as TypeValue;
use typeloom_onnx::messages::{TensorShapeProto, TypeProto};
use typeloom_solver::elem::Elem;

/// Returns the element type and the shape of the tensors in a type.
fn tensor(ty: &mut TypeProto) -> Option<(&mut Option<i32>, &mut Option<TensorShapeProto>)> {
    let mut at = ty;
    loop {
        at = match at.value.as_mut()? {
            TypeValue::TensorType(tensor) => return Some((&mut tensor.elem_type, &mut tensor.shape)),
            TypeValue::SparseTensorType(tensor) => return Some((&mut tensor.elem_type, &mut tensor.shape)),
            TypeValue::SequenceType(inner) => inner.elem_type.as_deref_mut()?,
            TypeValue::OptionalType(inner) => inner.elem_type.as_deref_mut()?,
            TypeValue::MapType(inner) => inner.value_type.as_deref_mut()?,
            TypeValue::OpaqueType(_) => return None,
        }
    }
}

/// Returns the shape of the tensors in a type.
pub(crate) fn shape(ty: &mut TypeProto) -> Option<&mut TensorShapeProto> {
    tensor(ty)?.1.as_mut()
}

/// Sets the element type of the tensors in a type; returns the old one if it was another.
pub(crate) fn retype(ty: Option<&mut TypeProto>, elem: Elem) -> Option<Elem> {
    let (number, _) = tensor(ty?)?;
    let old = Elem::from_onnx(number.unwrap_or(0))?;
    *number = Some(i32::from(elem.number()));
    (old != elem).then_some(old)
}

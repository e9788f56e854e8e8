//! Edits of declared types.

use typeloom_onnx::messages::tensor_shape_proto::dimension::Value as DimValue;
use typeloom_onnx::messages::type_proto::Value as TypeValue;
use typeloom_onnx::messages::{ModelProto, TensorShapeProto, TypeProto, ValueInfoProto, read};
use typeloom_onnx::splice::{Records, Splice};
use typeloom_onnx::view::TypeView;
use typeloom_onnx::wire::Field;
use typeloom_solver::elem::Elem;
use typeloom_solver::model::Checked;
use typeloom_solver::program::DeclarationKind;

use crate::coerce::WriteError;
use crate::coerce::layout::Source;
use crate::fields::{GRAPH_INPUT, GRAPH_OUTPUT};

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

/// Replaces the dims of a type that contain symbols with an assumed extent.
pub(crate) fn assume(ty: &mut TypeProto, kind: DeclarationKind, checked: &mut Checked<'_>) {
    let Some(shape) = shape(ty) else { return };
    for dim in &mut shape.dim {
        let name = match &dim.value {
            Some(DimValue::DimValue(_)) => continue,
            Some(DimValue::DimParam(name)) => Some(name.as_str()),
            None => None,
        };
        if let Some(assumed) = checked.assumed_dim(name, kind) {
            dim.value = assumed.to_message();
        }
    }
}

/// Writes the assumed extents into all declarations of a model; `None` if nothing changes.
pub(crate) fn assumed(bytes: &[u8], checked: &mut Checked<'_>) -> Result<Option<Vec<u8>>, WriteError> {
    let mut splice = Splice::new::<ModelProto>(bytes);
    for (_, view) in checked.body().graph_views()? {
        for (field, info) in Source::Graph(view).declarations()? {
            let old: ValueInfoProto = read(bytes::Bytes::copy_from_slice(info.bytes()))?;
            let mut new = old.clone();
            if let Some(ty) = &mut new.r#type {
                assume(ty, kind_of(&field), checked);
            }
            if new != old {
                splice.replace(view.offset(), &field, Records::new().message(field.number, &new));
            }
        }
    }
    Ok(splice.changed()?)
}

/// The list that a declaration of a graph is in.
pub(crate) fn kind_of(field: &Field<'_>) -> DeclarationKind {
    match field.number {
        GRAPH_INPUT => DeclarationKind::Input,
        GRAPH_OUTPUT => DeclarationKind::Output,
        _ => DeclarationKind::Value,
    }
}

/// Removes the shape of the tensors in a type.
pub(crate) fn drop_shape(ty: &mut TypeProto) {
    if let Some((_, shape)) = tensor(ty) {
        *shape = None;
    }
}

/// Returns the number of the element type of a tensor type.
pub(crate) fn elem(ty: &TypeProto) -> Option<i32> {
    match ty.value.as_ref()? {
        TypeValue::TensorType(tensor) => tensor.elem_type,
        _ => None,
    }
}

/// Returns the element type of the tensors in a declared type.
pub(crate) fn elem_of(ty: TypeView<'_>) -> Option<Elem> {
    let mut ty: TypeProto = read(bytes::Bytes::copy_from_slice(ty.bytes())).ok()?;
    let (number, _) = tensor(&mut ty)?;
    Elem::from_onnx(number.unwrap_or(0))
}

/// Sets the element type of the tensors in a type; returns the old one if it was another.
pub(crate) fn retype(ty: Option<&mut TypeProto>, elem: Elem) -> Option<Elem> {
    let (number, _) = tensor(ty?)?;
    let old = Elem::from_onnx(number.unwrap_or(0))?;
    *number = Some(i32::from(elem.number()));
    (old != elem).then_some(old)
}

//! Declarations of values: a name, and a type with all parts that the format requires.

use typeloom_onnx::messages::{ValueInfoProto, type_proto};

use super::{Depth, Invalid, Validity, present, required};

/// Values of nested graphs need no type. The types in containers are not examined.
pub(super) fn validate(info: &ValueInfoProto, depth: Depth) -> Validity {
    const MESSAGE: &str = "type";
    required(!info.name.is_empty(), "name", "value_info")?;
    if !depth.is_main() {
        return Ok(());
    }
    let name = info.name.as_str();
    let Some(ty) = &info.r#type else { return present(false, "type", "value_info") };
    match &ty.value {
        None => Err(Invalid(format!("Unrecognized type value case (value_info name: {name})"))),
        Some(type_proto::Value::TensorType(tensor)) => {
            present(tensor.elem_type.is_some(), "elem_type", MESSAGE)?;
            present(tensor.shape.is_some(), "shape", MESSAGE)
        }
        Some(type_proto::Value::SparseTensorType(tensor)) => {
            present(tensor.elem_type.is_some(), "elem_type", MESSAGE)?;
            present(tensor.shape.is_some(), "shape", MESSAGE)
        }
        Some(type_proto::Value::SequenceType(sequence)) => {
            present(sequence.elem_type.is_some(), "elem_type", MESSAGE)
        }
        Some(type_proto::Value::OptionalType(optional)) => {
            present(optional.elem_type.is_some(), "elem_type", MESSAGE)
        }
        Some(type_proto::Value::MapType(map)) => {
            present(map.key_type.is_some(), "key_type", MESSAGE)?;
            present(map.value_type.is_some(), "value_type", MESSAGE)
        }
        Some(type_proto::Value::OpaqueType(opaque)) => required(!opaque.name.is_empty(), "name", MESSAGE),
    }
}

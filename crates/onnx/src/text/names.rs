//! The words of the syntax: element types, attribute types, keywords, and which names must be quoted.

use crate::messages::attribute_proto::AttributeType;
use crate::messages::tensor_proto::DataType;

use super::lexer::is_identifier;

/// The name of an element type in the textual syntax: ONNX's name in lower case.
pub fn element_type_name(ty: DataType) -> &'static str {
    match ty {
        DataType::Undefined => "undefined",
        DataType::Float => "float",
        DataType::Uint8 => "uint8",
        DataType::Int8 => "int8",
        DataType::Uint16 => "uint16",
        DataType::Int16 => "int16",
        DataType::Int32 => "int32",
        DataType::Int64 => "int64",
        DataType::String => "string",
        DataType::Bool => "bool",
        DataType::Float16 => "float16",
        DataType::Double => "double",
        DataType::Uint32 => "uint32",
        DataType::Uint64 => "uint64",
        DataType::Complex64 => "complex64",
        DataType::Complex128 => "complex128",
        DataType::Bfloat16 => "bfloat16",
        DataType::Float8e4m3fn => "float8e4m3fn",
        DataType::Float8e4m3fnuz => "float8e4m3fnuz",
        DataType::Float8e5m2 => "float8e5m2",
        DataType::Float8e5m2fnuz => "float8e5m2fnuz",
        DataType::Uint4 => "uint4",
        DataType::Int4 => "int4",
        DataType::Float4e2m1 => "float4e2m1",
        DataType::Float8e8m0 => "float8e8m0",
        DataType::Uint2 => "uint2",
        DataType::Int2 => "int2",
        DataType::Float6e2m3 => "float6e2m3",
        DataType::Float6e3m2 => "float6e3m2",
    }
}

/// The element type with this name, `undefined` included.
pub fn element_type(name: &str) -> Option<DataType> {
    DataType::ALL.iter().copied().find(|&ty| element_type_name(ty) == name)
}

/// The name of an attribute type in the textual syntax.
pub fn attribute_type_name(ty: AttributeType) -> &'static str {
    match ty {
        AttributeType::Undefined => "undefined",
        AttributeType::Float => "float",
        AttributeType::Int => "int",
        AttributeType::String => "string",
        AttributeType::Tensor => "tensor",
        AttributeType::Graph => "graph",
        AttributeType::SparseTensor => "sparse_tensor",
        AttributeType::TypeProto => "type_proto",
        AttributeType::Floats => "floats",
        AttributeType::Ints => "ints",
        AttributeType::Strings => "strings",
        AttributeType::Tensors => "tensors",
        AttributeType::Graphs => "graphs",
        AttributeType::SparseTensors => "sparse_tensors",
        AttributeType::TypeProtos => "type_protos",
    }
}

/// The attribute type with this name, `undefined` included.
pub fn attribute_type(name: &str) -> Option<AttributeType> {
    AttributeType::ALL.iter().copied().find(|&ty| attribute_type_name(ty) == name)
}

/// Whether a bare word begins a type wherever a type may stand.
///
/// `undefined` is not among them: it begins a type only where something follows that belongs to one.
pub(super) fn begins_type(word: &str) -> bool {
    matches!(word, "seq" | "map" | "optional" | "sparse_tensor" | "opaque")
        || element_type(word).is_some_and(|ty| ty != DataType::Undefined)
}

/// Whether a bare word is a float, in any case.
pub(super) fn is_float_word(word: &str) -> bool {
    ["nan", "inf", "infinity"].iter().any(|float| word.eq_ignore_ascii_case(float))
}

/// Whether a name can stand bare in every place that takes a name.
///
/// Stricter than the syntax needs in most places, so that one rule serves them all.
pub(super) fn is_plain(name: &str) -> bool {
    is_identifier(name) && !begins_type(name) && !is_float_word(name) && !matches!(name, "undefined" | "hex")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn element_types_are_named_as_in_onnx_in_lower_case() {
        for &ty in DataType::ALL {
            assert_eq!(element_type_name(ty), ty.as_str_name().to_ascii_lowercase());
            assert_eq!(element_type(element_type_name(ty)), Some(ty));
        }
    }

    #[test]
    fn attribute_types_are_named_as_in_onnx_in_lower_case() {
        for &ty in AttributeType::ALL {
            assert_eq!(attribute_type_name(ty), ty.as_str_name().to_ascii_lowercase());
            assert_eq!(attribute_type(attribute_type_name(ty)), Some(ty));
        }
    }

    #[test]
    fn words_with_a_meaning_are_not_plain_names() {
        for word in ["float", "seq", "Inf", "NaN", "undefined", "hex", "", "a b"] {
            assert!(!is_plain(word), "{word}");
        }
        assert!(is_plain("scores"));
    }
}

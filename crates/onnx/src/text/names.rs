//! The words of the syntax: element types, attribute types, keywords, and which names must be quoted.

use typeloom_types::dtype::Dtype;

use crate::messages::attribute_proto::AttributeType;

use super::lexer::is_identifier;

/// The keyword for an element type that is not set.
pub(super) const UNDEFINED: &str = "undefined";

/// The element type that a keyword names: `Some(None)` for `undefined`, `None` for any other word.
pub(super) fn element_type(word: &str) -> Option<Option<Dtype>> {
    if word == UNDEFINED { Some(None) } else { Dtype::from_onnx_name(word).map(Some) }
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
        || Dtype::from_onnx_name(word).is_some()
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
    fn every_element_type_has_a_keyword() {
        for dtype in Dtype::ALL {
            assert_eq!(element_type(dtype.onnx_name()), Some(Some(dtype)));
        }
        assert_eq!(element_type("undefined"), Some(None));
        assert_eq!(element_type("seq"), None);
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

//! Keywords of the syntax (element types, attribute types), and names that need quotes.

use typeloom_types::dtype::Dtype;

use crate::messages::attribute_proto::AttributeType;

use super::lexer::is_identifier;

/// The keyword for an unset element type.
pub(super) const UNDEFINED: &str = "undefined";

/// The element type of a keyword: `Some(None)` for `undefined`, `None` for other words.
pub(super) fn element_type(word: &str) -> Option<Option<Dtype>> {
    if word == UNDEFINED { Some(None) } else { Dtype::from_onnx_name(word).map(Some) }
}

/// The keywords of attribute types, in the order of their numbers.
const ATTRIBUTE_TYPES: &str = "undefined float int string tensor graph floats ints strings tensors graphs sparse_tensor \
                               sparse_tensors type_proto type_protos";

/// The keyword of an attribute type.
pub fn attribute_type_name(ty: AttributeType) -> &'static str {
    ATTRIBUTE_TYPES.split(' ').nth(ty as usize).unwrap_or_default()
}

/// The attribute type of a keyword, including `undefined`.
pub fn attribute_type(name: &str) -> Option<AttributeType> {
    AttributeType::ALL.iter().copied().find(|&ty| attribute_type_name(ty) == name)
}

/// Each attribute type of a single value, with the type of its lists.
const LISTS: [(AttributeType, AttributeType); 7] = [
    (AttributeType::Float, AttributeType::Floats),
    (AttributeType::Int, AttributeType::Ints),
    (AttributeType::String, AttributeType::Strings),
    (AttributeType::Tensor, AttributeType::Tensors),
    (AttributeType::Graph, AttributeType::Graphs),
    (AttributeType::SparseTensor, AttributeType::SparseTensors),
    (AttributeType::TypeProto, AttributeType::TypeProtos),
];

/// The element type of a list type; `None` for other types.
pub(super) fn element_of(list: AttributeType) -> Option<AttributeType> {
    LISTS.into_iter().find(|(_, own)| *own == list).map(|(element, _)| element)
}

/// The list type with this element type; `None` for list types and `undefined`.
pub(super) fn list_of(element: AttributeType) -> Option<AttributeType> {
    LISTS.into_iter().find(|(own, _)| *own == element).map(|(_, list)| list)
}

/// Whether a keyword always starts a type.
///
/// `undefined` does not: it starts a type only if the next token belongs to a type.
pub(super) fn begins_type(word: &str) -> bool {
    matches!(word, "seq" | "map" | "optional" | "sparse_tensor" | "opaque")
        || Dtype::from_onnx_name(word).is_some()
}

/// Whether `word` is a float literal (case-insensitive).
pub(super) fn is_float_word(word: &str) -> bool {
    ["nan", "inf", "infinity"].iter().any(|float| word.eq_ignore_ascii_case(float))
}

/// Whether a name needs no quotes in any position.
///
/// Most positions allow more names; one rule for all positions is simpler.
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
    fn keywords_are_not_plain_names() {
        for word in ["float", "seq", "Inf", "NaN", "undefined", "hex", "", "a b"] {
            assert!(!is_plain(word), "{word}");
        }
        assert!(is_plain("scores"));
    }
}

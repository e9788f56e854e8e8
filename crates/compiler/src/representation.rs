//! Whether the storage of a backend represents the values of a primitive.
//!
//! A backend that stores one element type receives and returns values of other types in its own type: masks
//! as 1 and 0, integers as the same numbers. A node is refused here if its types show that this is not
//! possible. Whether a single integer has an exact form depends on its value, and is checked at run time.
//!
//! | value | rule |
//! |---|---|
//! | mask | every element type of ONNX represents it |
//! | indices of `Gather` | all positions of the axis have a form, or the extent of the axis is not a number |
//! | integer exponent of `Pow` | checked at run time |
//! | exponent of a wider float type | refused |
//! | result of `Cast` | every type of numbers; `Cast` rounds it |

use typeloom_onnx::messages::AttributeProto;
use typeloom_program::facts::Types;
use typeloom_program::program::Node;
use typeloom_types::dtype::{Dtype, DtypeClass};
use typeloom_types::shape::position;
use typeloom_types::tree::TypeNode;

/// Whether a primitive can have values of other types than its data.
pub(crate) fn depends_on_types(op: &str) -> bool {
    matches!(op, "Where" | "Gather" | "Pow" | "Equal" | "Greater" | "Less" | "Cast")
}

/// The value of a primitive that a backend of `stored` cannot represent, as a message; `None` if it represents
/// all.
pub(crate) fn obstacle(stored: &TypeNode, node: &Node, types: &Types) -> Option<String> {
    if stored.is_abstract() || !depends_on_types(&node.op) {
        return None;
    }
    let form = Dtype::from_node_id(stored.id);
    for value in node.inputs.iter().chain(&node.outputs).flatten() {
        let Some(dtype) = types.leaf(*value).and_then(|leaf| Dtype::from_node_id(leaf.id)) else { continue };
        if form == Some(dtype) {
            continue;
        }
        let Some(form) = form else {
            return Some(format!("{} has no form for {dtype}, because ONNX does not define it", stored.id));
        };
        let is_represented = match (dtype.class(), node.op.as_str()) {
            (DtypeClass::String | DtypeClass::Complex, _) => false,
            (DtypeClass::Float, "Pow") => is_wider(form, dtype),
            _ => true,
        };
        if !is_represented {
            return Some(format!("{} does not represent all values of {dtype}", stored.id));
        }
    }
    let (Some(form), "Gather") = (form, node.op.as_str()) else { return None };
    let shape = types.get((*node.inputs.first()?)?)?.shape.as_ref()?;
    let axis =
        node.attributes.iter().find(|attribute| attribute.name() == "axis").map_or(0, AttributeProto::i);
    let extent = shape.get(position(axis, shape.len())?)?.fixed()?;
    let has_all = counts_to(form).is_none_or(|most| extent.saturating_sub(1) as u64 <= most);
    (!has_all)
        .then(|| format!("{} does not represent all positions of an axis of extent {extent}", stored.id))
}

/// The largest number up to which an element type represents all integers; `None` if that is all of `i64`.
pub(crate) fn counts_to(dtype: Dtype) -> Option<u64> {
    Some(match dtype {
        Dtype::F64 => 1 << 53,
        Dtype::F32 => 1 << 24,
        Dtype::F16 => 1 << 11,
        Dtype::BF16 => 1 << 8,
        Dtype::Bool => 1,
        Dtype::I8 => 0x7f,
        Dtype::U8 => 0xff,
        Dtype::I16 => 0x7fff,
        Dtype::U16 => 0xffff,
        Dtype::I32 => 0x7fff_ffff,
        Dtype::U32 => 0xffff_ffff,
        Dtype::I64 | Dtype::U64 => return None,
        // No backend stores these.
        _ => 0,
    })
}

/// Whether a type of floats represents all numbers of another.
fn is_wider(wide: Dtype, narrow: Dtype) -> bool {
    matches!(
        (wide, narrow),
        (Dtype::F64, Dtype::F32 | Dtype::F16 | Dtype::BF16) | (Dtype::F32, Dtype::F16 | Dtype::BF16)
    )
}

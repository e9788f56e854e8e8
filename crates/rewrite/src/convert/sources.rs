//! Nodes with an attribute that states the element type of their output.
//!
//! | operator | attribute |
//! |---|---|
//! | `Cast` | `to`, a number; a name before operator set 6 |
//! | `Constant` | `value`, `value_float`, `value_floats` |
//! | `ConstantOfShape` | the tensor `value`; without it, the output is float |
//! | `SequenceEmpty` | `dtype`; without it, the output is float |
//! | `BlackmanWindow`, `HammingWindow`, `HannWindow` | `output_datatype`; float without it |

use typeloom_onnx::messages::attribute_proto::AttributeType;
use typeloom_onnx::messages::{AttributeProto, NodeProto, TensorProto};
use typeloom_onnx::view::NodeView;
use typeloom_solver::elem::Elem;

use super::elements::{converted, of_floats};
use super::{ConvertError, ReadSide};
use crate::coerce::loss::TensorLoss;

/// Whether the type of the output of a standard operator is stated by an attribute that can change.
pub(super) fn states_type(node: NodeView<'_>) -> bool {
    let attribute = match node.op_type() {
        Ok("Cast") => "to",
        Ok("Constant") => {
            let mut attributes = node.attributes().flatten().filter_map(|it| it.parse().ok());
            return attributes.any(|attribute| {
                matches!(attribute.name, "value" | "value_float" | "value_floats")
                    && attribute.ref_attr_name.is_none()
            });
        }
        Ok("ConstantOfShape") => "value",
        Ok("SequenceEmpty") => "dtype",
        Ok("BlackmanWindow" | "HammingWindow" | "HannWindow") => "output_datatype",
        Ok(_) | Err(_) => return false,
    };
    // In a function, the type can come from the call.
    let mut attributes = node.attributes().flatten().filter_map(|it| it.parse().ok());
    !attributes.any(|it| it.name == attribute && it.ref_attr_name.is_some())
}

/// Changes the stated element type of a node. Returns the loss of a stored tensor.
pub(super) fn restate(
    node: &mut NodeProto,
    to: Elem,
    side: Option<&ReadSide<'_>>,
) -> Result<Option<TensorLoss>, ConvertError> {
    let number = i64::from(to.number());
    let operator = node.op_type().to_owned();
    let set_int = |node: &mut NodeProto, name: &str| {
        let attribute = attribute(node, name);
        if attribute.s.is_some() {
            let text = to.onnx_name().unwrap_or_default().to_uppercase();
            attribute.s = Some(text.into_bytes().into());
        } else {
            attribute.i = Some(number);
            attribute.r#type = Some(AttributeType::Int as i32);
        }
    };
    match operator.as_str() {
        "Cast" => set_int(node, "to"),
        "SequenceEmpty" => set_int(node, "dtype"),
        "ConstantOfShape" => {
            let attribute = attribute(node, "value");
            let zero = || {
                let data_type = Some(i32::from(Elem::FLOAT.number()));
                TensorProto { dims: vec![1], data_type, float_data: vec![0.0], ..TensorProto::default() }
            };
            let old = attribute.t.take().map_or_else(zero, |tensor| *tensor);
            let (new, loss) = converted(old, to, side)?;
            attribute.t = Some(Box::new(new));
            attribute.r#type = Some(AttributeType::Tensor as i32);
            return Ok(Some(loss));
        }
        "Constant" => return constant(node, to, side).map(Some),
        _ => set_int(node, "output_datatype"),
    }
    Ok(None)
}

/// Converts the tensor of a `Constant`.
fn constant(node: &mut NodeProto, to: Elem, side: Option<&ReadSide<'_>>) -> Result<TensorLoss, ConvertError> {
    let (tensor, loss) = constant_tensor(node, to, side)?;
    node.attribute.retain(|it| !matches!(it.name(), "value" | "value_float" | "value_floats"));
    let attribute = attribute(node, "value");
    attribute.t = Some(Box::new(tensor));
    attribute.r#type = Some(AttributeType::Tensor as i32);
    Ok(loss)
}

/// The tensor of a `Constant` in another element type.
pub(super) fn constant_tensor(
    node: &NodeProto,
    to: Elem,
    side: Option<&ReadSide<'_>>,
) -> Result<(TensorProto, TensorLoss), ConvertError> {
    for attribute in &node.attribute {
        match attribute.name() {
            "value" => {
                if let Some(tensor) = &attribute.t {
                    return converted(TensorProto::clone(tensor), to, side);
                }
            }
            "value_float" => return Ok(of_floats(&[attribute.f.unwrap_or_default()], Vec::new(), to)),
            "value_floats" => {
                let dims = vec![i64::try_from(attribute.floats.len()).unwrap_or(0)];
                return Ok(of_floats(&attribute.floats, dims, to));
            }
            _ => {}
        }
    }
    let tensor = node.output.first().cloned().unwrap_or_default();
    Err(ConvertError::Unread { tensor, reason: "the node has no tensor".to_owned() })
}

/// The attribute of this name, which is added if it is absent.
fn attribute<'n>(node: &'n mut NodeProto, name: &str) -> &'n mut AttributeProto {
    let at = node.attribute.iter().position(|attribute| attribute.name() == name);
    let at = at.unwrap_or_else(|| {
        node.attribute.push(AttributeProto { name: name.into(), ..AttributeProto::default() });
        node.attribute.len() - 1
    });
    &mut node.attribute[at]
}

//! Operators that ONNX Runtime 1.31 accepts but computes incorrectly. Each entry comes from a recorded case
//! or from a test graph on which it and the embedded backend differ.

use typeloom_runtime::engine::Offer;
use typeloom_tensor::value_type::{Dim, ValueType};
use typeloom_types::dtype::Dtype;

/// Reason for not offering a node to ONNX Runtime.
pub(crate) fn of(offer: &Offer<'_>) -> Option<String> {
    if !offer.node.is_onnx() {
        return None;
    }
    let coordinates = offer.text("coordinate_transformation_mode");
    let aligns_corners = coordinates == Some("align_corners");
    let crops = coordinates == Some("tf_crop_and_resize");
    let is_text = |dtype: Option<Dtype>| dtype == Some(Dtype::String);
    let is_bool = offer.input_dtype(0) == Some(Dtype::Bool);
    let why = match offer.node.op_type() {
        "Cast" | "CastLike" if is_bool && is_text(offer.output_dtype(0)) => {
            "it converts truth values to the texts of numbers"
        }
        "ConvTranspose" if pads_itself(offer) => {
            "with automatic padding it returns fewer elements than the stride requires"
        }
        "DFT" | "STFT" => "terms of its transform that should cancel differ by up to 1e-4",
        "Dropout" if offer.version < 12 && offer.read.get(1) == Some(&true) => {
            "its mask marks all elements as dropped although all are kept"
        }
        "Gather" if is_text(offer.input_dtype(0)) => "it loses texts that are selected twice",
        "GridSample"
            if matches!(offer.text("mode"), Some("cubic" | "bicubic"))
                && offer.text("padding_mode") == Some("border") =>
        {
            "it clamps elements to the border instead of coordinates"
        }
        "MaxUnpool" if offer.has_input(2) => "it writes values as if there were no `output_shape`",
        "Resize" if aligns_corners && offer.has_input(2) => {
            "it aligns corners by the extents of the result, but ONNX by the scales"
        }
        "Resize" if is_whole(offer) && !matches!(offer.text("mode"), None | Some("nearest")) => {
            "it truncates, but ONNX rounds"
        }
        "Resize" if coordinates == Some("half_pixel_symmetric") && offer.int("antialias") == Some(1) => {
            "it shifts the centre if it smoothes"
        }
        "Resize" if offer.ints("axes").is_some_and(|axes| crops || !is_ascending(axes)) => {
            "it supports only axes that are not negative and in ascending order"
        }
        "StringSplit" if offer.text("delimiter").is_some_and(|it| !it.is_empty()) => {
            "it splits an empty text into no parts"
        }
        op if op.starts_with("Reduce") && may_be_empty(offer) => {
            "its reduction of an empty tensor has the wrong shape or value"
        }
        _ => return None,
    };
    Some(why.to_owned())
}

/// Whether the node uses automatic padding in a form that ONNX Runtime computes incorrectly.
fn pads_itself(offer: &Offer<'_>) -> bool {
    let by_itself = matches!(offer.text("auto_pad"), Some("SAME_UPPER" | "SAME_LOWER"));
    let leaps = offer.ints("strides").is_some_and(|strides| strides.iter().any(|stride| *stride > 2));
    by_itself && (leaps || offer.ints("output_padding").is_some())
}

fn is_whole(offer: &Offer<'_>) -> bool {
    !matches!(offer.input_dtype(0), Some(Dtype::F16 | Dtype::BF16 | Dtype::F32 | Dtype::F64))
}

fn is_ascending(axes: &[i64]) -> bool {
    axes.first().is_none_or(|first| *first >= 0) && axes.is_sorted()
}

/// Whether the input is known to have no elements.
fn may_be_empty(offer: &Offer<'_>) -> bool {
    let Some(Some(ValueType { shape: Some(shape), .. })) = offer.inputs.first() else { return false };
    shape.contains(&Dim::Fixed(0))
}

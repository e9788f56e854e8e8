//! Operators that ONNX Runtime 1.31 accepts but computes incorrectly. Each entry comes from a recorded case
//! or from a test graph on which it and the embedded backend differ.

use typeloom_runtime::engine::Offer;
use typeloom_solver::value_type::{Dim, ValueType};
use typeloom_types::dtype::Dtype;

/// Reason for not offering a node to ONNX Runtime.
pub(crate) fn of(offer: &Offer<'_>) -> Option<String> {
    if !matches!(offer.node.domain(), "" | "ai.onnx") {
        return None;
    }
    let coordinates = offer.text("coordinate_transformation_mode");
    let aligns_corners = coordinates == Some("align_corners");
    let crops = coordinates == Some("tf_crop_and_resize");
    let is_text = |dtype: Option<Dtype>| dtype == Some(Dtype::String);
    let is_bool = offer.input_dtype(0) == Some(Dtype::Bool);
    let why = match offer.node.op_type() {
        "Cast" | "CastLike" if is_bool && is_text(offer.output_dtype(0)) => {
            "it spells truth values as numbers"
        }
        "ConvTranspose" if pads_itself(offer) => {
            "it makes fewer elements than the stride says where it pads by itself"
        }
        "DFT" | "STFT" => "what its transform should cancel is noise of 1e-4",
        "Dropout" if offer.version < 12 && offer.read.get(1) == Some(&true) => {
            "its mask says that all is dropped where all is kept"
        }
        "Gather" if is_text(offer.input_dtype(0)) => "it loses texts that it takes twice",
        "GridSample"
            if matches!(offer.text("mode"), Some("cubic" | "bicubic"))
                && offer.text("padding_mode") == Some("border") =>
        {
            "it brings elements back to the border, and not places"
        }
        "MaxUnpool" if offer.has_input(2) => "it places values as if there were no `output_shape`",
        "Resize" if aligns_corners && offer.has_input(2) => {
            "it aligns corners by the extents of the result, and ONNX by the scales"
        }
        "Resize" if is_whole(offer) && !matches!(offer.text("mode"), None | Some("nearest")) => {
            "it cuts fractions off, and ONNX rounds"
        }
        "Resize" if coordinates == Some("half_pixel_symmetric") && offer.int("antialias") == Some(1) => {
            "it does not keep the centre where it smoothes"
        }
        "Resize" if offer.ints("axes").is_some_and(|axes| crops || !is_ascending(axes)) => {
            "it takes axes to be counted from the front, in their order"
        }
        "StringSplit" if offer.text("delimiter").is_some_and(|it| !it.is_empty()) => {
            "it counts no part in an empty text"
        }
        op if op.starts_with("Reduce") && may_be_empty(offer) => {
            "what it makes of nothing has the wrong shape or value"
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

//! What is known of ONNX Runtime 1.31 that its own messages do not say: operators that it would take and compute as something else.
//! Each line comes from a recorded case, or from a graph of the tests on which it and the embedded backend differ.

use typeloom::runtime::engine::Offer;

/// Why a node is not offered.
pub(crate) fn of(offer: &Offer<'_>) -> Option<String> {
    if !matches!(offer.node.domain(), "" | "ai.onnx") {
        return None;
    }
    let aligns_corners = offer.text("coordinate_transformation_mode") == Some("align_corners");
    let why = match offer.node.op_type() {
        "DFT" => "what its transform should cancel is noise of 1e-4",
        "MaxUnpool" if offer.has_input(2) => "it places values as if there were no `output_shape`",
        "Resize" if aligns_corners && offer.has_input(2) => {
            "it aligns corners by the extents of the result, and ONNX by the scales"
        }
        _ => return None,
    };
    Some(why.to_owned())
}

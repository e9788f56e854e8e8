//! Operators that tract 0.23.9 accepts but computes incorrectly. Each entry comes from a recorded case or
//! from a test graph on which tract and the embedded backend differ.

use typeloom::NodeProto;
use typeloom_onnx::nested;
use typeloom_runtime::engine::Offer;
use typeloom_tensor::value_type::{Dim, ValueType};
use typeloom_types::dtype::Dtype;

/// Reason for not offering a node to tract.
pub(crate) fn of(offer: &Offer<'_>) -> Option<String> {
    // tract looks operators up by name and would treat an operator of another domain as ONNX's.
    if !offer.node.is_onnx() {
        return Some(format!("it does not know the domain `{}`", offer.node.domain()));
    }
    let is_half = offer.input_dtype(0) == Some(Dtype::F16);
    let crops = offer.text("coordinate_transformation_mode") == Some("tf_crop_and_resize");
    let is_cubic = matches!(offer.text("mode"), Some("cubic" | "bicubic"));
    let is_nearest = matches!(offer.text("mode"), None | Some("nearest"));
    let why = match offer.node.op_type() {
        "Celu" | "Swish" if offer.float("alpha").is_some_and(|alpha| alpha != 1.0) => {
            "it supports only the factor 1"
        }
        "BitShift" => "it computes shifts modulo the width",
        "DFT" | "STFT" => "terms of its transform that should cancel differ",
        "Div" if is_half => "its 16-bit quotients differ from those of ONNX",
        "Dropout" if offer.version < 7 && offer.int("is_test").unwrap_or(0) == 0 => {
            "it does not drop elements"
        }
        "Attention" | "Conv" | "ConvTranspose" | "Einsum" | "Gemm" | "MatMul" if is_half => {
            "it sums 16-bit floats in 16 bits, but ONNX in wider floats"
        }
        "GRU" | "LSTM" | "RNN" => "it ignores directions, limits and activations",
        "GlobalLpPool" => "it ignores the exponent",
        "GridSample" if is_cubic && offer.text("padding_mode") == Some("border") => {
            "it clamps coordinates to the border that are within half an element of it"
        }
        "Loop" => "it supports no loop except `Scan`",
        "Mod" if !has_one_shape(offer) => "it exchanges the operands if it broadcasts the first one",
        "ReduceLogSumExp" if !is_float(offer) => "it sums integers",
        "Resize" if offer.version < 11 && is_nearest => "it selects another element if an axis gets shorter",
        "Resize" if !is_float(offer) && (!is_nearest || crops) => "it truncates, but ONNX rounds",
        "Resize" if offer.ints("axes").is_some_and(|axes| crops || !is_ascending(axes)) => {
            "it supports only axes that are not negative and in ascending order"
        }
        "Softplus" if offer.input_dtype(0) == Some(Dtype::F64) => "its exponentials overflow",
        "SpaceToDepth" if offer.text("mode").is_some_and(|mode| mode != "DCR") => {
            "it supports one order of blocks only"
        }
        "Scan" if loops_inside(offer.node) => "it rewrites a loop inside of a loop without end",
        "Shrink" if !is_float(offer) => "it rounds the bias",
        _ => return None,
    };
    Some(why.to_owned())
}

fn is_float(offer: &Offer<'_>) -> bool {
    matches!(offer.input_dtype(0), Some(Dtype::F16 | Dtype::F32 | Dtype::F64))
}

/// Whether two inputs are known to have the same extents, so that neither is broadcast.
fn has_one_shape(offer: &Offer<'_>) -> bool {
    match &offer.inputs[..] {
        [Some(ValueType { shape: Some(a), .. }), Some(ValueType { shape: Some(b), .. })] => {
            a == b && !a.contains(&Dim::Unknown)
        }
        _ => false,
    }
}

fn is_ascending(axes: &[i64]) -> bool {
    axes.first().is_none_or(|first| *first >= 0) && axes.is_sorted()
}

/// Whether a nested graph contains an operator that tract turns into a loop. Rewrites inside a loop are not
/// counted against the limit.
fn loops_inside(node: &NodeProto) -> bool {
    let mut loops = false;
    for graph in nested::graphs(node) {
        nested::each_node(graph, |inner| loops |= inner.op_type() == "Scan");
    }
    loops
}

//! What is known of tract 0.23.9 that its own messages do not say: operators that it would take and compute as something else.
//! Each line comes from a recorded case, or from a graph of the tests on which it and the embedded backend differ.

use typeloom::runtime::engine::Offer;
use typeloom::{Dtype, NodeProto};

/// Why a node is not offered.
pub(crate) fn of(offer: &Offer<'_>) -> Option<String> {
    match offer.node.domain() {
        "" | "ai.onnx" => {}
        // tract looks operators up by name, so that another domain's would be taken for ONNX's.
        domain => return Some(format!("it does not know the domain `{domain}`")),
    }
    let is_half = offer.input_dtype(0) == Some(Dtype::F16);
    let why = match offer.node.op_type() {
        "BitShift" => "it takes shifts modulo the width",
        "DFT" | "STFT" => "what its transform should cancel is noise",
        "Div" if is_half => "its quotients of halves are not those of ONNX",
        "Dropout" if offer.version < 7 && offer.int("is_test").unwrap_or(0) == 0 => "it drops nothing",
        "Attention" | "Conv" | "ConvTranspose" | "Einsum" | "Gemm" | "MatMul" if is_half => {
            "it adds up halves in halves, and ONNX in longer floats"
        }
        "GRU" | "LSTM" | "RNN" => "it leaves out directions, limits and activations",
        "GlobalLpPool" if offer.int("p").is_some() => "it leaves out the exponent",
        "Loop" => "it has no loops but `Scan`",
        "Scan" if loops_inside(offer.node) => "it rewrites a loop inside of a loop without end",
        "Shrink" if !is_float(offer) => "it rounds the bias",
        _ => return None,
    };
    Some(why.to_owned())
}

fn is_float(offer: &Offer<'_>) -> bool {
    matches!(offer.input_dtype(0), Some(Dtype::F16 | Dtype::F32 | Dtype::F64))
}

/// Whether a graph of a node has what tract makes a loop of. Rewritings inside of a loop are not bounded by their number.
fn loops_inside(node: &NodeProto) -> bool {
    let mut nodes = vec![node];
    while let Some(node) = nodes.pop() {
        let graphs = node.attribute.iter().flat_map(|it| it.g.as_deref().into_iter().chain(&it.graphs));
        for inner in graphs.flat_map(|graph| &graph.node) {
            if inner.op_type() == "Scan" {
                return true;
            }
            nodes.push(inner);
        }
    }
    false
}

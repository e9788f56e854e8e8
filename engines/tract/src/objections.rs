//! What is known of tract 0.23.9 that its own messages do not say: operators that it would take and compute as something else.
//! Each line comes from a recorded case, or from a graph of the tests on which it and the embedded backend differ.

use typeloom::Dtype;
use typeloom::runtime::engine::Offer;

/// Why a node is not offered.
pub(crate) fn of(offer: &Offer<'_>) -> Option<String> {
    match offer.node.domain() {
        "" | "ai.onnx" => {}
        // tract looks operators up by name, so that another domain's would be taken for ONNX's.
        domain => return Some(format!("it does not know the domain `{domain}`")),
    }
    let why = match offer.node.op_type() {
        "BitShift" => "it takes shifts modulo the width",
        "DFT" | "STFT" => "what its transform should cancel is noise",
        "Div" if offer.input_dtype(0) == Some(Dtype::F16) => "its quotients of halves are not those of ONNX",
        "GRU" | "LSTM" | "RNN" => "it leaves out directions, limits and activations",
        "GlobalLpPool" if offer.int("p").is_some() => "it leaves out the exponent",
        "IsNaN" => "what is not a number is lost before",
        "Shrink" if !is_float(offer) => "it rounds the bias",
        _ => return None,
    };
    Some(why.to_owned())
}

fn is_float(offer: &Offer<'_>) -> bool {
    matches!(offer.input_dtype(0), Some(Dtype::F16 | Dtype::F32 | Dtype::F64))
}

//! What is known of tract 0.23.9 that its own messages do not say: operators that it would take and compute as something else.

use typeloom::runtime::engine::Offer;

/// Why a node is not offered.
pub(crate) fn of(offer: &Offer<'_>) -> Option<String> {
    match offer.node.domain() {
        "" | "ai.onnx" => {}
        // tract looks operators up by name, so that another domain's would be taken for ONNX's.
        domain => return Some(format!("it does not know the domain `{domain}`")),
    }
    None
}

//! What is known of ONNX Runtime 1.31 that its own messages do not say: operators that it would take and compute as something else.

use typeloom::runtime::engine::Offer;

/// Why a node is not offered.
pub(crate) fn of(_offer: &Offer<'_>) -> Option<String> {
    None
}
